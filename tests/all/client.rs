//! A plain HTTP/1.1 client that can stop at every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::server::PATIENCE;

pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub reason: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

// === impl Client ===

impl Client {
    pub fn connect(address: &str) -> Self {
        Self::from(TcpStream::connect(address).unwrap())
    }

    /// A connection that was made by the other side: its requests are read as text.
    pub fn from(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    /// A second handle on the same connection, to write from another thread.
    pub fn writer(&self) -> TcpStream {
        self.stream.try_clone().unwrap()
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    pub fn get(&mut self, path: &str) -> Reply {
        self.start("GET", path, &[]);
        self.reply()
    }

    pub fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        self.start("POST", path, &[("content-length", &body.len().to_string())]);
        self.send(body);
        self.reply()
    }

    /// Sends a request's head.
    pub fn start(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) {
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.send(format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{lines}\r\n"));
    }

    /// Sends the head of a request whose body comes in chunks.
    pub fn start_chunked(&mut self, path: &str) {
        self.start("POST", path, &[("transfer-encoding", "chunked")]);
    }

    pub fn send_chunk(&mut self, data: impl AsRef<[u8]>) {
        let data = data.as_ref();
        let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
        chunk.extend_from_slice(data);
        chunk.extend_from_slice(b"\r\n");
        self.send(chunk);
    }

    pub fn send_last_chunk(&mut self) {
        self.send("0\r\n\r\n");
    }

    /// Status and headers.
    pub fn head(&mut self) -> Reply {
        let text = self.until("\r\n\r\n");
        let mut lines = text.trim_end().split("\r\n");
        let mut status = lines.next().unwrap().splitn(3, ' ').skip(1);
        let (code, reason) = (status.next().unwrap(), status.next().unwrap_or_default());
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let headers = lines.filter_map(header).collect();
        Reply { status: code.parse().unwrap(), reason: reason.to_owned(), headers, body: Vec::new() }
    }

    /// All of the answer to anything but HEAD.
    pub fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                reply.body.extend_from_slice(&chunk);
            }
        } else if let Some(length) = reply.header("content-length") {
            reply.body = self.exactly(length.parse().unwrap());
        }
        reply
    }

    /// A chunk of the answer, or `None` for the last.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.until("\r\n");
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let data = self.exactly(size);
        assert_eq!(self.exactly(2), b"\r\n");
        (size > 0).then_some(data)
    }

    /// A chunk as text.
    pub fn text_chunk(&mut self) -> String {
        String::from_utf8(self.chunk().expect("the body goes on")).unwrap()
    }

    /// Everything until the connection ends, even if that is a reset.
    pub fn rest(&mut self) -> Vec<u8> {
        loop {
            match self.fill() {
                Ok(1..) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("the connection does not end: {:?}", String::from_utf8_lossy(&self.buffer))
                }
                Ok(0) | Err(_) => return std::mem::take(&mut self.buffer),
            }
        }
    }

    pub fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.buffer.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(at) = found {
                return String::from_utf8(self.buffer.drain(..at + end.len()).collect()).unwrap();
            }
            self.need(end);
        }
    }

    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            self.need("all bytes");
        }
        self.buffer.drain(..count).collect()
    }

    /// Goes away without a word.
    pub fn disconnect(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn need(&mut self, what: &str) {
        let read = self.fill().unwrap_or_else(|error| panic!("no {what:?} came: {error}"));
        assert!(read > 0, "the connection ended before {what:?}: {:?}", String::from_utf8_lossy(&self.buffer));
    }

    fn fill(&mut self) -> std::io::Result<usize> {
        let mut piece = [0; 64 * 1024];
        let read = self.stream.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(read)
    }
}

// === impl Reply ===

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// All values of a header.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(header, _)| header == name).map(|(_, value)| value.as_str()).collect()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The `code` of one of our own errors.
    pub fn code(&self) -> &str {
        let rest = self.text().split_once(r#""code":""#).unwrap_or_else(|| panic!("no error of ours: {self:?}")).1;
        rest.split_once('"').unwrap().0
    }

    /// One of our own errors: its status and code, and all of `parts` in its message.
    #[track_caller]
    pub fn assert_error(&self, status: u16, code: &str, parts: &[&str]) {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.text());
        for part in parts {
            assert!(self.text().contains(part), "no {part:?} in {}", self.text());
        }
    }
}
