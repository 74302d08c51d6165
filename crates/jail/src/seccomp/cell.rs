//! What a cell may ask of the kernel, found by watching cells under all kinds of load: memory (V8 maps, protects and gives
//! back all the time, and compiles), threads but no processes, sockets to clients and to where apps fetch from, files that
//! are read. Nothing starts a program, listens anew, or changes what this or another process is.

use libc::*;

use super::program::{Check, Half, Must, Rules, Verdict};
use super::{UnixSockets, all, family, is, null, stream_or_datagram};

/// A thread of this process, and nothing else that `clone` can make.
const THREAD: u32 = (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD) as u32;
const NAMESPACES: u32 =
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) as u32;

/// Names of threads and of mappings, how large pages are used, how exact timers are; which signal the process gets when its
/// parent ends.
const PRCTL: &[c_int] = &[
    PR_SET_NAME,
    PR_GET_NAME,
    PR_SET_VMA,
    PR_SET_THP_DISABLE,
    PR_GET_THP_DISABLE,
    PR_SET_TIMERSLACK,
    PR_GET_DUMPABLE,
    PR_SET_PDEATHSIG,
];

/// Copies and flags of descriptors; not the owner of their signals.
const FCNTL: &[c_int] = &[F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL];

pub(super) fn rules(process: u32, sockets: UnixSockets) -> Rules {
    let first = vec![FIRST_WAIT, SYS_read, SYS_write, SYS_recvfrom, SYS_sendto, SYS_writev, SYS_futex, SYS_madvise];
    let mut rules: Vec<(c_long, Verdict)> = all(FILES)
        .chain(all(MEMORY))
        .chain(all(THREADS))
        .chain(all(NETWORK))
        .chain(all(WAITING))
        .chain(all(OF_THIS_MACHINE))
        .collect();
    let families = match sockets {
        UnixSockets::Allowed => &[AF_INET, AF_INET6, AF_UNIX][..],
        UnixSockets::Forbidden => &[AF_INET, AF_INET6],
    };
    let options: Vec<u32> = PRCTL.iter().map(|option| *option as u32).collect();
    let commands: Vec<u32> = FCNTL.iter().map(|command| *command as u32).collect();
    let thread = Check { argument: 0, half: Half::Lower, mask: THREAD | NAMESPACES, must: Must::BeOneOf(vec![THREAD]) };
    rules.extend([
        (SYS_clone, Verdict::Where(vec![thread])),
        // Refused by a filter of its own, since its arguments cannot be inspected; a caller that
        // gets ENOSYS uses `clone`.
        (SYS_clone3, Verdict::Allow),
        (SYS_socket, Verdict::Where(vec![family(families), stream_or_datagram()])),
        (SYS_socketpair, Verdict::Where(vec![family(&[AF_UNIX])])),
        (SYS_prctl, Verdict::Where(vec![is(0, &options)])),
        // To its own threads: an abort is a signal that a thread sends itself.
        (SYS_tgkill, Verdict::Where(vec![is(0, &[process])])),
        // How urgent the calling thread is, and no other: others of the same user's could be slowed down.
        (SYS_setpriority, Verdict::Where(vec![is(0, &[PRIO_PROCESS]), is(1, &[0])])),
        (SYS_sched_setattr, Verdict::Where(vec![is(0, &[0])])),
        // And which core it is on.
        (SYS_sched_setaffinity, Verdict::Where(vec![is(0, &[0])])),
        // What is there can be asked for, of this process; nothing can be set.
        (SYS_prlimit64, Verdict::Where([vec![is(0, &[0, process])], null(2).into()].concat())),
        (SYS_fcntl, Verdict::Where(vec![is(1, &commands)])),
        (SYS_ioctl, Verdict::Where(vec![is(1, &[FIONBIO as u32, FIONREAD as u32, FIOCLEX as u32, TCGETS as u32])])),
    ]);
    Rules { first, rules }
}

/// Read, not written: what may be opened is Landlock's business, and writing goes to sockets and pipes.
#[rustfmt::skip]
const FILES: &[c_long] = &[
    SYS_openat, SYS_openat2, SYS_close, SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_write, SYS_writev, SYS_lseek,
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_faccessat2, SYS_getdents64,
    SYS_getcwd, SYS_readlinkat, SYS_dup, SYS_dup3, SYS_pipe2, SYS_fadvise64, SYS_sendfile, SYS_splice,
    SYS_memfd_create, SYS_ftruncate, SYS_close_range,
];

#[rustfmt::skip]
const MEMORY: &[c_long] = &[
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_mincore, SYS_membarrier, SYS_pkey_alloc,
    SYS_pkey_free, SYS_pkey_mprotect, SYS_mseal, SYS_get_mempolicy,
];

#[rustfmt::skip]
const THREADS: &[c_long] = &[
    SYS_exit, SYS_exit_group, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending,
    SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_getrusage, SYS_getpriority, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_getattr,
    SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_getcpu, SYS_restart_syscall, SYS_futex, SYS_futex_waitv,
    SYS_capget,
];

/// Clients are taken from listeners that control opened: there is no `bind` and no `listen`.
#[rustfmt::skip]
const NETWORK: &[c_long] = &[
    SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt,
    SYS_shutdown, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg,
];

#[rustfmt::skip]
const WAITING: &[c_long] = &[
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_ppoll, SYS_pselect6, SYS_eventfd2,
    SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_times,
    SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_timer_create, SYS_timer_delete,
    SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_setitimer, SYS_getrandom, SYS_uname, SYS_sysinfo,
];

#[cfg(target_arch = "x86_64")]
const FIRST_WAIT: c_long = SYS_epoll_wait;
#[cfg(target_arch = "aarch64")]
const FIRST_WAIT: c_long = SYS_epoll_pwait;

/// Older ways to do the same.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OF_THIS_MACHINE: &[c_long] = &[
    SYS_epoll_wait, SYS_poll, SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_pipe, SYS_time,
    SYS_getrlimit, SYS_arch_prctl,
];

#[cfg(target_arch = "aarch64")]
const OF_THIS_MACHINE: &[c_long] = &[];
