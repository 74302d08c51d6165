//! Upgrades of the running program, and the protocol of service managers: socket activation and notifications.

use std::fs::Permissions;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::folder::{Folder, eventually, says};
use crate::server::{PATIENCE, Server, program_at, scratch};
use crate::visitors::Visitors;

fn count(log: &str, text: &str) -> usize {
    log.matches(text).count()
}

/// Waits until a line has been logged `times` times.
fn wait_times(server: &Server, text: &str, times: usize) {
    let deadline = Instant::now() + PATIENCE;
    while count(&server.log(), text) < times {
        assert!(Instant::now() < deadline, "{text:?} is not there {times} times:\n{}", server.log());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_upgrade_under_load_loses_no_request() {
    let slow = "export default { fetch(request) {
        if (!request.url.endsWith('/slow')) return new Response('hello');
        let n = 0;
        return new Response(new ReadableStream({
            async pull(c) { await new Promise(r => setTimeout(r, 100)); c.enqueue(new TextEncoder().encode(n + ' ')); if (++n == 20) c.close(); },
        }));
    } }";
    let folder = Folder::with("upgrade", &[("app/index.js", slow)]);
    let server = Server::start(&["serve", folder.path().to_str().unwrap()], &[]);
    let (pid, first) = (server.id(), server.cell());
    let visitors = Visitors::come(&server, 3, "/app/", "hello");
    visitors.await_more(&server, 20);
    // A stream of two seconds begins in the first program's cell and ends whole.
    let mut stream = server.connect();
    stream.start("GET", "/app/slow", &[]);
    assert_eq!(stream.head().status, 200);
    for round in 1..=2 {
        if round == 1 {
            server.signal("-USR2");
        } else {
            let answer = server.ask_json("POST", "/admin/upgrade", "");
            assert_eq!((&answer["upgrading"], answer["from"] == answer["to"]), (&true.into(), true), "{answer}");
        }
        wait_times(&server, "Listening on http://", round + 1);
        visitors.await_more(&server, 20);
        wait_times(&server, "inherited cell exited", round);
    }
    let rest = String::from_utf8(stream.rest()).unwrap();
    assert!(rest.contains("19 "), "the stream came whole: {rest:?}");
    assert_eq!(server.id(), pid, "it is the same process");
    assert_ne!(server.cell(), first, "with other cells");
    assert_eq!(visitors.go(&server), 0, "no connection was lost");
    let metrics = server.ask("GET", "/metrics", "");
    let counted = metrics.text().lines().filter(|line| line.starts_with("hearth_requests_total{"));
    let counted: f64 = counted.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!(counted >= 60.0, "the counts of the previous programs are included: {counted}");
}

#[test]
fn a_program_that_cannot_take_over_changes_nothing() {
    let folder =
        Folder::with("no-upgrade", &[("app/index.js", "export default { fetch: () => new Response('hello') }")]);
    let data = scratch("no-upgrade-data");
    let config = data.join("hearth.yaml");
    std::fs::write(&config, "queue: 50\n").unwrap();
    let flags = ["serve", folder.path().to_str().unwrap(), "--config", config.to_str().unwrap()];
    let server = Server::start(&flags, &[]);
    let cell = server.cell();
    std::fs::write(&config, "qeue: 50\n").unwrap();
    let refused = server.ask("POST", "/admin/upgrade", "");
    refused.assert_error(409, "no_upgrade", &["qeue", "queue"]);
    server.signal("-USR2");
    server.wait_log("upgrade failed: ");
    assert_eq!(server.get("/app/").text(), "hello");
    assert_eq!(server.cell(), cell);
    let _ = std::fs::remove_dir_all(data);
}

#[test]
fn only_a_program_with_the_output_of_hearth_takes_over() {
    let folder = Folder::with("no-hearth", &[("app/index.js", &says("hello"))]);
    let place = scratch("no-hearth-program");
    let program = place.join("hearth");
    let server = Server::start_as(program_at(&program), &["serve", folder.path().to_str().unwrap()], &[]);
    server.expect("/app/", "hello");
    let (pid, cell) = (server.id(), server.cell());
    let put = |text: &str| {
        let new = place.join("new");
        std::fs::write(&new, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&new, Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&new, &program).unwrap();
    };
    let version = r#"[ "$1" = --version ] && echo "hearth 9.9.9" && exit 0"#;
    for (text, told) in [
        ("exit 0", "not `hearth` and a number"),
        ("echo other 1.0", "other 1.0"),
        (&*format!("{version}; exit 0"), "the configuration is good"),
        (&*format!("{version}; echo no such flag >&2; exit 2"), "no such flag"),
    ] {
        put(text);
        server.ask("POST", "/admin/upgrade", "").assert_error(409, "no_upgrade", &[told]);
        server.expect("/app/", "hello");
    }
    std::fs::remove_file(&program).unwrap();
    program_at(&program);
    assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
    eventually(&server, "cells of the new program serve", || server.cell() != cell);
    server.expect("/app/", "hello");
    assert_eq!(server.id(), pid);
    std::fs::remove_dir_all(place).unwrap();
}

/// The program passes both trials and fails afterwards, each time at another step: the previous program continues with the
/// listeners, the cells and the counters, and can be upgraded again.
#[test]
fn a_program_that_fails_before_it_serves_is_rolled_back() {
    let folder = Folder::with("rollback", &[("app/index.js", &says("hello"))]);
    let place = scratch("rollback-program");
    let program = place.join("hearth");
    let mut server = Server::start_as(program_at(&program), &["serve", folder.path().to_str().unwrap()], &[]);
    let pid = server.id();
    let put = |text: &str| {
        let new = place.join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&new, &program).unwrap();
    };
    let visitors = Visitors::come(&server, 3, "/app/", "hello");
    visitors.await_more(&server, 20);
    let real = env!("CARGO_BIN_EXE_hearth");
    let failures = [
        ("--no-such-flag", "--no-such-flag"),
        ("--config /no/such/hearth.yaml", "/no/such/hearth.yaml"),
        ("--listen 192.0.2.1:80", "192.0.2.1:80"),
    ];
    for (round, (flags, reason)) in failures.into_iter().enumerate() {
        let trial = format!("case \"$*\" in --version|*--check) exec {real} \"$@\";; esac");
        put(&format!("#!/bin/sh\n{trial}\nexec {real} \"$@\" {flags}\n"));
        let cell = server.cell();
        assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
        wait_times(&server, "Listening on http://", round + 2);
        let told = server.log();
        let told = told.lines().rfind(|line| line.contains("Upgrade failed")).expect("the failure is logged");
        assert!(told.contains(reason), "{told}");
        visitors.await_more(&server, 20);
        eventually(&server, "cells of the program that runs again serve", || server.cell() != cell);
        assert!(server.is_running() && server.id() == pid);
    }
    std::fs::remove_file(&program).unwrap();
    program_at(&program);
    assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
    wait_times(&server, "Listening on http://", failures.len() + 2);
    visitors.await_more(&server, 20);
    assert_eq!(visitors.go(&server), 0, "no connection was lost");
    let metrics = server.ask("GET", "/metrics", "");
    let counted = metrics.text().lines().filter(|line| line.starts_with("hearth_requests_total{"));
    let counted: f64 = counted.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!(counted >= 100.0, "the requests of all programs are counted: {counted}");
    std::fs::remove_dir_all(place).unwrap();
}

/// As systemd starts a service: a listener as descriptor 3, variables that describe it, and a notification socket.
#[test]
fn sockets_of_a_service_manager_are_used_and_it_is_notified() {
    let folder =
        Folder::with("activated", &[("app/index.js", "export default { fetch: () => new Response('hello') }")]);
    let place = scratch("activated-data");
    let told = UnixDatagram::bind(place.join("notify")).unwrap();
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // A connection before the service has started waits in the socket.
    let mut early = crate::client::Client::from(TcpStream::connect(address).unwrap());
    early.send("GET /app/ HTTP/1.1\r\nhost: test\r\n\r\n");
    let script = "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_hearth"), "serve"])
        .arg(folder.path())
        .args(["--admin", "off", "--data"])
        .arg(place.join("data"))
        .env("NOTIFY_SOCKET", place.join("notify"))
        .env("WATCHDOG_USEC", "200000")
        .env("HEARTH_STANDBY", "0")
        .stdin(OwnedFd::from(listener))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hear = |wanted: &str| {
        let mut bytes = [0; 1024];
        loop {
            let read = told.recv(&mut bytes).unwrap_or_else(|error| panic!("{wanted} was not said: {error}"));
            let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
            if text.contains(wanted) {
                return text;
            }
        }
    };
    let ready = hear("READY=1");
    assert!(ready.contains(&format!("http://{address}")), "{ready}");
    assert_eq!(early.reply().text(), "hello");
    hear("WATCHDOG=1");
    hear("WATCHDOG=1");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    hear("STOPPING=1");
    assert!(child.wait().unwrap().success());
    let _ = std::fs::remove_dir_all(place);
}

#[test]
fn a_configuration_can_be_checked_without_serving() {
    let folder = Folder::with("checked", &[("app/index.js", "export default {}")]);
    let good = crate::server::run(&["serve", folder.path().to_str().unwrap(), "--check"]);
    assert_eq!((good.status.code(), good.stdout.as_str()), (Some(0), "the configuration is good\n"), "{}", good.stderr);
    let config = folder.path().join("hearth.yaml");
    std::fs::write(&config, "listen: nowhere\n").unwrap();
    let bad = crate::server::run(&["serve", "--config", config.to_str().unwrap(), "--check"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(bad.stderr.contains("hearth.yaml:1"), "{}", bad.stderr);
}
