//! One cell: a process of the same program, and the socket to it. The socket is the cell's standard input, so that no
//! descriptor number has to be agreed on; a cell exits when it is closed, which happens whenever control ends.
//!
//! Messages of a cell arrive in order, the end of the socket last. A crash alarm arrives over a second socket, sooner than
//! the end: the kernel may take long to free the memory of a process, and the replacement should not wait for that.
//!
//! The cell's environment is empty, so that code in it cannot read the operator's variables.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use hearth_crash::breadcrumbs::{self, CrashTrail};
use hearth_ipc::{CellMessage, ControlMessage, FrameError, PassError, fd_passing, frame};
use tokio::io::{AsyncReadExt, BufReader, ReadHalf, WriteHalf};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::stderr_tail::StderrTail;

/// Queued messages from all cells. When the queue is full, messages wait in the sockets, and then in the cells.
const MAX_QUEUED_MESSAGES: usize = 1_024;
/// File descriptors that are needed to start a cell.
const RESERVED_FDS: usize = 24;
/// Upper bound of the breadcrumbs page.
const MAX_TRAIL_BYTES: usize = 1 << 20;

/// Identifies a cell process. Never reused, unlike process ids.
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

/// A message of a cell, or its end.
pub(super) enum CellOutput {
    Message(CellMessage),
    /// The cell has closed its socket.
    Closed,
}

/// Starts cell processes.
pub(super) struct CellSpawner {
    program: PathBuf,
    output: mpsc::Sender<(CellId, CellOutput)>,
    alarms: mpsc::UnboundedSender<CellId>,
    next: u64,
    /// Open files that are closed before a cell is started, so that descriptors are free however many clients control has.
    reserve: Vec<File>,
}

/// The receiving ends of what all cells send.
pub(super) struct CellEvents {
    pub(super) output: mpsc::Receiver<(CellId, CellOutput)>,
    /// Cells that are about to crash, from their crash handlers.
    pub(super) alarms: mpsc::UnboundedReceiver<CellId>,
}

pub(super) struct Process {
    child: Child,
    pid: u32,
    outbox: mpsc::UnboundedSender<ControlMessage>,
    stderr: StderrTail,
    /// Ends when all of stderr has been read.
    stderr_task: Option<JoinHandle<()>>,
    page: File,
    /// A duplicate for the next program in an upgrade.
    socket: OwnedFd,
}

// === impl CellSpawner ===

impl CellSpawner {
    pub(super) fn new(program: PathBuf) -> (Self, CellEvents) {
        let (output, output_receiver) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let (alarms, alarm_receiver) = mpsc::unbounded_channel();
        (
            Self { program, output, alarms, next: 0, reserve: reserve() },
            CellEvents { output: output_receiver, alarms: alarm_receiver },
        )
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
        let (alarm, alarm_peer) = std::os::unix::net::UnixStream::pair()?;
        let mut passed: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        passed.extend([page.as_fd(), alarm_peer.as_fd()]);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        fd_passing::send(&ours, &passed)?;
        let mut child = spawn(&self.program, theirs.into())?;
        alarm.set_nonblocking(true)?;
        tokio::spawn(await_crash_alarm(UnixStream::from_std(alarm)?, id, self.alarms.clone()));
        let socket = ours.as_fd().try_clone_to_owned()?;
        ours.set_nonblocking(true)?;
        // Not `into_split`: dropping its write half would shut the socket down, which an upgrade hands on.
        let (from, to) = tokio::io::split(UnixStream::from_std(ours)?);
        let (outbox, messages) = mpsc::unbounded_channel();
        tokio::spawn(write(to, messages));
        tokio::spawn(read(from, id, self.output.clone()));
        let tail = StderrTail::default();
        let stderr_task = child.stderr.take().map(|stderr| tokio::spawn(tail.clone().read(stderr)));
        let pid = child.id().unwrap_or_default();
        Ok((id, Process { child, pid, outbox, stderr: tail, stderr_task, page, socket }))
    }
}

/// Opens as many as possible; missing ones are tried again after the next start.
fn reserve() -> Vec<File> {
    (0..RESERVED_FDS).map_while(|_| File::open("/dev/null").ok()).collect()
}

fn spawn(program: &Path, socket: OwnedFd) -> Result<Child, StartError> {
    Command::new(program)
        .arg("cell")
        .env_clear()
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        // Ctrl-C must reach control only, which drains the cell.
        .process_group(0)
        .spawn()
        .map_err(StartError::Spawn)
}

// === impl Process ===

impl Process {
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Queues a message. If the cell is gone the message is dropped; `CellOutput::Closed` reports that.
    pub(super) fn send(&self, message: ControlMessage) {
        let _ = self.outbox.send(message);
    }

    /// The last lines on stderr of a process that has ended. Waits up to `grace` for the end of the pipe, which a process
    /// that inherited it may hold open.
    pub(super) async fn stderr_tail(&mut self, grace: Duration) -> Vec<String> {
        if let Some(task) = self.stderr_task.take() {
            let _ = timeout(grace, task).await;
        }
        self.stderr.lines()
    }

    /// The breadcrumbs: what its threads run, or ran when it crashed. Empty until the cell has written any.
    pub(super) fn trail(&self) -> CrashTrail {
        let length = self.page.metadata().map_or(0, |about| about.len() as usize).min(MAX_TRAIL_BYTES);
        let mut bytes = vec![0; length];
        match self.page.read_exact_at(&mut bytes, 0) {
            Ok(()) => breadcrumbs::parse(&bytes).unwrap_or_default(),
            Err(_) => CrashTrail::default(),
        }
    }

    /// Gives up the cell, which goes on, and returns its process id and socket for the next program.
    pub(super) fn hand_over(self) -> (u32, OwnedFd) {
        // Dropping `Child` would kill the process.
        std::mem::forget(self.child);
        (self.pid, self.socket)
    }

    /// Kills the process, unless it has ended.
    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Waits for the process to end.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

/// Runs as a task of its own, since a read that is cancelled within a message would lose the frame boundary.
async fn read(from: ReadHalf<UnixStream>, id: CellId, output: mpsc::Sender<(CellId, CellOutput)>) {
    let mut from = BufReader::new(from);
    loop {
        match frame::read_async(&mut from).await {
            Ok(Some(message)) => {
                if output.send((id, CellOutput::Message(message))).await.is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "cell socket failed");
                break;
            }
        }
    }
    // The supervisor may have ended.
    let _ = output.send((id, CellOutput::Closed)).await;
}

async fn write(mut to: WriteHalf<UnixStream>, mut messages: mpsc::UnboundedReceiver<ControlMessage>) {
    while let Some(message) = messages.recv().await {
        match frame::write_async(&mut to, &message).await {
            Ok(()) => {}
            Err(FrameError::Io(error)) => {
                tracing::debug!(%error, "cell message not delivered");
                return;
            }
            // Nothing was written, so the next message may be sent.
            Err(error) => tracing::error!(%error, "cell message not encoded"),
        }
    }
}

/// A byte is an alarm; a close without one is a regular end.
async fn await_crash_alarm(mut alarm: UnixStream, id: CellId, alarms: mpsc::UnboundedSender<CellId>) {
    if let Ok(1..) = alarm.read(&mut [0]).await {
        let _ = alarms.send(id);
    }
}
