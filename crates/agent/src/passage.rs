//! One connection of a program to the proxy outside, at the agent's end: a socket, what waits to be written to it, and how much
//! may still be read from it.
//!
//! ```text
//! from the program:  Open -> Ended        to the program:  Open -> Ending -> Ended
//! ```
//! It is over when both have ended, or the socket broke. Invariants: never more waits than a window, and never more is read
//! than the client has room for; a client that sends more than that breaks the passage.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use hearth_agent::{Outward, PASSAGE_WINDOW};

use crate::poll::Interest;

/// So many bytes that have reached the program are told at once; fewer leave the client room enough.
const TOLD: usize = PASSAGE_WINDOW / 4;

pub struct Passage {
    socket: TcpStream,
    source: Source,
    /// What the client may still be sent.
    window: usize,
    sink: Sink,
    /// For the program.
    waiting: VecDeque<u8>,
    /// What has reached the program, and the client does not know.
    untold: usize,
    /// What the loop waits for.
    pub watched: Interest,
}

/// From the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Open,
    Ended,
}

/// To the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    Open,
    /// When what waits is written.
    Ending,
    Ended,
}

/// Nothing more can be done with it.
#[derive(Debug)]
pub struct Broken;

/// Whether there is room for what programs send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Free,
    Busy,
}

impl Passage {
    pub fn new(socket: TcpStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Small pieces are not held back: who sent them waits for an answer.
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            source: Source::Open,
            window: PASSAGE_WINDOW,
            sink: Sink::Open,
            waiting: VecDeque::new(),
            untold: 0,
            watched: Interest::Nothing,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Something from the program, if there is something.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<Outward>, Broken> {
        let most = buffer.len().min(self.window);
        if self.source == Source::Ended || most == 0 {
            return Ok(None);
        }
        match self.socket.read(&mut buffer[..most]) {
            Ok(0) => {
                self.source = Source::Ended;
                Ok(Some(Outward::End {}))
            }
            Ok(count) => {
                self.window -= count;
                Ok(Some(Outward::Data { bytes: buffer[..count].to_vec().into() }))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(_) => Err(Broken),
        }
    }

    /// Something for the program.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Outward>, Broken> {
        if self.sink != Sink::Open || self.waiting.len() + bytes.len() > PASSAGE_WINDOW {
            return Err(Broken);
        }
        self.waiting.extend(bytes);
        self.write()
    }

    /// Gives the program what its socket takes. Says how much has reached it, when that is worth saying.
    pub fn write(&mut self) -> Result<Option<Outward>, Broken> {
        while !self.waiting.is_empty() {
            match self.socket.write(self.waiting.as_slices().0) {
                Ok(0) => return Err(Broken),
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.untold += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(Broken),
            }
        }
        if self.waiting.is_empty() && self.sink == Sink::Ending {
            self.sink = Sink::Ended;
            self.socket.shutdown(Shutdown::Write).map_err(|_| Broken)?;
        }
        let worth_saying = self.untold >= TOLD && self.sink == Sink::Open;
        Ok(worth_saying.then(|| Outward::Taken { bytes: std::mem::take(&mut self.untold) as u32 }))
    }

    /// Nothing follows for the program.
    pub fn end(&mut self) -> Result<Option<Outward>, Broken> {
        if self.sink == Sink::Open {
            self.sink = Sink::Ending;
        }
        self.write()
    }

    /// Nothing more is wanted of the program.
    pub fn close(&mut self) -> Result<Option<Outward>, Broken> {
        self.source = Source::Ended;
        self.end()
    }

    /// The client has taken so much.
    pub fn widen(&mut self, bytes: u32) -> Result<(), Broken> {
        self.window += bytes as usize;
        if self.window > PASSAGE_WINDOW { Err(Broken) } else { Ok(()) }
    }

    /// What there is to be waited for.
    pub fn wants(&self, way: Way) -> Interest {
        let reads = self.source == Source::Open && self.window > 0 && way == Way::Free;
        match (reads, !self.waiting.is_empty()) {
            (false, false) => Interest::Nothing,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (true, true) => Interest::Both,
        }
    }

    pub fn is_over(&self) -> bool {
        self.source == Source::Ended && self.sink == Sink::Ended
    }
}
