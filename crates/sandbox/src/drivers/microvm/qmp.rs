//! QEMU's own protocol (QMP): lines of JSON over a socket, a command and its answer, events in
//! between. Only what taking and restoring a snapshot needs. Blocking, with a deadline: for a
//! thread that may wait.

use std::io::{self, BufRead, BufReader, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde_json::{Value, json};

use super::vmm::MONITOR_TIMEOUT;

/// Between two checks whether a transfer has ended.
const POLL_DELAY: Duration = Duration::from_millis(1);

#[derive(Debug, thiserror::Error)]
pub(super) enum QmpError {
    #[error("QEMU ended or fell silent: {0}")]
    Io(#[from] io::Error),
    #[error("QEMU sent invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("QEMU refused {command}: {message}")]
    Refused { command: String, message: String },
    #[error("QEMU could not take or restore the snapshot: {0}")]
    Snapshot(String),
}

pub(super) struct Qmp {
    from: BufReader<UnixStream>,
}

impl Qmp {
    /// Waits for QEMU's greeting.
    pub(super) fn begin(socket: UnixStream) -> Result<Self, QmpError> {
        socket.set_read_timeout(Some(MONITOR_TIMEOUT))?;
        let mut qmp = Self { from: BufReader::new(socket) };
        qmp.line()?;
        qmp.ask("qmp_capabilities", Value::Null, None)?;
        // The guest's memory is a file that both machines have: it is not transferred.
        let shared = json!({ "capabilities": [{ "capability": "x-ignore-shared", "state": true }] });
        qmp.ask("migrate-set-capabilities", shared, None)?;
        Ok(qmp)
    }

    /// Stops the guest.
    pub(super) fn pause(&mut self) -> Result<(), QmpError> {
        self.ask("stop", Value::Null, None).map(drop)
    }

    /// Writes the state of a stopped guest, without its memory, into `state`.
    pub(super) fn save(&mut self, state: BorrowedFd<'_>) -> Result<(), QmpError> {
        self.ask("getfd", json!({ "fdname": "state" }), Some(state))?;
        self.ask("migrate", json!({ "uri": "fd:state" }), None)?;
        self.wait()
    }

    /// Loads what [`save`](Self::save) wrote, and resumes the guest.
    pub(super) fn restore(&mut self, state: BorrowedFd<'_>) -> Result<(), QmpError> {
        self.ask("getfd", json!({ "fdname": "state" }), Some(state))?;
        self.ask("migrate-incoming", json!({ "uri": "fd:state" }), None)?;
        self.wait()?;
        self.ask("cont", Value::Null, None)?;
        Ok(())
    }

    fn wait(&mut self) -> Result<(), QmpError> {
        let deadline = Instant::now() + MONITOR_TIMEOUT;
        loop {
            let state = self.ask("query-migrate", Value::Null, None)?;
            match state["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => return Err(QmpError::Snapshot(state.to_string())),
                _ if Instant::now() > deadline => return Err(QmpError::Snapshot("it takes too long".to_owned())),
                _ => std::thread::sleep(POLL_DELAY),
            }
        }
    }

    fn ask(&mut self, command: &str, arguments: Value, with: Option<BorrowedFd<'_>>) -> Result<Value, QmpError> {
        let mut question = json!({ "execute": command });
        if !arguments.is_null() {
            question["arguments"] = arguments;
        }
        self.send(format!("{question}\n").as_bytes(), with)?;
        loop {
            let mut answer: Value = serde_json::from_str(&self.line()?)?;
            if let Some(error) = answer.get("error") {
                let message = error["desc"].as_str().unwrap_or("for no reason").to_owned();
                return Err(QmpError::Refused { command: command.to_owned(), message });
            }
            // Any other line is an event.
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    /// A descriptor goes with the first byte.
    fn send(&self, text: &[u8], with: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut sent = 0;
        while sent < text.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            let fds: Vec<BorrowedFd<'_>> = with.into_iter().filter(|_| sent == 0).collect();
            if !fds.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(&fds));
            }
            let rest = [IoSlice::new(&text[sent..])];
            sent += rustix::net::sendmsg(self.from.get_ref().as_fd(), &rest, &mut ancillary, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.from.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }
}
