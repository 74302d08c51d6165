//! What a sandbox may ask of the kernel: enough for interpreters, compilers, package managers and shells. Left out is what
//! programs do not need and attackers of the kernel do: namespaces and mounts, tracing and other processes' memory, keys,
//! BPF, performance counters, io_uring, userfaultfd, handles to files, modules, clocks, swap, quotas, the kernel's log.

use libc::*;

use super::program::{Check, Half, Must, Rules, Verdict};
use super::{MemoryLimit, all, family, is, stream_or_datagram};

/// That a new process gets no namespace of its own. The bits are those of `clone`; that of `CLONE_NEWTIME` is part of the
/// signal's number there.
const NAMESPACES: u32 =
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) as u32;

pub(super) fn rules(limit: MemoryLimit) -> Rules {
    let mut first = vec![SYS_read, SYS_write, SYS_futex, SYS_close, SYS_mmap, SYS_openat, SYS_epoll_pwait];
    let mut rules: Vec<(c_long, Verdict)> = all(FILES)
        .chain(all(MEMORY))
        .chain(all(PROCESSES))
        .chain(all(NETWORK))
        .chain(all(WAITING))
        .chain(all(TIME))
        .chain(all(BETWEEN_PROCESSES))
        .chain(all(OF_THIS_MACHINE))
        .collect();
    let no_namespaces = Check { argument: 0, half: Half::Lower, mask: NAMESPACES, must: Must::BeOneOf(vec![0]) };
    // Input injected into a terminal.
    let no_typing =
        Check { argument: 1, half: Half::Lower, mask: u32::MAX, must: Must::BeNoneOf(vec![TIOCSTI as u32, 0x541c]) };
    rules.extend([
        (SYS_clone, Verdict::Where(vec![no_namespaces])),
        (SYS_clone3, Verdict::Refuse(ENOSYS)),
        (SYS_ioctl, Verdict::Where(vec![no_typing])),
        (SYS_socketpair, Verdict::Where(vec![family(&[AF_UNIX])])),
        // Linux, Linux without randomised addresses (debuggers want that), and asking which it is.
        (SYS_personality, Verdict::Where(vec![is(0, &[0, 0x0004_0000, u32::MAX])])),
        // Programs try it and know what to do without.
        (SYS_io_uring_setup, Verdict::Refuse(ENOSYS)),
    ]);
    rules.push((SYS_socket, Verdict::Where(vec![family(&[AF_UNIX, AF_INET, AF_INET6]), stream_or_datagram()])));
    if limit == MemoryLimit::Process {
        first.retain(|call| *call != SYS_mmap);
        rules.retain(|(call, _)| !UNCOUNTED.contains(call));
        rules.extend(counted());
    }
    Rules { first, rules }
}

/// Where the limit of each process is all that holds memory, nothing may get any that is counted for no process: memory
/// that is shared and nameless, segments and queues of System V, buffers of sockets beyond their ordinary size.
fn counted() -> impl Iterator<Item = (c_long, Verdict)> {
    let shared = (MAP_SHARED | MAP_ANONYMOUS) as u32;
    let no_shared = Check { argument: 3, half: Half::Lower, mask: shared, must: Must::BeNoneOf(vec![shared]) };
    let sizes = [SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE].map(|option| option as u32).to_vec();
    let no_sizes = Check { argument: 2, half: Half::Lower, mask: u32::MAX, must: Must::BeNoneOf(sizes) };
    let refused = [SYS_memfd_create, SYS_shmget, SYS_msgget].map(|call| (call, Verdict::Refuse(ENOSYS)));
    let checked = [(SYS_mmap, Verdict::Where(vec![no_shared])), (SYS_setsockopt, Verdict::Where(vec![no_sizes]))];
    refused.into_iter().chain(checked)
}

/// What [`counted`] gives other rules.
const UNCOUNTED: [c_long; 5] = [SYS_memfd_create, SYS_shmget, SYS_msgget, SYS_mmap, SYS_setsockopt];

#[rustfmt::skip]
const FILES: &[c_long] = &[
    SYS_openat, SYS_openat2, SYS_close, SYS_close_range, SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_preadv2,
    SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_lseek, SYS_sendfile, SYS_splice, SYS_tee,
    SYS_vmsplice, SYS_copy_file_range, SYS_ftruncate, SYS_truncate, SYS_fallocate, SYS_fadvise64, SYS_readahead,
    SYS_sync, SYS_syncfs, SYS_fsync, SYS_fdatasync, SYS_fstat, SYS_newfstatat, SYS_statx,
    SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_faccessat2, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir,
    SYS_mkdirat, SYS_mknodat, SYS_unlinkat, SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_renameat2,
    SYS_fchmod, SYS_fchmodat, FCHMODAT_2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_umask, SYS_dup, SYS_dup3,
    SYS_pipe2, SYS_fcntl, SYS_flock, SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch,
    SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_listxattr,
    SYS_llistxattr, SYS_flistxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, CACHESTAT,
    SYS_memfd_create, SYS_io_setup, SYS_io_destroy, SYS_io_submit, SYS_io_cancel, SYS_io_getevents,
];

#[rustfmt::skip]
const MEMORY: &[c_long] = &[
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_mincore, SYS_msync, SYS_mlock, SYS_mlock2,
    SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_membarrier, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
    SYS_mseal, SYS_get_mempolicy,
];

#[rustfmt::skip]
const PROCESSES: &[c_long] = &[
    SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_kill, SYS_tkill, SYS_tgkill,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigpending, SYS_rt_sigtimedwait,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_sigaltstack, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_getpid,
    SYS_getppid, SYS_gettid, SYS_getpgid, SYS_setpgid, SYS_getsid, SYS_setsid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid,
    SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capget, SYS_capset, SYS_prctl,
    SYS_prlimit64, SYS_getrusage, SYS_getpriority, SYS_setpriority, SYS_ioprio_get,
    SYS_ioprio_set, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam,
    SYS_sched_setparam, SYS_sched_getscheduler, SYS_sched_setscheduler, SYS_sched_get_priority_max,
    SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_sched_getattr, SYS_sched_setattr, SYS_set_tid_address,
    SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_getcpu, SYS_restart_syscall, SYS_seccomp,
    SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self,
];

#[rustfmt::skip]
const NETWORK: &[c_long] = &[
    SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname, SYS_getpeername, SYS_getsockopt,
    SYS_setsockopt, SYS_shutdown, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg,
];

#[rustfmt::skip]
const WAITING: &[c_long] = &[
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_ppoll, SYS_pselect6, SYS_eventfd2,
    SYS_signalfd4, SYS_futex, SYS_futex_waitv, FUTEX_WAKE_2, FUTEX_WAIT_2, FUTEX_REQUEUE_2,
];

#[rustfmt::skip]
const TIME: &[c_long] = &[
    SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_times,
    SYS_getitimer, SYS_setitimer, SYS_timer_create, SYS_timer_delete, SYS_timer_gettime, SYS_timer_settime,
    SYS_timer_getoverrun, SYS_timerfd_create, SYS_timerfd_gettime, SYS_timerfd_settime, SYS_getrandom, SYS_uname,
    SYS_sysinfo,
];

/// In a namespace of their own.
#[rustfmt::skip]
const BETWEEN_PROCESSES: &[c_long] = &[
    SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semctl, SYS_semtimedop, SYS_msgget,
    SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive,
    SYS_mq_notify, SYS_mq_getsetattr,
];

const CACHESTAT: c_long = 451;
const FCHMODAT_2: c_long = 452;
const FUTEX_WAKE_2: c_long = 454;
const FUTEX_WAIT_2: c_long = 455;
const FUTEX_REQUEUE_2: c_long = 456;

/// Older ways to do the same, which newer machines never had.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OF_THIS_MACHINE: &[c_long] = &[
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_getdents, SYS_mkdir, SYS_mknod, SYS_rmdir, SYS_unlink,
    SYS_link, SYS_symlink, SYS_readlink, SYS_rename, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes,
    SYS_futimesat, SYS_dup2, SYS_pipe, SYS_inotify_init, SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait,
    SYS_eventfd, SYS_signalfd, SYS_fork, SYS_vfork, SYS_getpgrp, SYS_pause, SYS_alarm, SYS_time, SYS_arch_prctl,
    SYS_get_thread_area, SYS_set_thread_area, SYS_sync_file_range, SYS_renameat, SYS_getrlimit, SYS_setrlimit,
    MAP_SHADOW_STACK,
];

#[cfg(target_arch = "x86_64")]
const MAP_SHADOW_STACK: c_long = 453;

/// `renameat`, `sync_file_range`, `getrlimit` and `setrlimit`, which `libc` has no names for here.
#[cfg(target_arch = "aarch64")]
const OF_THIS_MACHINE: &[c_long] = &[38, 84, 163, 164];
