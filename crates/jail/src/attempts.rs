//! Things that a jailed process must not be able to do, tried. For `hearth jail-probe`, whose answers the tests of
//! `docs/guide/security.md` are made of; and some that it must be able to do, so that a jail in which nothing works is no success.
//!
//! The calls have arguments that would change nothing if they were let through: numbers and pointers that the kernel takes
//! exception to, once it comes to look at them. So "refused" means that it did not even look.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::{Path, PathBuf};

use crate::seccomp::UnixSockets;

/// What is tried, beside what needs nobody: others' files, sockets and processes.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Files that must not be read, and files and folders that must not be written to.
    pub unreadable: Vec<PathBuf>,
    pub unwritable: Vec<PathBuf>,
    /// A file that must be readable.
    pub readable: PathBuf,
    /// A process of the same user, outside.
    pub process: u32,
    /// The name of an abstract socket that somebody outside listens on.
    pub socket: String,
    /// Where somebody outside listens who may be connected to.
    pub address: SocketAddr,
    /// A socket in the file system, and whether it may be connected to.
    pub door: PathBuf,
    pub doors: UnixSockets,
}

#[derive(Clone, Debug)]
pub struct Attempt {
    pub what: String,
    pub wanted: Wanted,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Refused,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// There is no permission.
    Refused(String),
    /// It was let through, and came to nothing for another reason.
    Failed(String),
}

/// A system call by name, and its arguments.
type Call = (&'static str, libc::c_long, [libc::c_long; 5]);

const NOBODY: libc::c_long = -1;
/// No flags, options or commands are that.
const NONSENSE: libc::c_long = 0x7fff_fff0;

/// A namespace of one's own, and one's parent's folders: the kernel makes no such thing.
const CONTRADICTION: libc::c_long = (libc::CLONE_NEWUSER | libc::CLONE_FS) as libc::c_long;

/// Tries everything.
pub fn all(targets: &Targets) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let mut must_not = |what: String, done: io::Result<()>| {
        attempts.push(Attempt { what, wanted: Wanted::Refused, outcome: Outcome::of(done) });
    };
    for (what, number, arguments) in calls(targets.process) {
        must_not(what.to_owned(), call(number, arguments));
    }
    for (what, family, kind) in SOCKETS {
        must_not(format!("socket: {what}"), call(libc::SYS_socket, [(*family).into(), (*kind).into(), 0, 0, 0]));
    }
    must_not("fork".to_owned(), fork());
    must_not("listen on a port".to_owned(), TcpListener::bind("127.0.0.1:0").map(drop));
    let named = UnixAddress::from_abstract_name(&targets.socket).and_then(|name| UnixStream::connect_addr(&name));
    must_not("connect to an abstract socket".to_owned(), named.map(drop));
    for path in &targets.unreadable {
        must_not(format!("read {}", path.display()), File::open(path).map(drop));
    }
    for path in &targets.unwritable {
        must_not(format!("write {}", path.display()), write(path));
    }
    let mut must = |what: &str, done: io::Result<()>| {
        attempts.push(Attempt { what: what.to_owned(), wanted: Wanted::Done, outcome: Outcome::of(done) });
    };
    must("read the app's files", fs::read(&targets.readable).map(drop));
    must("read its own status", fs::read("/proc/self/status").map(drop));
    must("connect to an address", TcpStream::connect(targets.address).map(drop));
    must("look up a name", ("localhost", 80).to_socket_addrs().map(drop));
    must("start a thread", std::thread::Builder::new().spawn(|| ()).map(drop));
    attempts.push(Attempt {
        what: "connect to a socket in the file system".to_owned(),
        wanted: match targets.doors {
            UnixSockets::Allowed => Wanted::Done,
            UnixSockets::Forbidden => Wanted::Refused,
        },
        outcome: Outcome::of(UnixStream::connect(&targets.door).map(drop)),
    });
    attempts
}

const SOCKETS: &[(&str, libc::c_int, libc::c_int)] = &[
    ("raw IPv4", libc::AF_INET, libc::SOCK_RAW),
    ("raw IPv6", libc::AF_INET6, libc::SOCK_RAW),
    ("packets", libc::AF_PACKET, libc::SOCK_RAW),
    ("netlink", libc::AF_NETLINK, libc::SOCK_RAW),
    ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM),
    ("the kernel's ciphers", libc::AF_ALG, libc::SOCK_SEQPACKET),
    ("bluetooth", libc::AF_BLUETOOTH, libc::SOCK_STREAM),
    ("key management", libc::AF_KEY, libc::SOCK_RAW),
];

#[rustfmt::skip]
fn calls(process: u32) -> Vec<Call> {
    let process = libc::c_long::from(process);
    vec![
        ("execve", libc::SYS_execve, [0; 5]),
        ("execveat", libc::SYS_execveat, [NOBODY, 0, 0, 0, 0]),
        ("a process in a namespace of its own", libc::SYS_clone, [CONTRADICTION, 0, 0, 0, 0]),
        ("unshare", libc::SYS_unshare, [NONSENSE, 0, 0, 0, 0]),
        ("setns", libc::SYS_setns, [NOBODY, 0, 0, 0, 0]),
        ("chroot", libc::SYS_chroot, [0; 5]),
        ("mount", libc::SYS_mount, [0; 5]),
        ("umount", libc::SYS_umount2, [0, NONSENSE, 0, 0, 0]),
        ("pivot_root", libc::SYS_pivot_root, [0; 5]),
        ("fsopen", libc::SYS_fsopen, [0, NONSENSE, 0, 0, 0]),
        ("move_mount", libc::SYS_move_mount, [NOBODY, 0, NOBODY, 0, NONSENSE]),
        ("open_tree", libc::SYS_open_tree, [NOBODY, 0, NONSENSE, 0, 0]),
        ("ptrace", libc::SYS_ptrace, [libc::PTRACE_ATTACH.into(), NOBODY, 0, 0, 0]),
        ("read another process's memory", libc::SYS_process_vm_readv, [process, 0, 0, 0, 0]),
        ("write another process's memory", libc::SYS_process_vm_writev, [process, 0, 0, 0, 0]),
        ("take another process's descriptor", libc::SYS_pidfd_getfd, [NOBODY, 0, 0, 0, 0]),
        ("signal another process", libc::SYS_kill, [process, 0, 0, 0, 0]),
        ("signal another process's thread", libc::SYS_tgkill, [process, process, 0, 0, 0]),
        ("signal a process by descriptor", libc::SYS_pidfd_send_signal, [NOBODY, 0, 0, 0, 0]),
        ("have another process sent signals", libc::SYS_fcntl, [NOBODY, libc::F_SETOWN.into(), process, 0, 0]),
        ("limit another process", libc::SYS_prlimit64, [process, 0, 0, 0, 0]),
        ("slow another process down", libc::SYS_setpriority, [0, process, 0, 0, 0]),
        ("bpf", libc::SYS_bpf, [NONSENSE, 0, 0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0, 0, NONSENSE]),
        ("userfaultfd", libc::SYS_userfaultfd, [NONSENSE, 0, 0, 0, 0]),
        ("io_uring", libc::SYS_io_uring_setup, [0; 5]),
        ("keyctl", libc::SYS_keyctl, [NONSENSE, 0, 0, 0, 0]),
        ("add_key", libc::SYS_add_key, [0; 5]),
        ("request_key", libc::SYS_request_key, [0; 5]),
        ("init_module", libc::SYS_init_module, [0; 5]),
        ("finit_module", libc::SYS_finit_module, [NOBODY, 0, NONSENSE, 0, 0]),
        ("delete_module", libc::SYS_delete_module, [0; 5]),
        ("kexec_load", libc::SYS_kexec_load, [0, NONSENSE, 0, NONSENSE, 0]),
        ("reboot", libc::SYS_reboot, [0; 5]),
        ("swapon", libc::SYS_swapon, [0, NONSENSE, 0, 0, 0]),
        ("sethostname", libc::SYS_sethostname, [0, NOBODY, 0, 0, 0]),
        ("set the clock", libc::SYS_clock_settime, [NONSENSE, 0, 0, 0, 0]),
        ("the kernel's log", libc::SYS_syslog, [NONSENSE, 0, 0, 0, 0]),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, [NOBODY, 0, 0, 0, 0]),
        ("fanotify", libc::SYS_fanotify_init, [NONSENSE, 0, 0, 0, 0]),
        ("become another user", libc::SYS_setuid, [NOBODY, 0, 0, 0, 0]),
        ("take capabilities", libc::SYS_capset, [0; 5]),
        ("raise a limit", libc::SYS_prlimit64, [0, NONSENSE, NOBODY, 0, 0]),
        ("be looked at again", libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0, 0, 0]),
        ("make a device", libc::SYS_mknodat, [NOBODY, 0, 0, 0, 0]),
        ("link a file", libc::SYS_linkat, [NOBODY, 0, NOBODY, 0, NONSENSE]),
        ("remove a file", libc::SYS_unlinkat, [NOBODY, 0, NONSENSE, 0, 0]),
        ("rename a file", libc::SYS_renameat2, [NOBODY, 0, NOBODY, 0, NONSENSE]),
        ("change a file's mode", libc::SYS_fchmodat, [NOBODY, 0, 0, 0, 0]),
    ]
}

fn call(number: libc::c_long, [a, b, c, d, e]: [libc::c_long; 5]) -> io::Result<()> {
    // SAFETY: the calls above are given null pointers or pointers that lead nowhere, which the kernel answers with an
    // error: it neither reads nor writes memory of ours.
    let done = unsafe { libc::syscall(number, a, b, c, d, e) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Nothing is there afterwards that was not there before, and nothing is lost.
fn write(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        return File::options().append(true).open(path).map(drop);
    }
    let made = path.join(format!("made-by-a-probe-{}", std::process::id()));
    File::create_new(&made)?;
    fs::remove_file(made)
}

fn fork() -> io::Result<()> {
    // SAFETY: the child does nothing but end, without running anything of this process's.
    let child = unsafe { libc::fork() };
    match child {
        0 => {
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(0) }
        }
        failed if failed < 0 => Err(io::Error::last_os_error()),
        child => {
            // SAFETY: waits for our own child; a null pointer means that its status is not wanted.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            Ok(())
        }
    }
}

// === impl Outcome ===

impl Outcome {
    fn of(done: io::Result<()>) -> Self {
        match done {
            Ok(()) => Outcome::Done,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Outcome::Refused(error.to_string()),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }
}
