//! One connection of a program to the proxy, at the agent's end: a socket, data that waits to be
//! written to it, and how much may still be read from it.
//!
//! ```text
//! from the program:  Open -> Ended        to the program:  Open -> Ending -> Ended
//! ```
//! It is finished when both have ended, or the socket broke. Invariants: at most a window waits,
//! and at most what the client has room for is read; a client that sends more than that breaks the
//! connection.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use hearth_sandbox_agent::{FromGuest, TUNNEL_WINDOW};

use crate::poll::Interest;

/// Bytes that the program received are acknowledged when they are at least so many; the client has
/// room enough meanwhile.
const ACK_THRESHOLD: usize = TUNNEL_WINDOW / 4;

pub struct TunnelStream {
    socket: TcpStream,
    source: Source,
    /// What the client may still be sent.
    window: usize,
    sink: Sink,
    /// For the program.
    waiting: VecDeque<u8>,
    /// Bytes that the program received and that are not yet acknowledged.
    unacknowledged: usize,
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
    /// Ends when what waits is written.
    Ending,
    Ended,
}

/// The connection is broken.
#[derive(Debug)]
pub struct TunnelBroken;

/// How much waits to be sent to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLoad {
    Light,
    Heavy,
}

impl TunnelStream {
    pub fn new(socket: TcpStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Small writes are not delayed: the sender waits for an answer.
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            source: Source::Open,
            window: TUNNEL_WINDOW,
            sink: Sink::Open,
            waiting: VecDeque::new(),
            unacknowledged: 0,
            watched: Interest::Nothing,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads from the program, if there is anything.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<FromGuest>, TunnelBroken> {
        let most = buffer.len().min(self.window);
        if self.source == Source::Ended || most == 0 {
            return Ok(None);
        }
        match self.socket.read(&mut buffer[..most]) {
            Ok(0) => {
                self.source = Source::Ended;
                Ok(Some(FromGuest::End {}))
            }
            Ok(count) => {
                self.window -= count;
                Ok(Some(FromGuest::Data { bytes: buffer[..count].to_vec().into() }))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(_) => Err(TunnelBroken),
        }
    }

    /// Data for the program.
    pub fn send(&mut self, bytes: &[u8]) -> Result<Option<FromGuest>, TunnelBroken> {
        if self.sink != Sink::Open || self.waiting.len() + bytes.len() > TUNNEL_WINDOW {
            return Err(TunnelBroken);
        }
        self.waiting.extend(bytes);
        self.write()
    }

    /// Writes to the program what its socket takes. Returns an acknowledgement when there is enough
    /// to acknowledge.
    pub fn write(&mut self) -> Result<Option<FromGuest>, TunnelBroken> {
        while !self.waiting.is_empty() {
            match self.socket.write(self.waiting.as_slices().0) {
                Ok(0) => return Err(TunnelBroken),
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.unacknowledged += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(TunnelBroken),
            }
        }
        if self.waiting.is_empty() && self.sink == Sink::Ending {
            self.sink = Sink::Ended;
            self.socket.shutdown(Shutdown::Write).map_err(|_| TunnelBroken)?;
        }
        let acknowledge = self.unacknowledged >= ACK_THRESHOLD && self.sink == Sink::Open;
        Ok(acknowledge.then(|| FromGuest::Taken { bytes: std::mem::take(&mut self.unacknowledged) as u32 }))
    }

    /// The client has ended its side.
    pub fn end(&mut self) -> Result<Option<FromGuest>, TunnelBroken> {
        if self.sink == Sink::Open {
            self.sink = Sink::Ending;
        }
        self.write()
    }

    /// The client wants nothing more of the program.
    pub fn close(&mut self) -> Result<Option<FromGuest>, TunnelBroken> {
        self.source = Source::Ended;
        self.end()
    }

    /// The client has received so many bytes.
    pub fn acknowledged(&mut self, bytes: u32) -> Result<(), TunnelBroken> {
        self.window += bytes as usize;
        if self.window > TUNNEL_WINDOW { Err(TunnelBroken) } else { Ok(()) }
    }

    /// What the loop is to wait for.
    pub fn wants(&self, load: QueueLoad) -> Interest {
        let reads = self.source == Source::Open && self.window > 0 && load == QueueLoad::Light;
        match (reads, !self.waiting.is_empty()) {
            (false, false) => Interest::Nothing,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (true, true) => Interest::Both,
        }
    }

    pub fn is_finished(&self) -> bool {
        self.source == Source::Ended && self.sink == Sink::Ended
    }
}
