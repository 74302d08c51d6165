//! Landlock: restricts which files, ports, and other processes' sockets and signals a process can
//! reach. What is not allowed is forbidden from [`Ruleset::enter`] on, for the calling thread and
//! all that it starts.
//!
//! ```text
//! Ruleset::new (asks the kernel what it can hold) -> allow … -> enter
//! ```
//! A ruleset is made beforehand and entered later, possibly after a fork: `enter` allocates
//! nothing. Files that are open already stay usable. Rules apply to files, not names: a file that
//! replaces another of the same name is not covered; one that appears in a covered folder is.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
/// Linking and renaming between folders.
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// All of the first version.
const V1_FILE_RIGHTS: u64 = (1 << 13) - 1;
/// What a rule for a file, not a folder, may name.
const FILE_ONLY_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const BIND_TCP: u64 = 1 << 0;
const CONNECT_TCP: u64 = 1 << 1;

const SCOPE_ABSTRACT_SOCKETS: u64 = 1 << 0;
const SCOPE_SIGNALS: u64 = 1 << 1;

const PATH_BENEATH: libc::c_int = 1;
const QUERY_VERSION: libc::c_uint = 1;

#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: libc::c_int,
}

/// The version of Landlock that the kernel has: 1 (Linux 5.13) holds files, 2 also links between folders, 3 truncation,
/// 4 (6.7) TCP, 5 devices, 6 (6.12) signals and abstract sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Abi(pub u32);

/// What may be done to a file, or to a folder and all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    Read,
    /// Read, and start programs from.
    ReadExecute,
    /// Read and write, make and remove; not device nodes.
    ReadWrite,
    /// The same, and start programs from.
    All,
}

/// What there is beside files that can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpAccess {
    /// As before.
    Unrestricted,
    /// No ports can be listened on.
    NoBind,
    /// Nor connected to.
    NoBindOrConnect,
}

#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    #[error("Landlock is not there: {0}")]
    Missing(#[source] io::Error),
    #[error("a Landlock ruleset cannot be made: {0}")]
    Make(#[source] io::Error),
    #[error("{path} cannot be allowed: {error}", path = .path.display())]
    Allow {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("the Landlock ruleset cannot be entered: {0}")]
    Enter(#[source] io::Error),
}

/// Made, and not yet entered. Descriptors of its own are closed on exec.
#[derive(Debug)]
pub struct Ruleset {
    ruleset: OwnedFd,
    files: u64,
    abi: Abi,
}

/// Refers to a file or folder, links followed, without opening it.
pub fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name is a string that ends in a zero and lives to the end of the call.
    let fd = unsafe { libc::open(name.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened above and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

// === impl Abi ===

impl Abi {
    /// What the running kernel has; an error where it has none, or it was turned off.
    pub fn detect() -> Result<Self, LandlockError> {
        let nothing: *const RulesetAttributes = std::ptr::null();
        // SAFETY: with this flag the call takes a null pointer and a zero size, and answers with a number.
        let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, QUERY_VERSION) };
        match u32::try_from(answer) {
            Ok(version) => Ok(Self(version)),
            Err(_) => Err(LandlockError::Missing(io::Error::last_os_error())),
        }
    }

    fn files(self) -> u64 {
        let mut files = V1_FILE_RIGHTS;
        for (since, right) in [(2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)] {
            if self.0 >= since {
                files |= right;
            }
        }
        files
    }

    /// Whether TCP ports can be held.
    pub fn supports_tcp(self) -> bool {
        self.0 >= 4
    }

    /// Whether signals to, and abstract sockets of, processes outside can be held.
    pub fn supports_scopes(self) -> bool {
        self.0 >= 6
    }
}

// === impl Ruleset ===

impl Ruleset {
    /// Holds all that this kernel can: every access to files, `tcp`, and, where it can be, signals and abstract sockets of
    /// processes that have not entered the same ruleset.
    pub fn new(tcp: TcpAccess) -> Result<Self, LandlockError> {
        let abi = Abi::detect()?;
        let files = abi.files();
        let network = match tcp {
            TcpAccess::Unrestricted => 0,
            TcpAccess::NoBind => BIND_TCP,
            TcpAccess::NoBindOrConnect => BIND_TCP | CONNECT_TCP,
        };
        let attributes = RulesetAttributes {
            files,
            network: if abi.supports_tcp() { network } else { 0 },
            scoped: if abi.supports_scopes() { SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS } else { 0 },
        };
        // An older kernel takes a longer structure if what it does not know is zero.
        let size = size_of::<RulesetAttributes>();
        // SAFETY: the call reads `size` bytes of the attributes, which live to its end.
        let made = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0) };
        match libc::c_int::try_from(made) {
            // SAFETY: the number is a descriptor that the kernel has just made; it has no other
            // owner.
            Ok(fd) if fd >= 0 => Ok(Self { ruleset: unsafe { OwnedFd::from_raw_fd(fd) }, files, abi }),
            _ => Err(LandlockError::Make(io::Error::last_os_error())),
        }
    }

    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// Allows a file, or a folder and all that is or will be below it. Symbolic links in `path` are followed now.
    pub fn allow(&mut self, path: &Path, access: PathAccess) -> Result<(), LandlockError> {
        let failed = |error| LandlockError::Allow { path: path.to_owned(), error };
        let parent = open_path(path).map_err(failed)?;
        self.allow_beneath(&parent, access).map_err(failed)
    }

    /// The same, of an open file or folder.
    pub fn allow_beneath(&mut self, parent: &OwnedFd, access: PathAccess) -> io::Result<()> {
        let is_folder = std::fs::File::from(parent.try_clone()?).metadata()?.is_dir();
        let kind = if is_folder { u64::MAX } else { FILE_ONLY_RIGHTS };
        let rule = PathBeneath { allowed: access.rights() & self.files & kind, parent: parent.as_raw_fd() };
        let ruleset = self.ruleset.as_raw_fd();
        // SAFETY: the call reads one rule, which lives to its end; both descriptors are open.
        let done = unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, PATH_BENEATH, &raw const rule, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// From now on this thread, and all that it starts, may do only what was allowed. There is no way back. Needs
    /// [`crate::privileges::forbid_new_privileges`] before.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the call takes two numbers; the descriptor is open.
        let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.ruleset.as_raw_fd(), 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

// === impl PathAccess ===

impl PathAccess {
    fn rights(self) -> u64 {
        let read = READ_FILE | READ_DIR;
        let make = MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM;
        let write = WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | REFER | make;
        match self {
            PathAccess::Read => read,
            PathAccess::ReadExecute => read | EXECUTE,
            PathAccess::ReadWrite => read | write,
            PathAccess::All => read | write | EXECUTE | IOCTL_DEV | MAKE_CHAR | MAKE_BLOCK,
        }
    }
}

#[cfg(test)]
#[path = "landlock/tests.rs"]
mod tests;
