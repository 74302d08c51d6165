//! One cell: a process of the same program, and the socket to it. The socket is its standard input: that needs no
//! agreement on numbers, and when it ends (control is gone, by whatever means) the cell ends too.
//!
//! The cell's environment is empty: nothing of the operator's is there to be read, by nobody.

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_link::{FrameError, FromCell, PassError, ToCell, frame, passing};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::mpsc;

/// Lines of standard error that are kept for a crash report.
const LAST_WORDS: usize = 40;
/// Messages that may wait here; more of them wait in the socket, and then in the cell.
const UNHEARD: usize = 1_024;
/// No line of it is longer, however long it was.
const LONGEST_LINE: usize = 2_000;

#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("the program cannot be started as a cell: {0}")]
    Spawn(#[source] io::Error),
    #[error("there is no socket for the cell: {0}")]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Pass(#[from] PassError),
}

pub(super) struct Process {
    child: Child,
    inbox: mpsc::Receiver<FromCell>,
    outbox: mpsc::UnboundedSender<ToCell>,
    words: LastWords,
}

/// The last lines that the cell wrote to standard error.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl Process {
    pub(super) fn start(program: &Path, listeners: &[TcpListener]) -> Result<Self, StartError> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        passing::send(&ours, listeners)?;
        let mut child = Command::new(program)
            .arg("cell")
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            // Ctrl-C is for control alone: the cell finishes what it has.
            .process_group(0)
            .spawn()
            .map_err(StartError::Spawn)?;
        ours.set_nonblocking(true)?;
        let (from, to) = UnixStream::from_std(ours)?.into_split();
        let (outbox, messages) = mpsc::unbounded_channel();
        tokio::spawn(write(to, messages));
        let (heard, inbox) = mpsc::channel(UNHEARD);
        tokio::spawn(read(from, heard));
        let words = LastWords::default();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(words.clone().listen(stderr));
        }
        Ok(Self { child, inbox, outbox, words })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// What cannot be sent any more was sent to a cell that is gone, which its end tells.
    pub(super) fn send(&self, message: ToCell) {
        let _ = self.outbox.send(message);
    }

    /// The next thing it says; `None` when it is gone.
    pub(super) async fn next(&mut self) -> Option<FromCell> {
        self.inbox.recv().await
    }

    pub(super) fn last_words(&self) -> Vec<String> {
        self.words.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// How it ended; ends it, if it has not.
    pub(super) async fn end(&mut self) -> io::Result<ExitStatus> {
        // It may have ended already.
        let _ = self.child.start_kill();
        self.child.wait().await
    }

    /// How it ended, when it does.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

/// A task of its own: reading must not be cut off within a message.
async fn read(from: OwnedReadHalf, heard: mpsc::Sender<FromCell>) {
    let mut from = BufReader::new(from);
    loop {
        match frame::read_async(&mut from).await {
            Ok(Some(message)) => {
                if heard.send(message).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "The cell was cut off");
                return;
            }
        }
    }
}

async fn write(mut to: OwnedWriteHalf, mut messages: mpsc::UnboundedReceiver<ToCell>) {
    while let Some(message) = messages.recv().await {
        match frame::write_async(&mut to, &message).await {
            Ok(()) => {}
            Err(FrameError::Io(error)) => {
                tracing::debug!(%error, "A message did not reach the cell");
                return;
            }
            // The socket is as good as before: the next one may go.
            Err(error) => tracing::error!(%error, "A message to the cell could not be written"),
        }
    }
}

// === impl LastWords ===

impl LastWords {
    async fn listen(self, stderr: ChildStderr) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(true) = next_line(&mut stderr, &mut line).await {
            let line = String::from_utf8_lossy(&line).into_owned();
            tracing::warn!(target: "hearth::cell", "{line}");
            let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if words.len() == LAST_WORDS {
                words.pop_front();
            }
            words.push_back(line);
        }
    }
}

/// The next line, cut where it is too long. `false` at the end.
async fn next_line(from: &mut BufReader<ChildStderr>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    loop {
        let there = from.fill_buf().await?;
        if there.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = there.iter().position(|byte| *byte == b'\n');
        let piece = &there[..end.unwrap_or(there.len())];
        line.extend_from_slice(&piece[..piece.len().min(LONGEST_LINE - line.len())]);
        let taken = end.map_or(there.len(), |end| end + 1);
        from.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}
