//! What one program leaves to the next when it is upgraded: the doors, the cells that still serve, what was counted and what is
//! known. The program takes the place of its process (exec), so it keeps its number, and the cells stay its children.
//!
//! Descriptors go through a socket that the next program finds as its standard input: no numbers need be agreed upon, and
//! whatever else was open is closed. What they are is said in a file without a name, the first of them; it is written so
//! that an older and a newer program understand each other (JSON, unknown fields ignored).
//!
//! Sandboxes and where their clients come follow in messages of their own, with a file of their own before them. A program that
//! knows nothing of them lets go of them unread, and they end; one that knows them in another version ends them and says so.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use hearth_control::Inherited;
use hearth_ipc::{PassError, fd_passing};
use hearth_sandbox::Bequest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::doors::{Door, Kind, Origin};

/// Holds the number of the process that it is meant for.
const VARIABLE: &str = "HEARTH_HERITAGE";
/// Of what follows the first message.
const VERSION: u32 = 1;
/// Descriptors in a message.
const AT_ONCE: usize = 200;

#[derive(Default)]
pub struct Heritage {
    pub doors: Vec<Door>,
    pub left: Inherited,
}

#[derive(Debug, thiserror::Error)]
pub enum HeritageError {
    #[error("what the program before left cannot be taken over: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Pass(#[from] PassError),
    #[error("what the program before left is not understood: {0}")]
    Note(#[from] serde_json::Error),
    #[error("the program before left less than it said")]
    Missing,
}

#[derive(Serialize, Deserialize)]
struct Note {
    doors: Vec<(Kind, Origin)>,
    cells: Vec<u32>,
    /// Of no use where the two programs count differently.
    counted: Value,
    /// The same.
    #[serde(default)]
    remembered: Value,
    #[serde(default)]
    more: Option<More>,
}

/// What follows.
#[derive(Serialize, Deserialize)]
struct More {
    version: u32,
    /// The file included.
    descriptors: usize,
    /// Processes that end with them.
    children: Vec<u32>,
}

/// In the file.
#[derive(Serialize, Deserialize)]
struct MoreNote {
    doors: Vec<(Kind, Origin)>,
    sandboxes: Value,
}

impl Heritage {
    /// What was left to this process; empty, where nothing was.
    pub fn take() -> Result<Self, HeritageError> {
        let meant_for = std::env::var(VARIABLE).ok().and_then(|pid| pid.parse().ok());
        if meant_for != Some(std::process::id()) {
            return Ok(Self::default());
        }
        let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        let mut left = fd_passing::receive(&socket)?.into_iter();
        // Nobody shall take it twice.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
        let note: Note = read(left.next())?;
        if left.len() != note.doors.len() + note.cells.len() {
            return Err(HeritageError::Missing);
        }
        let mut doors = doors(note.doors, &mut left);
        let cells = note.cells.into_iter().zip(left).collect();
        let sandboxes = match note.more {
            Some(more) => take_more(more, &socket, &mut doors)?,
            None => Bequest::default(),
        };
        let counted = serde_json::from_value(note.counted).unwrap_or_default();
        let remembered = serde_json::from_value(note.remembered).unwrap_or_default();
        Ok(Self { doors, left: Inherited { cells, counted, remembered, sandboxes } })
    }

    /// Into a socket that the next program can read it from.
    fn leave(&self) -> Result<UnixStream, HeritageError> {
        let Inherited { cells, counted, remembered, sandboxes } = &self.left;
        let (clients, apps): (Vec<&Door>, Vec<&Door>) = self.doors.iter().partition(|door| door.kind == Kind::Mcp);
        let names = |doors: &[&Door]| doors.iter().map(|door| (door.kind, door.origin)).collect();
        let more_note = write(&MoreNote { doors: names(&clients), sandboxes: sandboxes.note.clone() })?;
        let mut more = vec![more_note.as_fd()];
        more.extend(clients.iter().map(|door| door.listener.as_fd()));
        more.extend(sandboxes.descriptors.iter().map(AsFd::as_fd));
        let note = write(&Note {
            doors: names(&apps),
            cells: cells.iter().map(|(pid, _)| *pid).collect(),
            counted: serde_json::to_value(counted)?,
            remembered: serde_json::to_value(remembered)?,
            more: Some(More { version: VERSION, descriptors: more.len(), children: sandboxes.children.clone() }),
        })?;
        let mut all = vec![note.as_fd()];
        all.extend(apps.iter().map(|door| door.listener.as_fd()));
        all.extend(cells.iter().map(|(_, socket)| socket.as_fd()));
        let (here, there) = UnixStream::pair()?;
        fd_passing::send(&here, &all)?;
        for some in more.chunks(AT_ONCE) {
            fd_passing::send(&here, some)?;
        }
        Ok(there)
    }
}

/// What was left of sandboxes, with the doors to them among the others. What is not understood is told by whoever looks at it.
fn take_more(more: More, socket: &UnixStream, all: &mut Vec<Door>) -> Result<Bequest, HeritageError> {
    let mut descriptors = Vec::new();
    while descriptors.len() < more.descriptors {
        descriptors.extend(fd_passing::receive(socket)?);
    }
    let mut descriptors = descriptors.into_iter();
    let note = match read::<MoreNote>(descriptors.next()) {
        Ok(note) if more.version == VERSION => {
            all.extend(doors(note.doors, &mut descriptors));
            note.sandboxes
        }
        _ => Value::Null,
    };
    Ok(Bequest { note, descriptors: descriptors.collect(), children: more.children })
}

fn doors(names: Vec<(Kind, Origin)>, descriptors: &mut impl Iterator<Item = OwnedFd>) -> Vec<Door> {
    let door = |((kind, origin), fd)| Door { kind, origin, listener: TcpListener::from(fd) };
    // The names first: none of the descriptors after them may be taken.
    names.into_iter().zip(descriptors).map(door).collect()
}

/// A file without a name.
fn write(note: &impl Serialize) -> Result<File, HeritageError> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("hearth-heritage", flags).map_err(io::Error::from)?);
    file.write_all(&serde_json::to_vec(note)?)?;
    Ok(file)
}

fn read<N: DeserializeOwned>(file: Option<OwnedFd>) -> Result<N, HeritageError> {
    let mut file = File::from(file.ok_or(HeritageError::Missing)?);
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Puts `program` in the place of this one, with the same arguments. Returns only if it cannot be done.
pub fn become_next(program: &Path, arguments: &[OsString], heritage: &Heritage) -> HeritageError {
    let socket = match heritage.leave() {
        Ok(socket) => socket,
        Err(error) => return error,
    };
    if let Err(error) = rustix::stdio::dup2_stdin(socket) {
        return HeritageError::Io(error.into());
    }
    let mut next = Command::new(program);
    next.args(arguments).env(VARIABLE, std::process::id().to_string());
    // They are among the doors.
    for activated in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
        next.env_remove(activated);
    }
    next.exec().into()
}
