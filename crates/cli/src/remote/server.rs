//! The server that is asked: one connection for each question.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use hearth_control::action::{Action, Call};
use hearth_store::AdminToken;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::AdminAddress;
use super::error::RemoteError;
use super::events::Events;
use super::progress::{Counted, Progress};
use super::wire::{Body, read_head, write_head};

/// A server that takes longer to be there is not there.
const CONNECTING: Duration = Duration::from_secs(10);
/// Answers that are longer are none of Hearth's.
const LONGEST_ANSWER: u64 = 256 << 20;

type Stream = Body<BufReader<TcpStream>>;

#[derive(Debug)]
pub(super) struct Server {
    address: AdminAddress,
    token: Option<String>,
    data: PathBuf,
}

/// What went wrong, as the API says it.
#[derive(Deserialize)]
struct Refusal {
    error: RefusalText,
}

#[derive(Deserialize)]
struct RefusalText {
    code: String,
    message: String,
    request_id: Option<String>,
}

// === impl Server ===

impl Server {
    pub(super) fn new(address: AdminAddress, token: Option<String>, data: PathBuf) -> Self {
        Self { address, token, data }
    }

    /// Asks, and takes the answer for what it should be.
    pub(super) fn ask<T: DeserializeOwned>(&self, action: &Action) -> Result<(Value, T), RemoteError> {
        let value: Value = self.parse(&self.text(action)?)?;
        let typed = T::deserialize(&value).map_err(|_| self.foreign("an answer with other fields"))?;
        Ok((value, typed))
    }

    pub(super) fn value(&self, action: &Action) -> Result<Value, RemoteError> {
        self.parse(&self.text(action)?)
    }

    pub(super) fn text(&self, action: &Action) -> Result<String, RemoteError> {
        self.collect(self.open(action)?)
    }

    /// Content that need not be text.
    pub(super) fn bytes(&self, action: &Action) -> Result<Vec<u8>, RemoteError> {
        let mut bytes = Vec::new();
        self.open(action)?.take(LONGEST_ANSWER).read_to_end(&mut bytes).map_err(|error| self.lost(error))?;
        Ok(bytes)
    }

    /// Events, for as long as there are any.
    pub(super) fn follow(&self, action: &Action) -> Result<Events<BufReader<Stream>>, RemoteError> {
        Ok(Events::new(BufReader::new(self.open(action)?)))
    }

    /// Uploads an archive of `length` bytes.
    pub(super) fn upload<T: DeserializeOwned>(
        &self,
        action: &Action,
        archive: impl Read,
        length: u64,
        progress: &mut Progress,
    ) -> Result<(Value, T), RemoteError> {
        let counted = Counted { input: archive, read: 0, length, progress };
        let body = self.exchange(&action.call(), counted, length)?;
        let value: Value = self.parse(&self.collect(body)?)?;
        let typed = T::deserialize(&value).map_err(|_| self.foreign("an answer with other fields"))?;
        Ok((value, typed))
    }

    /// What to make of an error of a stream that was open.
    pub(super) fn lost(&self, error: io::Error) -> RemoteError {
        match error.kind() {
            io::ErrorKind::InvalidData => self.foreign("it does not speak HTTP"),
            _ => RemoteError::Lost { address: self.address.clone(), source: error },
        }
    }

    pub(super) fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, RemoteError> {
        serde_json::from_str(text).map_err(|_| self.foreign("an answer that is not JSON"))
    }

    fn open(&self, action: &Action) -> Result<Stream, RemoteError> {
        let call = action.call();
        let body = call.body.clone().unwrap_or_default();
        self.exchange(&call, body.as_bytes(), body.len() as u64)
    }

    fn exchange(&self, call: &Call, body: impl Read, length: u64) -> Result<Stream, RemoteError> {
        let mut connection = self.connect()?;
        // Not before somebody is there: where no server runs, there need be no token either.
        let token = self.token()?;
        let sent = self.send(&mut connection, call, &token, body, length);
        let mut input = BufReader::new(connection);
        let head = match (read_head(&mut input), sent) {
            // A server may answer before it has read everything: that it does not want it, for example.
            (Ok(head), _) => head,
            (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(self.lost(error)),
        };
        let stream = Body::new(&head, input);
        match head.status {
            200..=299 => Ok(stream),
            status => Err(self.refused(status, stream)),
        }
    }

    fn send(
        &self,
        connection: &mut TcpStream,
        call: &Call,
        token: &str,
        body: impl Read,
        length: u64,
    ) -> io::Result<()> {
        let host = self.address.to_string();
        write_head(&mut *connection, (call.method.as_str(), &call.path), (&host, token), length)?;
        let sent = io::copy(&mut body.take(length), connection)?;
        connection.flush()?;
        if sent == length { Ok(()) } else { Err(io::Error::other("the file became shorter while it was sent")) }
    }

    fn connect(&self) -> Result<TcpStream, RemoteError> {
        let unreachable = |source| RemoteError::Unreachable { address: self.address.clone(), source };
        let addresses = (self.address.host(), self.address.port()).to_socket_addrs().map_err(unreachable)?;
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECTING) {
                Ok(connection) => {
                    // Small requests should not wait; one that cannot be told so is sent all the same.
                    let _ = connection.set_nodelay(true);
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
    }

    fn token(&self) -> Result<String, RemoteError> {
        let fits = |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        match &self.token {
            Some(token) if fits(token) => Ok(token.clone()),
            Some(_) => Err(RemoteError::WrongToken { address: self.address.clone() }),
            None => match AdminToken::read(&self.data)? {
                Some(found) => Ok(found.token.reveal().to_owned()),
                None => Err(RemoteError::NoToken { data: self.data.clone() }),
            },
        }
    }

    fn collect(&self, stream: Stream) -> Result<String, RemoteError> {
        let mut bytes = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut bytes).map_err(|error| self.lost(error))?;
        String::from_utf8(bytes).map_err(|_| self.foreign("an answer that is no text"))
    }

    fn refused(&self, status: u16, stream: Stream) -> RemoteError {
        let refusal = self.collect(stream).and_then(|text| self.parse(&text));
        match (refusal, status) {
            (Ok(Refusal { .. }), 401) => RemoteError::WrongToken { address: self.address.clone() },
            // An answer about apps has the id of its request, the admin API's have none.
            (Ok(Refusal { error: RefusalText { request_id: Some(_), .. } }), 404) => {
                RemoteError::AppsAddress { address: self.address.clone() }
            }
            (Ok(Refusal { error: RefusalText { code, message, .. } }), _) => {
                RemoteError::Answer { status, code, message }
            }
            (Err(_), _) => self.foreign("an answer of another kind"),
        }
    }

    fn foreign(&self, what: &'static str) -> RemoteError {
        RemoteError::Foreign { address: self.address.clone(), what }
    }
}
