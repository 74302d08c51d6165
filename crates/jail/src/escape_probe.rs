//! Escape probe: tries from inside a jail what a jailed process must not be able to do, for `hearth jail-probe` and the tests
//! that hold `docs/guide/security.md`. It also tries what must work, so that a jail in which nothing works does not pass.
//!
//! The arguments of the system calls change nothing if a call is let through: they are numbers and pointers that the kernel
//! rejects once it looks at them. So "refused" means that the call was stopped before that.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::{Path, PathBuf};

use crate::seccomp::UnixSockets;

/// Files, sockets and processes of other users that the probe tries to reach.
#[derive(Clone, Debug)]
pub struct ProbeTargets {
    /// Files that must not be read, and files and folders that must not be written to.
    pub unreadable: Vec<PathBuf>,
    pub unwritable: Vec<PathBuf>,
    /// A file that must be readable.
    pub readable: PathBuf,
    /// A process of the same user outside the jail.
    pub process: u32,
    /// The name of an abstract socket on which a process outside listens.
    pub socket: String,
    /// An address outside on which a process listens, and to which connecting is allowed.
    pub address: SocketAddr,
    /// A socket in the file system, and whether connecting to it is allowed.
    pub unix_socket: PathBuf,
    pub unix_sockets: UnixSockets,
}

#[derive(Clone, Debug)]
pub struct ProbeResult {
    pub what: String,
    pub expected: ProbeExpectation,
    pub outcome: ProbeOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeExpectation {
    Refused,
    Allowed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    Done,
    /// Refused for want of permission.
    Refused(String),
    /// Let through, and failed for another reason.
    Failed(String),
}

/// A system call by name, and its arguments.
type Call = (&'static str, libc::c_long, [libc::c_long; 5]);

const NO_SUCH: libc::c_long = -1;
/// Not a valid flag, option or command of any call.
const INVALID: libc::c_long = 0x7fff_fff0;

/// A new user namespace that shares the parent's file system state: the kernel rejects the combination.
const CONTRADICTORY_FLAGS: libc::c_long = (libc::CLONE_NEWUSER | libc::CLONE_FS) as libc::c_long;

/// Tries everything, and returns the outcome of each attempt.
pub fn run(targets: &ProbeTargets) -> Vec<ProbeResult> {
    let mut results = Vec::new();
    let mut must_not = |what: String, done: io::Result<()>| {
        results.push(ProbeResult {
            what,
            expected: ProbeExpectation::Refused,
            outcome: ProbeOutcome::from_result(done),
        });
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
        results.push(ProbeResult {
            what: what.to_owned(),
            expected: ProbeExpectation::Allowed,
            outcome: ProbeOutcome::from_result(done),
        });
    };
    must("read the app's files", fs::read(&targets.readable).map(drop));
    must("read its own status", fs::read("/proc/self/status").map(drop));
    must("connect to an address", TcpStream::connect(targets.address).map(drop));
    must("look up a name", ("localhost", 80).to_socket_addrs().map(drop));
    must("start a thread", std::thread::Builder::new().spawn(|| ()).map(drop));
    results.push(ProbeResult {
        what: "connect to a socket in the file system".to_owned(),
        expected: match targets.unix_sockets {
            UnixSockets::Allowed => ProbeExpectation::Allowed,
            UnixSockets::Forbidden => ProbeExpectation::Refused,
        },
        outcome: ProbeOutcome::from_result(UnixStream::connect(&targets.unix_socket).map(drop)),
    });
    results
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
        ("execveat", libc::SYS_execveat, [NO_SUCH, 0, 0, 0, 0]),
        ("a process in a namespace of its own", libc::SYS_clone, [CONTRADICTORY_FLAGS, 0, 0, 0, 0]),
        ("unshare", libc::SYS_unshare, [INVALID, 0, 0, 0, 0]),
        ("setns", libc::SYS_setns, [NO_SUCH, 0, 0, 0, 0]),
        ("chroot", libc::SYS_chroot, [0; 5]),
        ("mount", libc::SYS_mount, [0; 5]),
        ("umount", libc::SYS_umount2, [0, INVALID, 0, 0, 0]),
        ("pivot_root", libc::SYS_pivot_root, [0; 5]),
        ("fsopen", libc::SYS_fsopen, [0, INVALID, 0, 0, 0]),
        ("move_mount", libc::SYS_move_mount, [NO_SUCH, 0, NO_SUCH, 0, INVALID]),
        ("open_tree", libc::SYS_open_tree, [NO_SUCH, 0, INVALID, 0, 0]),
        ("ptrace", libc::SYS_ptrace, [libc::PTRACE_ATTACH.into(), NO_SUCH, 0, 0, 0]),
        ("read another process's memory", libc::SYS_process_vm_readv, [process, 0, 0, 0, 0]),
        ("write another process's memory", libc::SYS_process_vm_writev, [process, 0, 0, 0, 0]),
        ("take another process's descriptor", libc::SYS_pidfd_getfd, [NO_SUCH, 0, 0, 0, 0]),
        ("signal another process", libc::SYS_kill, [process, 0, 0, 0, 0]),
        ("signal another process's thread", libc::SYS_tgkill, [process, process, 0, 0, 0]),
        ("signal a process by descriptor", libc::SYS_pidfd_send_signal, [NO_SUCH, 0, 0, 0, 0]),
        ("have another process sent signals", libc::SYS_fcntl, [NO_SUCH, libc::F_SETOWN.into(), process, 0, 0]),
        ("limit another process", libc::SYS_prlimit64, [process, 0, 0, 0, 0]),
        ("slow another process down", libc::SYS_setpriority, [0, process, 0, 0, 0]),
        ("bpf", libc::SYS_bpf, [INVALID, 0, 0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0, 0, INVALID]),
        ("userfaultfd", libc::SYS_userfaultfd, [INVALID, 0, 0, 0, 0]),
        ("io_uring", libc::SYS_io_uring_setup, [0; 5]),
        ("keyctl", libc::SYS_keyctl, [INVALID, 0, 0, 0, 0]),
        ("add_key", libc::SYS_add_key, [0; 5]),
        ("request_key", libc::SYS_request_key, [0; 5]),
        ("init_module", libc::SYS_init_module, [0; 5]),
        ("finit_module", libc::SYS_finit_module, [NO_SUCH, 0, INVALID, 0, 0]),
        ("delete_module", libc::SYS_delete_module, [0; 5]),
        ("kexec_load", libc::SYS_kexec_load, [0, INVALID, 0, INVALID, 0]),
        ("reboot", libc::SYS_reboot, [0; 5]),
        ("swapon", libc::SYS_swapon, [0, INVALID, 0, 0, 0]),
        ("sethostname", libc::SYS_sethostname, [0, NO_SUCH, 0, 0, 0]),
        ("set the clock", libc::SYS_clock_settime, [INVALID, 0, 0, 0, 0]),
        ("the kernel's log", libc::SYS_syslog, [INVALID, 0, 0, 0, 0]),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, [NO_SUCH, 0, 0, 0, 0]),
        ("fanotify", libc::SYS_fanotify_init, [INVALID, 0, 0, 0, 0]),
        ("become another user", libc::SYS_setuid, [NO_SUCH, 0, 0, 0, 0]),
        ("take capabilities", libc::SYS_capset, [0; 5]),
        ("raise a limit", libc::SYS_prlimit64, [0, INVALID, NO_SUCH, 0, 0]),
        ("be looked at again", libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0, 0, 0]),
        ("make a device", libc::SYS_mknodat, [NO_SUCH, 0, 0, 0, 0]),
        ("link a file", libc::SYS_linkat, [NO_SUCH, 0, NO_SUCH, 0, INVALID]),
        ("remove a file", libc::SYS_unlinkat, [NO_SUCH, 0, INVALID, 0, 0]),
        ("rename a file", libc::SYS_renameat2, [NO_SUCH, 0, NO_SUCH, 0, INVALID]),
        ("change a file's mode", libc::SYS_fchmodat, [NO_SUCH, 0, 0, 0, 0]),
    ]
}

fn call(number: libc::c_long, [a, b, c, d, e]: [libc::c_long; 5]) -> io::Result<()> {
    // SAFETY: the calls above are given null pointers or pointers that lead nowhere, which the kernel answers with an
    // error: it neither reads nor writes memory of ours.
    let done = unsafe { libc::syscall(number, a, b, c, d, e) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Tries to write, and leaves everything as it was.
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

// === impl ProbeOutcome ===

impl ProbeOutcome {
    fn from_result(done: io::Result<()>) -> Self {
        match done {
            Ok(()) => ProbeOutcome::Done,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ProbeOutcome::Refused(error.to_string()),
            Err(error) => ProbeOutcome::Failed(error.to_string()),
        }
    }
}
