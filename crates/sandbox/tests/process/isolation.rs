//! What a program inside cannot reach: the threat model of `docs/guide/security.md`, one line after the other, tried.

use std::io::Write;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use hearth_sandbox::{ExecRequest, Language, NetworkPolicy, SandboxConfig};

use crate::{file, out, pool, sandbox, sh};

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_rights_and_none_can_be_gained() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let status = out(&sh(&sandbox, "cat /proc/self/status").await);
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!((field("NoNewPrivs:").as_str(), field("Seccomp:").as_str()), ("1", "2"));
    assert_eq!(field("Uid:"), "1000\t1000\t1000\t1000");
    assert_eq!(
        out(&sh(&sandbox, "su -c id </dev/null >/dev/null 2>&1; [ $? != 0 ] && echo refused").await),
        "refused\n"
    );
    // The first process is no way either.
    for file in ["mem", "environ", "root/etc/passwd", "fd/0", "cwd/etc"] {
        let result = sh(&sandbox, &format!("ls -d /proc/1/{file}/. 2>&1; cat /proc/1/{file} 2>&1")).await;
        assert_ne!(result.exit_code, Some(0), "{file}: {result:?}");
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn dangerous_system_calls_are_refused() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let code = r#"
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
calls = dict(ptrace=101, mount=165, umount2=166, pivot_root=155, chroot=161, unshare=272, setns=308, bpf=321, add_key=248,
    request_key=249, keyctl=250, userfaultfd=323, io_uring_setup=425, perf_event_open=298, process_vm_readv=310,
    process_vm_writev=311, open_by_handle_at=304, name_to_handle_at=303, init_module=175, finit_module=313, delete_module=176,
    kexec_load=246, reboot=169, swapon=167, acct=163, settimeofday=164, clock_settime=227, adjtimex=159, syslog=103,
    quotactl=179, fanotify_init=300, move_mount=429, open_tree=428, fsopen=430, fsmount=432, mount_setattr=442,
    pidfd_getfd=438, kcmp=312, iopl=172, ioperm=173, move_pages=279, migrate_pages=256, lookup_dcookie=212, clone3=435,
    sethostname=170, setdomainname=171, vhangup=153, modify_ldt=154)
for name, number in calls.items():
    # Arguments that would pass for an unfiltered root: zero and a namespace flag.
    for first in (0, 0x10000000):
        ctypes.set_errno(0)
        done = libc.syscall(number, ctypes.c_long(first), 0, 0, 0, 0, 0)
        if done != -1 or ctypes.get_errno() not in (1, 38):
            print(name, done, ctypes.get_errno())
import socket
for family, kind in ((40, 1), (38, 5), (17, 3), (2, 3), (10, 3), (16, 3), (15, 3)):
    try:
        socket.socket(family, kind)
        if family != 16:
            print('socket', family, kind)
    except PermissionError: pass
    except OSError as error:
        print('socket', family, kind, error.errno)
for flags in (0x10000000, 0x20000, 0x40000000, 0x20000000):
    ctypes.set_errno(0)
    done = libc.syscall(56, ctypes.c_long(flags | 17), 0, 0, 0, 0)
    if done == 0: libc._exit(0)
    if done != -1: print('clone', hex(flags))
print('done')
"#;
    let result = sandbox.execute(Language::Python, code).await.unwrap();
    assert_eq!(out(&result), "done\n", "{result:?}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_machines_files_there_is_the_system_read_only() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    for path in
        [secret.to_str().unwrap(), "/etc/shadow", "/root", "/sys/kernel", "/boot", "/var/lib", "/etc/ssh", "/mnt"]
    {
        assert_ne!(sh(&sandbox, &format!("ls -d {path}")).await.exit_code, Some(0), "{path}");
    }
    for path in ["/usr/x", "/x", "/etc/x", "/bin/x", "/dev/x", "/run/x", "/var/x", "/proc/x"] {
        assert_ne!(sh(&sandbox, &format!("touch {path}")).await.exit_code, Some(0), "{path}");
    }
    assert_ne!(sh(&sandbox, "echo 1 > /proc/sys/kernel/printk").await.exit_code, Some(0));
    assert_ne!(sh(&sandbox, "echo b > /proc/sysrq-trigger").await.exit_code, Some(0));
    assert_ne!(sh(&sandbox, "mknod /tmp/disk b 254 0").await.exit_code, Some(0));
    assert_ne!(sh(&sandbox, "head -c1 /proc/kcore").await.exit_code, Some(0));
    for path in ["/work/x", "/tmp/x", "/home/sandbox/x", "/dev/shm/x", "/var/tmp/y"] {
        assert_eq!(sh(&sandbox, &format!("touch {path}")).await.exit_code, Some(0), "{path}");
    }
    // By the file requests, too, and whatever a link says.
    sh(&sandbox, "ln -s /etc/shadow /work/link; ln -s /proc/1/fd/0 /work/magic").await;
    for path in ["/etc/shadow", "/work/link", "../etc/shadow", "/work/magic", "/proc/1/environ"] {
        assert!(sandbox.read_file(path).await.is_err(), "{path}");
    }
    let environment = out(&sh(&sandbox, "env").await);
    assert!(!environment.contains("CARGO") && environment.contains("HOME=/home/sandbox"), "{environment}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_descriptor_comes_from_outside() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let listing = "import os\nprint([os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in sorted(map(int, os.listdir('/proc/self/fd'))) if os.path.exists(f'/proc/self/fd/{n}') or n < 3])";
    for argv in [["python3".to_owned(), "/work/list.py".to_owned()]] {
        sandbox.write_file(file("/work/list.py", listing)).await.unwrap();
        let direct = sandbox.exec(hearth_sandbox::ExecRequest::argv(argv)).await.unwrap();
        assert_eq!(out(&direct), "['/dev/null', 'pipe', 'pipe']\n", "{direct:?}");
    }
    // An interpreter that waits is told what to run by its input, which is then at its end.
    let forked = sandbox.execute(Language::Python, listing).await.unwrap();
    assert_eq!(out(&forked), "['pipe', 'pipe', 'pipe']\n", "{forked:?}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machines_network_cannot_be_reached() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = format!("hearth-wall-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    assert_eq!(out(&sh(&sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1").await).trim(), "lo");
    let code = format!(
        "import socket\n\
         def tried(f):\n  try: f(); print('reached')\n  except OSError as e: print(type(e).__name__)\n\
         tried(lambda: socket.create_connection(('127.0.0.1', {port}), 5))\n\
         tried(lambda: socket.create_connection(('192.0.2.1', 80), 5))\n\
         tried(lambda: socket.getaddrinfo('example.com', 80))\n\
         tried(lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}'))\n"
    );
    let result = sandbox.execute(Language::Python, code).await.unwrap();
    let answers = out(&result);
    let answers: Vec<_> = answers.lines().collect();
    assert_eq!(answers.len(), 4, "{result:?}");
    assert!(!answers.contains(&"reached"), "{result:?}");
    assert_eq!((answers[0], answers[2]), ("ConnectionRefusedError", "gaierror"), "{result:?}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_do_not_see_each_other() {
    let pool = pool().await;
    let (one, other) = (sandbox(&pool).await, sandbox(&pool).await);
    sh(&one, "echo secret > /work/a; echo secret > /tmp/a; echo secret > /dev/shm/a").await;
    let server = "import socket, subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import socket,time;\\ns=socket.create_server((\"127.0.0.1\", 8000)); u=socket.socket(socket.AF_UNIX); u.bind(\"\\\\0shared\"); u.listen(); open(\"/work/up\",\"w\"); time.sleep(1000)'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()";
    one.start_job(ExecRequest::code(Language::Python, server)).await.unwrap();
    one.start_job(ExecRequest::shell("exec sleep 1000")).await.unwrap();
    assert_eq!(
        out(&sh(&one, "while [ ! -e /work/up ]; do sleep 0.01; done; ipcmk -M 1000 -p 0666 >/dev/null; echo up").await),
        "up\n"
    );
    let seen = "ls -A /work /dev/shm; cat /tmp/a; cat /proc/[0-9]*/comm | grep -c sleep; ipcs -m | grep -c 666";
    assert_eq!(out(&sh(&other, seen).await), "/dev/shm:\n\n/work:\n0\n0\n");
    let code = "import socket\n\
                def tried(f):\n  try: f(); print('reached')\n  except OSError as e: print(type(e).__name__)\n\
                tried(lambda: socket.create_connection(('127.0.0.1', 8000), 5))\n\
                tried(lambda: socket.socket(socket.AF_UNIX).connect('\\0shared'))\n";
    let result = other.execute(Language::Python, code).await.unwrap();
    assert_eq!(out(&result), "ConnectionRefusedError\nConnectionRefusedError\n", "{result:?}");
    drop((one, other));
    pool.shutdown().await;
}

/// One connection to a listener of the test's own, through the proxy that a list of hosts gives.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_hosts_leads_out_through_the_proxy_and_nowhere_else() {
    let pool = pool().await;
    let network = NetworkPolicy::allow_list(["example.com"]).unwrap();
    let sandbox = pool.acquire(&SandboxConfig::builder().network(network).build().unwrap()).await.unwrap();
    let code = "import os, urllib.request, urllib.error\n\
                print(os.environ['HTTP_PROXY'])\n\
                try: urllib.request.urlopen('http://other.example/', timeout=30)\n\
                except urllib.error.HTTPError as e: print(e.code)\n";
    let result = sandbox.execute(Language::Python, code).await.unwrap();
    assert_eq!(out(&result), "http://127.0.0.1:3128\n403\n", "{result:?}");
    std::io::stdout().flush().unwrap();
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_machine_only_what_programs_need_is_told() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    assert_eq!(
        out(&sh(&sandbox, "cat /proc/cmdline /proc/partitions /proc/diskstats /proc/swaps | wc -c").await),
        "0\n"
    );
    assert_eq!(out(&sh(&sandbox, "grep -c -e hearth -e '\\.\\.' /proc/self/cgroup").await), "0\n");
    // The first process leads a session of its own, and has no terminal.
    assert_eq!(out(&sh(&sandbox, "cut -d' ' -f6,7 /proc/1/stat").await), "1 0\n");
    assert_ne!(out(&sh(&sandbox, "cat /proc/meminfo /proc/cpuinfo | wc -l").await), "0\n");
    drop(sandbox);
    pool.shutdown().await;
}
