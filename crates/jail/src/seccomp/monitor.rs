//! What a virtual machine's monitor may ask of the kernel: what a sandbox's programs may, as far as one process alone has use
//! for it. It starts threads and no processes, makes Unix sockets and no others, changes no file's owner, mode or name.
//! That it may start programs is for its own beginning: the filter is entered before. Landlock says which: itself.

use libc::*;

use super::program::{Check, Half, Must, Rules, Verdict};
use super::{MemoryLimit, family, sandbox, stream_or_datagram};

const THREAD: u32 = (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD) as u32;
const NAMESPACES: u32 =
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) as u32;

pub(super) fn rules() -> Rules {
    let Rules { first, mut rules } = sandbox::rules(MemoryLimit::Group);
    rules.retain(|(call, _)| !WITHOUT.contains(call) && !OLD_WITHOUT.contains(call));
    let thread = Check { argument: 0, half: Half::Lower, mask: THREAD | NAMESPACES, must: Must::BeOneOf(vec![THREAD]) };
    rules.extend([
        (SYS_clone, Verdict::Where(vec![thread])),
        (SYS_socket, Verdict::Where(vec![family(&[AF_UNIX]), stream_or_datagram()])),
    ]);
    Rules { first, rules }
}

#[rustfmt::skip]
const WITHOUT: &[c_long] = &[
    // Given other rules above.
    SYS_clone, SYS_socket,
    // Other processes, other users.
    SYS_execveat, SYS_wait4, SYS_waitid, SYS_kill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open,
    SYS_pidfd_send_signal, SYS_setpgid, SYS_setsid, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
    SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capset, SYS_personality,
    // What is said between them.
    SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semctl, SYS_semtimedop, SYS_msgget,
    SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive,
    SYS_mq_notify, SYS_mq_getsetattr,
    // Files that are more than read and written.
    SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_renameat2, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_inotify_init1,
    SYS_inotify_add_watch, SYS_inotify_rm_watch, SYS_vmsplice, SYS_mlockall,
];

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLD_WITHOUT: &[c_long] = &[
    SYS_fork, SYS_vfork, SYS_mknod, SYS_link, SYS_symlink, SYS_rename, SYS_renameat, SYS_chown, SYS_lchown, SYS_chmod,
    SYS_utime, SYS_utimes, SYS_futimesat, SYS_inotify_init,
];

/// `renameat`.
#[cfg(target_arch = "aarch64")]
const OLD_WITHOUT: &[c_long] = &[38];
