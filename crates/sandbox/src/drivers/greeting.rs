//! The few words that a driver says to an agent itself, before anybody else does. Blocking, with a deadline.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_agent::{Answer, Blob, CallId, Decoder, Language, Malformed, Request, VERSION, encode};

/// A guest without KVM starts in seconds, on a machine that has time.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, thiserror::Error)]
pub(super) enum GreetingError {
    #[error("the agent ended or fell silent: {0}")]
    Io(#[from] io::Error),
    #[error("the agent is not understood: {0}")]
    Malformed(#[from] Malformed),
    #[error("the agent speaks version {0} of the protocol, and should speak {VERSION}")]
    Version(u16),
    #[error("the agent refused: {0}")]
    Refused(String),
}

pub(super) struct Greeting<'a> {
    stream: &'a UnixStream,
    decoder: Decoder,
    calls: u64,
}

impl<'a> Greeting<'a> {
    /// Waits for the agent to be there. Says which languages it has.
    pub(super) fn begin(stream: &'a UnixStream) -> Result<(Self, Vec<Language>), GreetingError> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut greeting = Self { stream, decoder: Decoder::new(), calls: 0 };
        let nonce = u64::from_ne_bytes(random()?);
        greeting.send(&Request::Hello { version: VERSION, nonce })?;
        loop {
            match greeting.next()? {
                Answer::Hello { version, .. } if version != VERSION => return Err(GreetingError::Version(version)),
                Answer::Hello { nonce: theirs, languages, .. } if theirs == nonce => return Ok((greeting, languages)),
                // Meant for who was here before.
                _ => {}
            }
        }
    }

    /// Has interpreters wait for work.
    pub(super) fn warm(&mut self, languages: Vec<Language>) -> Result<(), GreetingError> {
        self.call(|id| Request::Warm { id, languages })
    }

    /// What was the same in every copy of a snapshot is made different, and the time is now.
    pub(super) fn wake(&mut self) -> Result<(), GreetingError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.call(|id| Request::SetClock { id, now })?;
        let seed = random::<64>()?;
        self.call(|id| Request::Reseed { id, seed: Blob(seed.to_vec()) })
    }

    /// For copies that have the machine's own time and random numbers: interpreters that were started with others are replaced.
    pub(super) fn renew(&mut self) -> Result<(), GreetingError> {
        let seed = random::<64>()?;
        match self.call(|id| Request::Reseed { id, seed: Blob(seed.to_vec()) }) {
            // There is nothing to be made different, and no right to do it.
            Err(GreetingError::Refused(_)) => Ok(()),
            done => done,
        }
    }

    fn call(&mut self, request: impl FnOnce(CallId) -> Request) -> Result<(), GreetingError> {
        self.calls += 1;
        let call = CallId(self.calls);
        self.send(&request(call))?;
        loop {
            match self.next()? {
                Answer::Done { id } if id == call => return Ok(()),
                Answer::Failed { id, failure } if id == call => return Err(GreetingError::Refused(failure.message)),
                _ => {}
            }
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), GreetingError> {
        let mut bytes = Vec::new();
        encode(request, &mut bytes)?;
        Ok(self.stream.write_all(&bytes)?)
    }

    fn next(&mut self) -> Result<Answer, GreetingError> {
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
