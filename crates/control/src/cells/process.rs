//! One cell: a process of the same program, and the socket to it. The socket is its standard input: that needs no
//! agreement on numbers, and when it ends (control is gone, by whatever means) the cell ends too.
//!
//! What a cell says comes in order, its end last. That it is about to crash comes beside, and sooner: the kernel takes its
//! time to free what a process had, and nobody should wait for that.
//!
//! The cell's environment is empty: nothing of the operator's is there to be read, by nobody.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use hearth_ipc::{CellMessage, ControlMessage, FrameError, PassError, fd_passing, frame};
use hearth_jail::breadcrumbs::{self, CrashTrail};
use tokio::io::{AsyncReadExt, BufReader, ReadHalf, WriteHalf};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::words::LastWords;

/// Messages that may wait here; more of them wait in the socket, and then in the cell.
const UNHEARD: usize = 1_024;
/// Descriptors that starting a cell takes, of which it keeps a part.
const RESERVE: usize = 24;
/// No page of breadcrumbs is longer.
const LONGEST_TRAIL: usize = 1 << 20;

/// A process of ours that is a cell. Never reused, unlike the numbers of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CellId(pub(super) u64);

#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("the program cannot be started as a cell: {0}")]
    Spawn(#[source] io::Error),
    #[error("there is no socket for the cell: {0}")]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// What comes from a cell.
pub(super) enum Heard {
    Said(CellMessage),
    /// Its socket is closed: the last of it.
    Gone,
}

/// What all cells are started with.
pub(super) struct Starter {
    program: PathBuf,
    heard: mpsc::Sender<(CellId, Heard)>,
    alarms: mpsc::UnboundedSender<CellId>,
    next: u64,
    /// Kept open, so that there are descriptors for a cell however many clients control has.
    reserve: Vec<File>,
}

/// Where what cells say comes out.
pub(super) struct Ear {
    pub(super) heard: mpsc::Receiver<(CellId, Heard)>,
    /// Cells that are about to crash.
    pub(super) alarms: mpsc::UnboundedReceiver<CellId>,
}

pub(super) struct Process {
    child: Child,
    pid: u32,
    outbox: mpsc::UnboundedSender<ControlMessage>,
    words: LastWords,
    /// Ends when all that it wrote is heard.
    listening: Option<JoinHandle<()>>,
    page: File,
    /// For who goes on with it when this program does not.
    socket: OwnedFd,
}

// === impl Starter ===

impl Starter {
    pub(super) fn new(program: PathBuf) -> (Self, Ear) {
        let (heard, said) = mpsc::channel(UNHEARD);
        let (alarms, cries) = mpsc::unbounded_channel();
        (Self { program, heard, alarms, next: 0, reserve: reserve() }, Ear { heard: said, alarms: cries })
    }

    pub(super) fn start(&mut self, listeners: &[OwnedFd]) -> Result<(CellId, Process), StartError> {
        self.reserve.clear();
        let started = self.start_cell(listeners);
        self.reserve = reserve();
        started
    }

    fn start_cell(&mut self, listeners: &[OwnedFd]) -> Result<(CellId, Process), StartError> {
        let id = CellId(self.next);
        self.next += 1;
        let page = breadcrumbs::anonymous_page()?;
        let (alarm, cry) = std::os::unix::net::UnixStream::pair()?;
        let mut passed: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        passed.extend([page.as_fd(), cry.as_fd()]);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        fd_passing::send(&ours, &passed)?;
        let mut child = spawn(&self.program, theirs.into())?;
        alarm.set_nonblocking(true)?;
        tokio::spawn(await_cry(UnixStream::from_std(alarm)?, id, self.alarms.clone()));
        let socket = ours.as_fd().try_clone_to_owned()?;
        ours.set_nonblocking(true)?;
        // Halves that leave the socket alone when they go: who it is given away to has it too.
        let (from, to) = tokio::io::split(UnixStream::from_std(ours)?);
        let (outbox, messages) = mpsc::unbounded_channel();
        tokio::spawn(write(to, messages));
        tokio::spawn(read(from, id, self.heard.clone()));
        let words = LastWords::default();
        let listening = child.stderr.take().map(|stderr| tokio::spawn(words.clone().listen(stderr)));
        let pid = child.id().unwrap_or_default();
        Ok((id, Process { child, pid, outbox, words, listening, page, socket }))
    }
}

/// As many as there are: what is missing is tried for again after the next start.
fn reserve() -> Vec<File> {
    (0..RESERVE).map_while(|_| File::open("/dev/null").ok()).collect()
}

fn spawn(program: &Path, socket: OwnedFd) -> Result<Child, StartError> {
    Command::new(program)
        .arg("cell")
        .env_clear()
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        // Ctrl-C is for control alone: the cell finishes what it has.
        .process_group(0)
        .spawn()
        .map_err(StartError::Spawn)
}

// === impl Process ===

impl Process {
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// What cannot be sent any more was sent to a cell that is gone, which its end tells.
    pub(super) fn send(&self, message: ControlMessage) {
        let _ = self.outbox.send(message);
    }

    /// Of a process that has ended. What it wrote last may still be on its way, in a pipe that ends with it, unless it left
    /// it to another process.
    pub(super) async fn last_words(&mut self, patience: Duration) -> Vec<String> {
        if let Some(listening) = self.listening.take() {
            let _ = timeout(patience, listening).await;
        }
        self.words.all()
    }

    /// What its threads run, or ran when it crashed. Empty before the cell has begun to write it.
    pub(super) fn trail(&self) -> CrashTrail {
        let length = self.page.metadata().map_or(0, |about| about.len() as usize).min(LONGEST_TRAIL);
        let mut bytes = vec![0; length];
        match self.page.read_exact_at(&mut bytes, 0) {
            Ok(()) => breadcrumbs::parse(&bytes).unwrap_or_default(),
            Err(_) => CrashTrail::default(),
        }
    }

    /// Leaves it to somebody else, who has its socket from now on: it goes on, and is no concern of ours.
    pub(super) fn give_away(self) -> (u32, OwnedFd) {
        // It would end with it.
        std::mem::forget(self.child);
        (self.pid, self.socket)
    }

    /// Ends it now. It may have ended already.
    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// How it ended, when it does.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

/// A task of its own: reading must not be cut off within a message.
async fn read(from: ReadHalf<UnixStream>, id: CellId, heard: mpsc::Sender<(CellId, Heard)>) {
    let mut from = BufReader::new(from);
    loop {
        match frame::read_async(&mut from).await {
            Ok(Some(message)) => {
                if heard.send((id, Heard::Said(message))).await.is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "The cell was cut off");
                break;
            }
        }
    }
    // Nobody listens where nobody supervises any more.
    let _ = heard.send((id, Heard::Gone)).await;
}

async fn write(mut to: WriteHalf<UnixStream>, mut messages: mpsc::UnboundedReceiver<ControlMessage>) {
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

/// A byte is a cry; an end without one is an end.
async fn await_cry(mut alarm: UnixStream, id: CellId, alarms: mpsc::UnboundedSender<CellId>) {
    if let Ok(1..) = alarm.read(&mut [0]).await {
        let _ = alarms.send(id);
    }
}
