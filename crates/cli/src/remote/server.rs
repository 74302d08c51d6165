//! The server that commands talk to: sends requests of the admin API and reads the answers.

use std::io::{self, BufReader, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use hearth_control::action::{Action, Call};
use hearth_egress::FetchError;
use hearth_store::AdminToken;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::AdminAddress;
use super::error::RemoteError;
use super::events::Events;
use super::http_client::{HttpClient, Request, ResponseBody};
use super::progress::Progress;

/// A server that does not accept a connection within this time is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer answers are not read.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

pub(super) struct Server {
    address: AdminAddress,
    token: Option<String>,
    data: PathBuf,
    client: HttpClient,
}

/// An error of the admin API.
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
    pub(super) fn new(address: AdminAddress, token: Option<String>, data: PathBuf, client: HttpClient) -> Self {
        Self { address, token, data, client }
    }

    /// Sends the request and parses the answer, as JSON and as `T`.
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

    /// Content that is not necessarily text.
    pub(super) fn bytes(&self, action: &Action) -> Result<Vec<u8>, RemoteError> {
        let mut bytes = Vec::new();
        self.open(action)?.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes).map_err(|error| self.lost(error))?;
        Ok(bytes)
    }

    /// Follows the events until the stream ends.
    pub(super) fn follow(&self, action: &Action) -> Result<Events<BufReader<ResponseBody>>, RemoteError> {
        Ok(Events::new(BufReader::new(self.open(action)?)))
    }

    /// Uploads an archive of `length` bytes.
    pub(super) fn upload<T: DeserializeOwned>(
        &self,
        action: &Action,
        archive: impl Read + Send + 'static,
        length: u64,
        progress: &mut Progress,
    ) -> Result<(Value, T), RemoteError> {
        let show = |sent| progress.show_upload(sent, length);
        let body = self.exchange(&action.call(), Box::new(archive), length, show)?;
        let value: Value = self.parse(&self.collect(body)?)?;
        let typed = T::deserialize(&value).map_err(|_| self.foreign("an answer with other fields"))?;
        Ok((value, typed))
    }

    /// The error of a response body that ended early.
    pub(super) fn lost(&self, error: io::Error) -> RemoteError {
        match error.kind() {
            io::ErrorKind::InvalidData => self.foreign("it does not speak HTTP"),
            _ => RemoteError::Lost { address: self.address.clone(), source: error },
        }
    }

    pub(super) fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, RemoteError> {
        serde_json::from_str(text).map_err(|_| self.foreign("an answer that is not JSON"))
    }

    fn open(&self, action: &Action) -> Result<ResponseBody, RemoteError> {
        let call = action.call();
        let body = call.body.clone().unwrap_or_default();
        let length = body.len() as u64;
        self.exchange(&call, Box::new(io::Cursor::new(body)), length, |_| {})
    }

    fn exchange(
        &self,
        call: &Call,
        body: Box<dyn Read + Send>,
        length: u64,
        progress: impl FnMut(u64),
    ) -> Result<ResponseBody, RemoteError> {
        let token = match self.token() {
            Ok(token) => token,
            // Where no server runs there need be no token either.
            Err(error) => {
                self.check_reachable()?;
                return Err(error);
            }
        };
        let url = format!("{}{}", self.address.url(), call.path);
        let request = Request { method: &call.method, url, token: &token, body, length };
        let (status, body) = self.client.send(request, progress).map_err(|error| self.failed(error))?;
        match status {
            200..=299 => Ok(body),
            status => Err(self.refused(status, body)),
        }
    }

    fn check_reachable(&self) -> Result<(), RemoteError> {
        let unreachable = |source| RemoteError::Unreachable { address: self.address.clone(), source };
        let addresses = (self.address.host(), self.address.port()).to_socket_addrs().map_err(unreachable)?;
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
    }

    fn failed(&self, error: FetchError) -> RemoteError {
        let address = self.address.clone();
        match error {
            FetchError::Lookup { source, .. } | FetchError::Connect { source, .. } => {
                RemoteError::Unreachable { address, source }
            }
            FetchError::ConnectTimedOut { .. } => {
                RemoteError::Unreachable { address, source: io::ErrorKind::TimedOut.into() }
            }
            FetchError::Tls { source, .. } => RemoteError::Tls { address, source },
            FetchError::Protocol { .. } => self.foreign("it does not speak HTTP"),
            other => RemoteError::Lost { address, source: io::Error::other(other) },
        }
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

    fn collect(&self, stream: ResponseBody) -> Result<String, RemoteError> {
        let mut bytes = Vec::new();
        stream.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes).map_err(|error| self.lost(error))?;
        String::from_utf8(bytes).map_err(|_| self.foreign("an answer that is no text"))
    }

    fn refused(&self, status: u16, stream: ResponseBody) -> RemoteError {
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
