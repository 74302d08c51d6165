//! The state that one program hands to the next in an upgrade: listeners, serving cells, counters, sandboxes. The next program
//! replaces the process image (exec), so the process id stays and the cells remain its children.
//!
//! Descriptors pass through a socket that the next program finds as its standard input: no numbers need be agreed upon, and
//! all other descriptors are closed. The messages are, in this order:
//!
//! 1. a memory file with the [`Note`], the listeners of apps and of the admin API, the cells' sockets;
//! 2. a memory file with the [`SandboxNote`], the MCP listener, the sandboxes' descriptors, in chunks;
//! 3. the executable of the program that exports, for a [`Rollback`].
//!
//! Notes are JSON, and unknown fields are ignored, so that older and newer programs understand each other. A program that does
//! not know a later message leaves it unread, which closes its descriptors. One that knows the second in another version ends
//! the sandboxes and logs that.
//!
//! Invariant: [`ReceivedState`] holds all descriptors before any is used, so that a rollback can pass on all of them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hearth_control::Inherited;
use hearth_ipc::{PassError, fd_passing};
use hearth_sandbox::UpgradePayload;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::listeners::{BoundListener, ListenerKind, ListenerOrigin};

/// Holds the id of the process that the state is meant for.
const PID_VARIABLE: &str = "HEARTH_UPGRADE_PID";
/// The former name of that variable. Read and set for one release, so that an older program can upgrade to this one and back.
const OLD_PID_VARIABLE: &str = "HEARTH_HERITAGE";
/// The version of the second message.
const VERSION: u32 = 1;
/// Limit of descriptors in a message.
const MAX_FDS: usize = 200;

#[derive(Default)]
pub struct UpgradeState {
    pub listeners: Vec<BoundListener>,
    pub inherited: Inherited,
    /// Set where this program runs again because an upgrade failed.
    pub rolled_back: Option<RolledBack>,
}

/// An upgrade that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RolledBack {
    /// Why the next program did not start.
    pub reason: String,
    /// The path of this program: the executable itself may have no name any more.
    pub program: PathBuf,
}

/// How the exporting program is started again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviousProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

#[derive(Debug, thiserror::Error)]
pub enum UpgradeStateError {
    #[error("the state of the previous program cannot be taken over: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Pass(#[from] PassError),
    #[error("the state of the previous program is not understood: {0}")]
    Note(#[from] serde_json::Error),
    #[error("the previous program passed fewer descriptors than it announced")]
    Missing,
}

#[derive(Serialize, Deserialize)]
struct Note {
    #[serde(rename = "doors")]
    listeners: Vec<(ListenerKind, ListenerOrigin)>,
    cells: Vec<u32>,
    /// Ignored if the two programs count differently.
    counted: Value,
    /// Ignored if the two programs remember differently.
    #[serde(default)]
    remembered: Value,
    #[serde(flatten)]
    envelope: Envelope,
}

/// The part of the note that a rollback needs: it is read even if the rest is not understood.
#[derive(Default, Serialize, Deserialize)]
struct Envelope {
    #[serde(default)]
    more: Option<SecondMessage>,
    /// Present if the third message follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<PreviousProgram>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rolled_back: Option<RolledBack>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SecondMessage {
    version: u32,
    /// Its memory file included.
    descriptors: usize,
    /// Processes that end with the sandboxes.
    children: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct SandboxNote {
    #[serde(rename = "doors")]
    listeners: Vec<(ListenerKind, ListenerOrigin)>,
    sandboxes: Value,
}

/// All that the previous program passed, not interpreted yet.
pub struct ReceivedState {
    note: Value,
    envelope: Envelope,
    /// The first message, without the note.
    first: Vec<OwnedFd>,
    second: Vec<OwnedFd>,
    executable: Option<OwnedFd>,
}

/// Starts the previous program again, with the state that it passed.
pub struct Rollback {
    note: Value,
    first: Vec<OwnedFd>,
    second: Vec<OwnedFd>,
    executable: OwnedFd,
    previous: PreviousProgram,
    /// Children that belong to the state.
    children: Vec<u32>,
}

// === impl UpgradeState ===

impl UpgradeState {
    /// Sends the state. Returns the socket that the next program receives it from.
    fn export(&self, previous: Option<&PreviousProgram>) -> Result<UnixStream, UpgradeStateError> {
        let Inherited { cells, counters: counted, state: remembered, sandboxes } = &self.inherited;
        let is_mcp = |listener: &&BoundListener| listener.kind == ListenerKind::Mcp;
        let (mcp, others): (Vec<&BoundListener>, Vec<&BoundListener>) = self.listeners.iter().partition(is_mcp);
        let names =
            |listeners: &[&BoundListener]| listeners.iter().map(|listener| (listener.kind, listener.origin)).collect();
        let sandbox_note = write_note(&SandboxNote { listeners: names(&mcp), sandboxes: sandboxes.note.clone() })?;
        let mut second = vec![sandbox_note.as_fd()];
        second.extend(mcp.iter().map(|listener| listener.listener.as_fd()));
        second.extend(sandboxes.descriptors.iter().map(AsFd::as_fd));
        let children = sandboxes.children.clone();
        let note = Note {
            listeners: names(&others),
            cells: cells.iter().map(|(pid, _)| *pid).collect(),
            counted: serde_json::to_value(counted)?,
            remembered: serde_json::to_value(remembered)?,
            envelope: Envelope {
                more: Some(SecondMessage { version: VERSION, descriptors: second.len(), children }),
                previous: previous.cloned(),
                rolled_back: self.rolled_back.clone(),
            },
        };
        let mut first: Vec<BorrowedFd<'_>> = others.iter().map(|listener| listener.listener.as_fd()).collect();
        first.extend(cells.iter().map(|(_, socket)| socket.as_fd()));
        let executable = previous.map(|_| File::open("/proc/self/exe")).transpose()?;
        send(&note, &first, &second, executable.as_ref().map(AsFd::as_fd))
    }
}

/// Sends the three messages. Returns the socket to receive them from.
fn send(
    note: &impl Serialize,
    first: &[BorrowedFd<'_>],
    second: &[BorrowedFd<'_>],
    executable: Option<BorrowedFd<'_>>,
) -> Result<UnixStream, UpgradeStateError> {
    let note = write_note(note)?;
    let all: Vec<BorrowedFd<'_>> = std::iter::once(note.as_fd()).chain(first.iter().copied()).collect();
    let (here, there) = UnixStream::pair()?;
    fd_passing::send(&here, &all)?;
    for chunk in second.chunks(MAX_FDS) {
        fd_passing::send(&here, chunk)?;
    }
    if let Some(executable) = executable {
        fd_passing::send(&here, &[executable])?;
    }
    Ok(there)
}

// === impl ReceivedState ===

impl ReceivedState {
    /// Receives all messages. `None` if this process was not started by an upgrade.
    pub fn take() -> Result<Option<Self>, UpgradeStateError> {
        let pid = |name| std::env::var(name).ok().and_then(|pid| pid.parse::<u32>().ok());
        if pid(PID_VARIABLE).or_else(|| pid(OLD_PID_VARIABLE)) != Some(std::process::id()) {
            return Ok(None);
        }
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut first = fd_passing::receive(&socket)?.into_iter();
        // The state must not be received twice.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
        let note: Value = read_note(first.next())?;
        let envelope: Envelope = serde_json::from_value(note.clone())?;
        let mut second = Vec::new();
        while second.len() < envelope.more.as_ref().map_or(0, |more| more.descriptors) {
            second.extend(fd_passing::receive(&socket)?);
        }
        let executable = match &envelope.previous {
            Some(_) => fd_passing::receive(&socket)?.into_iter().next(),
            None => None,
        };
        Ok(Some(Self { note, envelope, first: first.collect(), second, executable }))
    }

    /// `None` if the previous program did not pass its executable.
    pub fn rollback(&self) -> Result<Option<Rollback>, UpgradeStateError> {
        let (Some(previous), Some(executable)) = (&self.envelope.previous, &self.executable) else { return Ok(None) };
        let copies = |all: &[OwnedFd]| all.iter().map(OwnedFd::try_clone).collect::<io::Result<Vec<OwnedFd>>>();
        let cells: Vec<u32> = serde_json::from_value(self.note["cells"].clone()).unwrap_or_default();
        let sandboxed = self.envelope.more.iter().flat_map(|more| &more.children);
        Ok(Some(Rollback {
            note: self.note.clone(),
            first: copies(&self.first)?,
            second: copies(&self.second)?,
            executable: executable.try_clone()?,
            previous: previous.clone(),
            children: cells.iter().chain(sandboxed).copied().collect(),
        }))
    }

    pub fn import(self) -> Result<UpgradeState, UpgradeStateError> {
        let note: Note = serde_json::from_value(self.note)?;
        let mut first = self.first.into_iter();
        if first.len() != note.listeners.len() + note.cells.len() {
            return Err(UpgradeStateError::Missing);
        }
        let mut listeners = named(note.listeners, &mut first);
        let cells = note.cells.into_iter().zip(first).collect();
        let sandboxes = match note.envelope.more {
            Some(more) => import_sandboxes(more, self.second, &mut listeners),
            None => UpgradePayload::default(),
        };
        let counted = serde_json::from_value(note.counted).unwrap_or_default();
        let remembered = serde_json::from_value(note.remembered).unwrap_or_default();
        let inherited = Inherited { cells, counters: counted, state: remembered, sandboxes };
        Ok(UpgradeState { listeners, inherited, rolled_back: note.envelope.rolled_back })
    }
}

/// The sandboxes' part, and the MCP listener. If its version is unknown the sandboxes get a null note, which they log and end by.
fn import_sandboxes(more: SecondMessage, second: Vec<OwnedFd>, listeners: &mut Vec<BoundListener>) -> UpgradePayload {
    let mut descriptors = second.into_iter();
    let note = match read_note::<SandboxNote>(descriptors.next()) {
        Ok(note) if more.version == VERSION => {
            listeners.extend(named(note.listeners, &mut descriptors));
            note.sandboxes
        }
        _ => Value::Null,
    };
    UpgradePayload { note, descriptors: descriptors.collect(), children: more.children }
}

fn named(
    names: Vec<(ListenerKind, ListenerOrigin)>,
    descriptors: &mut impl Iterator<Item = OwnedFd>,
) -> Vec<BoundListener> {
    let listener = |((kind, origin), fd)| BoundListener { kind, origin, listener: TcpListener::from(fd) };
    // The names come first in the zip: it must not take a descriptor beyond them.
    names.into_iter().zip(descriptors).map(listener).collect()
}

// === impl Rollback ===

impl Rollback {
    /// Executes the previous program again. Returns only if that fails.
    pub fn exec(mut self, reason: &str) -> UpgradeStateError {
        let PreviousProgram { program, arguments } = self.previous;
        if let Value::Object(note) = &mut self.note {
            note.remove("previous");
            let rolled_back = RolledBack { reason: reason.to_owned(), program: program.clone() };
            note.insert("rolled_back".to_owned(), serde_json::to_value(rolled_back).unwrap_or_default());
        }
        end_children_except(&self.children);
        let socket = match send(&self.note, &borrowed(&self.first), &borrowed(&self.second), None) {
            Ok(socket) => socket,
            Err(error) => return error,
        };
        let executable = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.executable));
        exec(Command::new(executable).arg0(program), &arguments, socket)
    }
}

fn borrowed(all: &[OwnedFd]) -> Vec<BorrowedFd<'_>> {
    all.iter().map(AsFd::as_fd).collect()
}

/// Kills the children that the failed program started: the previous program does not know them, and could not reap them.
fn end_children_except(kept: &[u32]) {
    let this = std::process::id();
    let own = hearth_sys::procfs::processes().filter(|process| process.parent == this && !kept.contains(&process.id));
    for process in own.collect::<Vec<_>>() {
        let Some(pid) = i32::try_from(process.id).ok().and_then(rustix::process::Pid::from_raw) else { continue };
        // A child that has ended already only needs to be reaped.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    }
}

/// Replaces this process by `program`. The state names this program too, which the next one starts again if it fails. Returns
/// only if `program` cannot be executed.
pub fn exec_successor(
    program: &Path,
    arguments: &[OsString],
    state: &UpgradeState,
    previous: Option<&PreviousProgram>,
) -> UpgradeStateError {
    match state.export(previous) {
        Ok(socket) => exec(&mut Command::new(program), arguments, socket),
        Err(error) => error,
    }
}

fn exec(command: &mut Command, arguments: &[OsString], socket: UnixStream) -> UpgradeStateError {
    if let Err(error) = rustix::stdio::dup2_stdin(socket) {
        return UpgradeStateError::Io(error.into());
    }
    let pid = std::process::id().to_string();
    command.args(arguments).env(PID_VARIABLE, &pid).env(OLD_PID_VARIABLE, pid);
    // The activated sockets are among the listeners.
    for activated in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
        command.env_remove(activated);
    }
    command.exec().into()
}

/// Writes a note to a memory file.
fn write_note(note: &impl Serialize) -> Result<File, UpgradeStateError> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("hearth-upgrade", flags).map_err(io::Error::from)?);
    file.write_all(&serde_json::to_vec(note)?)?;
    Ok(file)
}

fn read_note<N: DeserializeOwned>(file: Option<OwnedFd>) -> Result<N, UpgradeStateError> {
    let mut file = File::from(file.ok_or(UpgradeStateError::Missing)?);
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}
