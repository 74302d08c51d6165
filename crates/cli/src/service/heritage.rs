//! What one program leaves to the next when it is upgraded: the doors, the cells that still serve, and what was counted. The
//! program takes the place of its process (exec), so it keeps its number, and the cells stay its children.
//!
//! Descriptors go through a socket that the next program finds as its standard input: no numbers need be agreed upon, and
//! whatever else was open is closed. What they are is said in a file without a name, the first of them; it is written so
//! that an older and a newer program understand each other (JSON, unknown fields ignored).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use hearth_link::{CellStats, PassError, passing};
use serde::{Deserialize, Serialize};

use super::doors::{Door, Kind, Origin};

/// Holds the number of the process that it is meant for.
const VARIABLE: &str = "HEARTH_HERITAGE";

#[derive(Default)]
pub struct Heritage {
    pub doors: Vec<Door>,
    /// Processes that serve on until the next program does, and the socket to each: they end when it is closed.
    pub cells: Vec<(u32, OwnedFd)>,
    pub counted: CellStats,
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
    counted: serde_json::Value,
}

impl Heritage {
    /// What was left to this process; empty, where nothing was.
    pub fn take() -> Result<Self, HeritageError> {
        let meant_for = std::env::var(VARIABLE).ok().and_then(|pid| pid.parse().ok());
        if meant_for != Some(std::process::id()) {
            return Ok(Self::default());
        }
        let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        let mut left = passing::receive(&socket)?.into_iter();
        // Nobody shall take it twice.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
        let mut text = String::new();
        let mut file = File::from(left.next().ok_or(HeritageError::Missing)?);
        file.rewind()?;
        file.read_to_string(&mut text)?;
        let note: Note = serde_json::from_str(&text)?;
        if left.len() != note.doors.len() + note.cells.len() {
            return Err(HeritageError::Missing);
        }
        let doors = note.doors.into_iter().zip(&mut left);
        let doors = doors.map(|((kind, origin), fd)| Door { kind, origin, listener: TcpListener::from(fd) }).collect();
        let cells = note.cells.into_iter().zip(left).collect();
        Ok(Self { doors, cells, counted: serde_json::from_value(note.counted).unwrap_or_default() })
    }

    /// Into a socket that the next program can read it from.
    fn leave(&self) -> Result<UnixStream, HeritageError> {
        let note = Note {
            doors: self.doors.iter().map(|door| (door.kind, door.origin)).collect(),
            cells: self.cells.iter().map(|(pid, _)| *pid).collect(),
            counted: serde_json::to_value(&self.counted)?,
        };
        let mut file = File::from(
            rustix::fs::memfd_create("hearth-heritage", rustix::fs::MemfdFlags::CLOEXEC).map_err(io::Error::from)?,
        );
        file.write_all(&serde_json::to_vec(&note)?)?;
        let doors = self.doors.iter().map(|door| door.listener.as_fd());
        let cells = self.cells.iter().map(|(_, socket)| socket.as_fd());
        let all: Vec<BorrowedFd<'_>> = [file.as_fd()].into_iter().chain(doors).chain(cells).collect();
        let (here, there) = UnixStream::pair()?;
        passing::send(&here, &all)?;
        Ok(there)
    }
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
