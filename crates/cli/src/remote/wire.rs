//! HTTP/1.1 as far as a client of the admin API needs it: one request, one response, one connection. Bodies come with a
//! length, in chunks, or until the end of the connection.

use std::io::{self, BufRead, Read, Write};

/// Heads and lines of chunks that are longer are no answers of Hearth's.
const LONGEST_HEAD: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    length: Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(u64),
    Chunked,
    UntilTheEnd,
}

/// A response's body. Ends where the body ends, and fails where the connection ends before.
#[derive(Debug)]
pub(super) struct Body<R> {
    input: R,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes are left.
    Known(u64),
    /// The size of a chunk is next.
    ChunkHead,
    /// So many bytes of a chunk are left, never 0; its line end follows.
    Chunk(u64),
    UntilTheEnd,
    Ended,
}

/// What makes a message no HTTP.
pub(super) fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Writes a request's head. `path` is percent-encoded, and the token printable, so that neither can end its line.
pub(super) fn write_head(
    mut out: impl Write,
    (method, path): (&str, &str),
    (host, token): (&str, &str),
    length: u64,
) -> io::Result<()> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nuser-agent: hearth\r\n\
         accept: */*\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    out.write_all(head.as_bytes())
}

/// Reads the head of the response, and passes over those that only announce it.
pub(super) fn read_head(input: &mut impl BufRead) -> io::Result<Head> {
    loop {
        let head = one_head(input)?;
        if !(100..200).contains(&head.status) {
            return Ok(head);
        }
    }
}

fn one_head(input: &mut impl BufRead) -> io::Result<Head> {
    let mut rest = LONGEST_HEAD;
    let first = line(input, &mut rest)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    let status: u16 = status.filter(|status| (100..600).contains(status)).ok_or_else(|| malformed("no HTTP"))?;
    let mut length = Length::UntilTheEnd;
    loop {
        let header = line(input, &mut rest)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(malformed("an unknown transfer-encoding"));
            }
            length = Length::Chunked;
        } else if name.eq_ignore_ascii_case("content-length") && length != Length::Chunked {
            length = Length::Known(value.parse().map_err(|_| malformed("a bad content-length"))?);
        }
    }
    if matches!(status, 204 | 304) {
        length = Length::Known(0);
    }
    Ok(Head { status, length })
}

/// A line without its end, of at most `rest` bytes.
fn line(input: &mut impl BufRead, rest: &mut u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = input.by_ref().take(*rest).read_until(b'\n', &mut bytes)?;
    *rest -= read as u64;
    if bytes.pop() != Some(b'\n') {
        return Err(if *rest == 0 { malformed("a head without an end") } else { io::ErrorKind::UnexpectedEof.into() });
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|_| malformed("a head that is no text"))
}

// === impl Body ===

impl<R: BufRead> Body<R> {
    pub(super) fn new(head: &Head, input: R) -> Self {
        let state = match head.length {
            Length::Known(0) => State::Ended,
            Length::Known(length) => State::Known(length),
            Length::Chunked => State::ChunkHead,
            Length::UntilTheEnd => State::UntilTheEnd,
        };
        Self { input, state }
    }

    /// The state after a chunk's size was read, and after the trailers where it is the last.
    fn chunk(&mut self) -> io::Result<State> {
        let mut rest = LONGEST_HEAD;
        let size = line(&mut self.input, &mut rest)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("a bad chunk"))?;
        if size > 0 {
            return Ok(State::Chunk(size));
        }
        while !line(&mut self.input, &mut rest)?.is_empty() {}
        Ok(State::Ended)
    }

    /// Up to `most` bytes, and how many of them are left then.
    fn part(&mut self, buffer: &mut [u8], most: u64) -> io::Result<(usize, u64)> {
        let end = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
        match self.input.read(&mut buffer[..end])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok((read, most - read as u64)),
        }
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state {
                State::Ended => return Ok(0),
                State::UntilTheEnd => return self.input.read(buffer),
                State::ChunkHead => self.state = self.chunk()?,
                State::Known(most) => {
                    let (read, rest) = self.part(buffer, most)?;
                    self.state = if rest == 0 { State::Ended } else { State::Known(rest) };
                    return Ok(read);
                }
                State::Chunk(most) => {
                    let (read, rest) = self.part(buffer, most)?;
                    self.state = State::Chunk(rest);
                    if rest == 0 {
                        if !line(&mut self.input, &mut 2)?.is_empty() {
                            return Err(malformed("a bad chunk"));
                        }
                        self.state = State::ChunkHead;
                    }
                    return Ok(read);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "wire/tests.rs"]
mod tests;
