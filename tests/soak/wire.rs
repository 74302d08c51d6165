//! A raw connection between a client and a server that may both misbehave: nothing here panics, and all faults of a response
//! are distinguished.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::server::PATIENCE;

pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Why there is no response, or no complete one.
#[derive(Debug)]
pub enum Trouble {
    /// The connection ended before the response.
    Ended,
    /// It ended within this response.
    CutOff(Reply),
    /// Nothing arrived, and the connection is still open.
    Silent,
    /// The response is not HTTP.
    Garbled(String),
}

/// The result of a read.
enum Got {
    Bytes,
    End,
    Nothing,
}

impl Wire {
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Closes the sending direction only.
    pub fn half_close(&self) {
        // Fails if the peer has closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    pub fn reply(&mut self) -> Result<Reply, Trouble> {
        let mut reply = self.head()?;
        let whole = if reply.header("transfer-encoding") == Some("chunked") {
            self.chunks(&mut reply.body)
        } else if let Some(length) = reply.header("content-length") {
            let length = length.parse().map_err(|_| Trouble::Garbled(format!("content-length: {length}")))?;
            self.exactly(length).map(|body| reply.body = body)
        } else {
            self.rest().map(|body| reply.body = body)
        };
        match whole {
            Ok(()) => Ok(reply),
            Err(Trouble::Ended) => {
                reply.body.append(&mut self.buffer);
                Err(Trouble::CutOff(reply))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Status and headers.
    pub fn head(&mut self) -> Result<Reply, Trouble> {
        let text = match self.until(b"\r\n\r\n") {
            Err(Trouble::Ended) if !self.buffer.is_empty() => return Err(Trouble::CutOff(Reply::default())),
            other => other?,
        };
        let text = String::from_utf8(text).map_err(|error| Trouble::Garbled(error.to_string()))?;
        let garbled = || Trouble::Garbled(text.clone());
        let mut lines = text.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).and_then(|rest| rest.get(..3));
        let status = status.and_then(|code| code.parse().ok()).ok_or_else(garbled)?;
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let headers = lines.map(header).collect::<Option<_>>().ok_or_else(garbled)?;
        Ok(Reply { status, headers, body: Vec::new() })
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Result<(), Trouble> {
        loop {
            let line = String::from_utf8_lossy(&self.until(b"\r\n")?).into_owned();
            let size = usize::from_str_radix(line.trim_end(), 16).map_err(|_| Trouble::Garbled(line))?;
            body.extend_from_slice(&self.exactly(size)?);
            if self.exactly(2)? != b"\r\n" {
                return Err(Trouble::Garbled("a chunk without an end".into()));
            }
            if size == 0 {
                return Ok(());
            }
        }
    }

    /// Everything to the end of the connection. A reset ends it, too, but not a response.
    pub fn rest(&mut self) -> Result<Vec<u8>, Trouble> {
        loop {
            match self.fill() {
                Ok(Got::Bytes) => {}
                Ok(Got::End) => return Ok(std::mem::take(&mut self.buffer)),
                Ok(Got::Nothing) => return Err(Trouble::Silent),
                Err(_) => return Err(Trouble::Ended),
            }
        }
    }

    /// Discards at least this many bytes.
    pub fn skip(&mut self, count: usize) -> Result<(), Trouble> {
        self.exactly(count).map(drop)
    }

    fn until(&mut self, end: &[u8]) -> Result<Vec<u8>, Trouble> {
        loop {
            let found = self.buffer.windows(end.len()).position(|window| window == end);
            if let Some(at) = found {
                return Ok(self.buffer.drain(..at + end.len()).collect());
            }
            self.need()?;
        }
    }

    fn exactly(&mut self, count: usize) -> Result<Vec<u8>, Trouble> {
        while self.buffer.len() < count {
            self.need()?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    fn need(&mut self) -> Result<(), Trouble> {
        match self.fill() {
            Ok(Got::Bytes) => Ok(()),
            Ok(Got::Nothing) => Err(Trouble::Silent),
            Ok(Got::End) | Err(_) => Err(Trouble::Ended),
        }
    }

    fn fill(&mut self) -> io::Result<Got> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => Ok(Got::End),
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                Ok(Got::Bytes)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(Got::Nothing),
            Err(error) => Err(error),
        }
    }
}

// === impl Trouble ===

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the connection ended"),
            Self::CutOff(reply) => write!(f, "cut off: {reply}"),
            Self::Silent => f.write_str("nothing came"),
            Self::Garbled(text) => write!(f, "not HTTP: {text:?}"),
        }
    }
}

// === impl Reply ===

/// Without all of its body.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = String::from_utf8_lossy(&self.body[..self.body.len().min(300)]);
        let id = self.header("x-request-id").unwrap_or("none");
        write!(f, "status {}, x-request-id {id}, {} bytes {start:?}", self.status, self.body.len())
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub fn ends_connection(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// The `code` of one of Hearth's own errors.
    pub fn code(&self) -> Option<String> {
        let error: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        Some(error.pointer("/error/code")?.as_str()?.to_owned())
    }
}
