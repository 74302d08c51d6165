//! The handshake of a driver with an agent in a template or a copy of one, before the connection is
//! handed over. Blocking, with a deadline.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_sandbox_agent::{
    AgentCallId, AgentReply, AgentRequest, Blob, FrameDecoder, Language, Malformed, VERSION, encode,
};

/// Read and write timeout: a guest without KVM takes seconds to start.
const AGENT_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("the agent ended or fell silent: {0}")]
    Io(#[from] io::Error),
    #[error("the agent is not understood: {0}")]
    Malformed(#[from] Malformed),
    #[error("the agent speaks version {0} of the protocol, and should speak {VERSION}")]
    Version(u16),
    #[error("the agent refused: {0}")]
    Refused(String),
}

pub(super) struct AgentHandshake<'a> {
    stream: &'a UnixStream,
    decoder: FrameDecoder,
    calls: u64,
}

impl<'a> AgentHandshake<'a> {
    /// Waits for the agent. Returns the languages that it has.
    pub(super) fn begin(stream: &'a UnixStream) -> Result<(Self, Vec<Language>), HandshakeError> {
        stream.set_read_timeout(Some(AGENT_TIMEOUT))?;
        stream.set_write_timeout(Some(AGENT_TIMEOUT))?;
        let mut handshake = Self { stream, decoder: FrameDecoder::new(), calls: 0 };
        let nonce = u64::from_ne_bytes(random()?);
        handshake.send(&AgentRequest::Hello { version: VERSION, nonce })?;
        loop {
            match handshake.next()? {
                AgentReply::Hello { version, .. } if version != VERSION => {
                    return Err(HandshakeError::Version(version));
                }
                AgentReply::Hello { nonce: theirs, languages, .. } if theirs == nonce => {
                    return Ok((handshake, languages));
                }
                // An answer to an earlier client.
                _ => {}
            }
        }
    }

    /// Starts spare interpreters.
    pub(super) fn warm(&mut self, languages: Vec<Language>) -> Result<(), HandshakeError> {
        self.call(|id| AgentRequest::Warm { id, languages })
    }

    /// Gives a copy of a snapshot its own random seed, and the current time.
    pub(super) fn wake(&mut self) -> Result<(), HandshakeError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.call(|id| AgentRequest::SetClock { id, now })?;
        let seed = random::<64>()?;
        self.call(|id| AgentRequest::Reseed { id, seed: Blob(seed.to_vec()) })
    }

    /// For copies that have the machine's own time and random numbers: interpreters that were
    /// started before the snapshot are replaced.
    pub(super) fn renew(&mut self) -> Result<(), HandshakeError> {
        let seed = random::<64>()?;
        match self.call(|id| AgentRequest::Reseed { id, seed: Blob(seed.to_vec()) }) {
            // Refused where the agent may not reseed, which is not needed there.
            Err(HandshakeError::Refused(_)) => Ok(()),
            done => done,
        }
    }

    fn call(&mut self, request: impl FnOnce(AgentCallId) -> AgentRequest) -> Result<(), HandshakeError> {
        self.calls += 1;
        let call = AgentCallId(self.calls);
        self.send(&request(call))?;
        loop {
            match self.next()? {
                AgentReply::Done { id } if id == call => return Ok(()),
                AgentReply::Failed { id, failure } if id == call => {
                    return Err(HandshakeError::Refused(failure.message));
                }
                _ => {}
            }
        }
    }

    fn send(&mut self, request: &AgentRequest) -> Result<(), HandshakeError> {
        let mut bytes = Vec::new();
        encode(request, &mut bytes)?;
        Ok(self.stream.write_all(&bytes)?)
    }

    fn next(&mut self) -> Result<AgentReply, HandshakeError> {
        loop {
            if let Some(answer) = self.decoder.message()? {
                return Ok(answer);
            }
            let mut buffer = [0; 16 << 10];
            match self.stream.read(&mut buffer)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                count => self.decoder.push(&buffer[..count]),
            }
        }
    }
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
