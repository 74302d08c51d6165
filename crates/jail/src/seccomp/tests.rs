#![allow(clippy::unwrap_used)]

use std::io::ErrorKind::PermissionDenied;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;
use crate::privileges::forbid_new_privileges;

/// Runs on a thread of its own, which is all that the filter holds.
fn inside(filter: Filter, what: impl FnOnce() + Send + 'static) {
    let confined = move || {
        forbid_new_privileges().unwrap();
        filter.enter().unwrap();
        what();
    };
    std::thread::spawn(confined).join().unwrap();
}

fn socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes three numbers. What it opens stays open, in a test that ends soon.
    if unsafe { libc::socket(family, kind, protocol) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn refused(family: libc::c_int, kind: libc::c_int) {
    assert_eq!(socket(family, kind, 0).unwrap_err().kind(), PermissionDenied, "{family} {kind}");
}

#[test]
fn the_kernel_has_filters() {
    assert!(is_supported());
}

#[test]
fn a_cell_reaches_the_network_starts_threads_and_starts_no_program() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    inside(Filter::for_cell(UnixSockets::Forbidden), move || {
        TcpStream::connect(address).unwrap();
        listener.accept().unwrap();
        std::thread::spawn(|| std::fs::read("/proc/self/status").unwrap()).join().unwrap();
        UnixStream::pair().unwrap();
        assert_eq!(TcpListener::bind("127.0.0.1:0").unwrap_err().kind(), PermissionDenied);
        assert_eq!(std::process::Command::new("/bin/true").spawn().unwrap_err().kind(), PermissionDenied);
        for family in [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET] {
            refused(family, libc::SOCK_STREAM);
        }
        refused(libc::AF_INET, libc::SOCK_RAW);
    });
}

#[test]
fn a_main_cell_may_connect_to_the_cells_of_cordons() {
    inside(Filter::for_cell(UnixSockets::Allowed), || socket(libc::AF_UNIX, libc::SOCK_STREAM, 0).unwrap());
}

#[test]
fn programs_run_in_a_sandbox_and_get_no_namespaces() {
    inside(Filter::for_sandbox(MemoryLimit::Group), || {
        let run = |program: &str| std::process::Command::new("/bin/sh").args(["-c", program]).output().unwrap();
        assert_eq!(run("echo hi | cat").stdout, b"hi\n");
        assert!(!run("exec unshare --user true").status.success());
        assert!(!run("exec unshare --mount true").status.success());
        for family in [libc::AF_NETLINK, libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET] {
            refused(family, libc::SOCK_DGRAM);
        }
        refused(libc::AF_INET, libc::SOCK_RAW);
        std::thread::spawn(|| ()).join().unwrap();
    });
}

#[test]
fn what_only_attackers_of_the_kernel_need_is_in_no_profile() {
    #[rustfmt::skip]
    let never = [
        libc::SYS_ptrace, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_unshare,
        libc::SYS_setns, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_keyctl,
        libc::SYS_add_key, libc::SYS_request_key, libc::SYS_init_module, libc::SYS_finit_module,
        libc::SYS_delete_module, libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_reboot, libc::SYS_swapon,
        libc::SYS_swapoff, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_syslog,
        libc::SYS_quotactl, libc::SYS_acct, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime,
        libc::SYS_adjtimex, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_pidfd_getfd, libc::SYS_kcmp,
        libc::SYS_fsopen, libc::SYS_fsmount, libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_mount_setattr,
        libc::SYS_fanotify_init, libc::SYS_vhangup, libc::SYS_nfsservctl, libc::SYS_lookup_dcookie,
        libc::SYS_move_pages, libc::SYS_migrate_pages, libc::SYS_process_madvise, libc::SYS_memfd_secret,
    ];
    let profiles = [
        cell::rules(1, UnixSockets::Allowed),
        sandbox::rules(MemoryLimit::Group),
        sandbox::rules(MemoryLimit::Process),
    ];
    for rules in &profiles {
        for call in never {
            assert!(rules.rules.iter().all(|(allowed, _)| *allowed != call), "{call}");
        }
    }
    let of_a_cell = profiles[0].rules.iter().map(|(call, _)| *call).collect::<Vec<_>>();
    for call in [libc::SYS_execve, libc::SYS_execveat, libc::SYS_kill, libc::SYS_bind, libc::SYS_listen] {
        assert!(!of_a_cell.contains(&call), "{call}");
    }
}

/// What the kernel gives for it, and lets go of again.
fn mapped(flags: libc::c_int) -> io::Result<()> {
    const SIZE: usize = 4_096;
    // SAFETY: new memory at a place that the kernel chooses; it is unmapped before anything else happens.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::munmap(at, SIZE);
    }
    Ok(())
}

#[test]
fn memory_that_is_counted_for_no_process_is_refused_where_only_processes_are_limited() {
    let shared = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    inside(Filter::for_sandbox(MemoryLimit::Group), move || mapped(shared).unwrap());
    inside(Filter::for_sandbox(MemoryLimit::Process), move || {
        mapped(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS).unwrap();
        assert_eq!(mapped(shared).unwrap_err().raw_os_error(), Some(libc::EPERM));
        // SAFETY: the calls take numbers and a name that ends in a zero; none of them may succeed.
        let refused = unsafe {
            [
                libc::memfd_create(c"x".as_ptr(), 0),
                libc::shmget(libc::IPC_PRIVATE, 4_096, 0o600),
                libc::msgget(libc::IPC_PRIVATE, 0o600),
            ]
        };
        assert_eq!(refused, [-1; 3]);
        let (socket, _other) = UnixStream::pair().unwrap();
        let option = |option, size: libc::c_int| {
            let size = (&raw const size).cast();
            // SAFETY: the call reads one number, which is as long as is said and lives to its end.
            unsafe { libc::setsockopt(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SOL_SOCKET, option, size, 4) }
        };
        assert_eq!([option(libc::SO_SNDBUF, 10 << 20), option(libc::SO_PASSCRED, 1)], [-1, 0]);
    });
}
