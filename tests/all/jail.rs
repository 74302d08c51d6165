//! The jail of cells: each line of `docs/guide/security.md` that it holds is tried behind it, by `hearth jail-probe`, which enters
//! it by the same function that cells do; and cells that serve are seen to be in it, while all that they must do works.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::folder::{Folder, says, until_text};
use crate::server::{Server, run, scratch};

/// A server with an app, its data, and a listener beside it.
struct Scene {
    folder: Folder,
    data: PathBuf,
    server: Server,
    door: PathBuf,
    name: String,
    beside: TcpListener,
    _listeners: [UnixListener; 2],
}

impl Scene {
    fn new(name: &str) -> Self {
        let folder = Folder::with(name, &[("hello/index.js", &says("hello"))]);
        let data = scratch(&format!("{name}-data"));
        let server = folder.serve(&["--data", data.to_str().unwrap()]);
        server.expect("/hello/", "hello");
        server.ask_json("PUT", "/admin/apps/hello/secrets/KEY", "value");
        let door = std::env::temp_dir().join(format!("hearth-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&door);
        let name = door.display().to_string();
        let named = SocketAddr::from_abstract_name(&name).unwrap();
        let listeners = [UnixListener::bind(&door).unwrap(), UnixListener::bind_addr(&named).unwrap()];
        let beside = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { folder, data, server, door, name, beside, _listeners: listeners }
    }

    /// What came of each attempt, by what was attempted.
    fn probe(&self, mode: &str, role: &str) -> Vec<(String, String, Value)> {
        let control = self.server.id();
        let order = json!({
            "jail": { "mode": mode, "readable": [self.folder.path(), self.data.join("apps")], "writable": [] },
            "role": role,
            "unreadable": [
                "/etc/passwd",
                "/proc/self/root/etc/passwd",
                "/proc/1/environ",
                format!("/proc/{control}/environ"),
                format!("/proc/{control}/mem"),
                self.data.join("hearth.db"),
                self.data.join("secret.key"),
                env!("CARGO_BIN_EXE_hearth"),
            ],
            "unwritable": [
                self.folder.path(),
                self.folder.of("hello/index.js"),
                self.data.join("apps"),
                self.data.join("hearth.db"),
                std::env::temp_dir(),
                "/proc/self/mem",
                "/dev/null",
            ],
            "readable": self.folder.of("hello/index.js"),
            "process": control,
            "socket": self.name,
            "address": self.beside.local_addr().unwrap(),
            "door": self.door,
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        let pipes = command.arg("jail-probe").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        child.stdin.take().unwrap().write_all(order.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["gaps"], json!([]), "this kernel cannot hold all of the jail: see `hearth doctor`");
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        let rows = answer["attempts"].as_array().unwrap().iter();
        rows.map(|row| (text(row, "what"), text(row, "outcome"), row.clone())).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.door);
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

#[test]
fn what_a_cell_must_not_do_is_refused_and_what_it_must_do_works() {
    let scene = Scene::new("jail-probe");
    for role in ["Main", "Cordon"] {
        let rows = scene.probe("Required", role);
        assert!(rows.len() > 60, "{rows:?}");
        for (what, outcome, row) in &rows {
            assert_eq!(Some(outcome.as_str()), row["wanted"].as_str(), "{role}: {what}: {row}");
        }
    }
    // That it is the jail which refuses: without one, none of these is.
    let open = scene.probe("Off", "Main");
    for what in ["execve", "fork", "unshare", "ptrace", "listen on a port", "connect to an abstract socket", "io_uring"]
    {
        let (_, outcome, row) = open.iter().find(|(tried, ..)| tried == what).unwrap();
        assert_ne!(outcome, "refused", "{row}");
    }
    for file in [scene.data.join("secret.key"), scene.data.join("hearth.db"), PathBuf::from("/etc/passwd")] {
        let what = format!("read {}", file.display());
        let (_, outcome, row) = open.iter().find(|(tried, ..)| *tried == what).unwrap();
        assert_eq!(outcome, "done", "{row}");
    }
}

/// A line of each of the process's threads' status.
fn status(process: u32, key: &str) -> BTreeSet<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    // A thread may end while we look.
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    texts.filter_map(|text| Some(text.lines().find_map(|line| line.strip_prefix(key))?.trim().to_owned())).collect()
}

fn only(value: &str) -> BTreeSet<String> {
    BTreeSet::from([value.to_owned()])
}

#[test]
fn every_thread_of_a_cell_is_in_the_jail() {
    let scene = Scene::new("jail-status");
    let cell = scene.server.cell();
    assert_eq!(status(cell, "NoNewPrivs:"), only("1"));
    assert_eq!(status(cell, "Seccomp:"), only("2"));
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(status(cell, set), only("0000000000000000"), "{set}");
    }
    assert_eq!(status(scene.server.id(), "Seccomp:"), only("0"), "control is free");
    let limits = std::fs::read_to_string(format!("/proc/{cell}/limits")).unwrap();
    let cores: Vec<&str> =
        limits.lines().find(|line| line.starts_with("Max core")).unwrap().split_whitespace().collect();
    assert_eq!(cores[4..6], ["0", "0"]);
}

#[test]
fn a_cell_has_no_descriptors_but_those_it_serves_with() {
    let scene = Scene::new("jail-descriptors");
    let cell = scene.server.cell();
    let apps = scene.folder.path().canonicalize().unwrap();
    for descriptor in std::fs::read_dir(format!("/proc/{cell}/fd")).unwrap() {
        // One may be closed while we look.
        let Ok(leads_to) = std::fs::read_link(descriptor.unwrap().path()) else { continue };
        let text = leads_to.to_str().unwrap();
        let is_ours = ["socket:", "pipe:", "anon_inode:", "/memfd:"].iter().any(|kind| text.starts_with(kind));
        let is_known = text == "/dev/null" || text == "/dev/urandom" || text.starts_with(&format!("/proc/{cell}"));
        assert!(is_ours || is_known || leads_to.starts_with(&apps), "{text}");
    }
}

fn configured(folder: &Folder, jail: &str) -> Server {
    let config = folder.of("../").join(format!("{}.yaml", folder.path().file_name().unwrap().to_str().unwrap()));
    std::fs::write(&config, format!("jail: {jail}\n")).unwrap();
    let server = folder.serve(&["--config", config.to_str().unwrap()]);
    std::fs::remove_file(config).unwrap();
    server
}

#[test]
fn the_operator_may_require_it_or_turn_it_off() {
    let folder = Folder::with("jail-modes", &[("hello/index.js", &says("hello"))]);
    for (mode, seccomp) in [("required", "2"), ("auto", "2"), ("off", "0")] {
        let server = configured(&folder, mode);
        server.expect("/hello/", "hello");
        assert_eq!(status(server.cell(), "Seccomp:"), only(seccomp), "{mode}");
        assert!(!server.log().contains("has no effect"), "{}", server.log());
    }
}

#[test]
fn an_app_behind_a_link_is_served_and_so_is_one_that_comes_later() {
    let elsewhere = Folder::with("jail-elsewhere", &[("one/index.js", &says("one")), ("two/index.js", &says("two"))]);
    let folder = Folder::with("jail-links", &[("hello/index.js", &says("hello"))]);
    symlink(elsewhere.of("one"), folder.of("one")).unwrap();
    let server = folder.serve(&[]);
    server.expect("/one/", "one");
    folder.say("late", "late");
    until_text(&server, "/late/", "late");
    symlink(elsewhere.of("two"), folder.of("two")).unwrap();
    until_text(&server, "/two/", "two");
    server.expect("/one/", "one");
    server.expect("/hello/", "hello");
}

#[test]
fn names_are_looked_up_and_answers_fetched() {
    // A server that is found by name only, and answers each time.
    let beside = TcpListener::bind("localhost:0").unwrap();
    let port = beside.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut client, _)) = beside.accept() {
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nfound");
        }
    });
    let app = format!("export default {{ fetch: () => fetch('http://localhost:{port}/') }};");
    let folder = Folder::with("jail-fetch", &[("asks/index.js", &app), ("asks/manifest.yaml", "egress: all\n")]);
    let server = folder.serve(&[]);
    server.expect("/asks/", "found");
}

#[test]
fn a_data_folder_among_the_apps_does_no_harm() {
    let folder = Folder::with("jail-data", &[("hello/index.js", &says("hello"))]);
    let server = folder.serve(&["--data", folder.of(".hearth").to_str().unwrap()]);
    server.expect("/hello/", "hello");
    folder.say("late", "late");
    until_text(&server, "/late/", "late");
    server.expect("/hello/", "hello");
}

#[test]
fn a_doctor_says_what_the_machine_has() {
    let folder = Folder::with("jail-doctor", &[("hearth.yaml", "listen: 127.0.0.1:0\nadmin: off\njail: required\n")]);
    let (config, data) = (folder.of("hearth.yaml"), folder.of("data"));
    let arguments = ["doctor", "--config", path(&config), "--data", path(&data)];
    let ended = run(&[&arguments[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), answer["ok"].as_bool()), (Some(0), Some(true)), "{answer:#}");
    let checks = answer["checks"].as_array().unwrap();
    for check in ["kernel", "landlock", "seccomp", "v8", "configuration", "data folder"] {
        assert!(checks.iter().any(|one| one["check"] == check), "{check} is missing: {answer:#}");
    }
    assert!(run(&arguments).stdout.starts_with("CHECK "));
    folder.write("hearth.yaml", "jial: required\n");
    let ended = run(&arguments);
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stdout.contains("hearth.yaml:1:1") && ended.stdout.contains("fix:"), "{}", ended.stdout);
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
