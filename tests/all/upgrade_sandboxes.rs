//! Sandboxes and MCP sessions continue over an upgrade.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hearth_sys::procfs::{self, ProcStat};
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::folder::eventually;
use crate::server::{Server, command, program_at, scratch};

const TOKEN: &str = "the-tests-own-mcp-token";

fn serve(name: &str, settings: &str) -> Server {
    serve_as(command(), name, settings)
}

fn serve_as(program: Command, name: &str, settings: &str) -> Server {
    let folder = scratch(name);
    let (apps, config) = (folder.join("apps"), folder.join("hearth.yaml"));
    std::fs::create_dir_all(&apps).unwrap();
    std::fs::write(&config, format!("mcp: 127.0.0.1:0\n{settings}")).unwrap();
    let flags = ["serve", apps.to_str().unwrap(), "--config", config.to_str().unwrap(), "--mcp-token", TOKEN];
    Server::start_as(program, &flags, &[])
}

/// Upgrades, and waits until the next program serves.
#[track_caller]
fn upgrade(server: &Server) {
    let count = || server.log().matches("Listening on http://").count();
    let before = count();
    assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
    eventually(server, "another program serves", || count() > before);
}

fn mcp_address(server: &Server) -> String {
    let line = server.wait_log("MCP on http://");
    line.split_once("MCP on http://").unwrap().1.split('/').next().unwrap().to_owned()
}

/// A request of MCP's, begun.
fn begin(address: &str, method: &str, path: &str, session: Option<&str>, body: &str) -> Client {
    let mut client = Client::connect(address);
    let session = session.map_or(String::new(), |session| format!("mcp-session-id: {session}\r\n"));
    client.send(format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{session}\r\n{body}",
        body.len()
    ));
    client
}

fn post(address: &str, session: Option<&str>, body: &Value) -> Reply {
    begin(address, "POST", "/mcp", session, &body.to_string()).reply()
}

fn tool(address: &str, session: &str, id: u64, name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let reply = post(address, Some(session), &call);
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_slice::<Value>(&reply.body).unwrap()["result"]["structuredContent"].clone()
}

/// All processes that descend from this one, cells apart: the spawner and what is below it.
fn sandboxed(server: &Server) -> Vec<u32> {
    let all: Vec<(u32, u32)> = procfs::processes().map(|process| (process.id, process.parent)).collect();
    let is_spawner = |id: u32| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"spawner")
    };
    let mut found: Vec<u32> =
        all.iter().filter(|(id, up)| *up == server.id() && is_spawner(*id)).map(|(id, _)| *id).collect();
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(all.iter().filter(|(_, up)| *up == parent).map(|(id, _)| *id));
        at += 1;
    }
    found
}

fn runs(process: u32) -> bool {
    ProcStat::read(process).is_some_and(|process| process.is_alive())
}

#[track_caller]
fn adds_up(server: &Server, held: u64) {
    let stats = server.ask_json("GET", "/admin/sandboxes/stats", "");
    let number = |name: &str| stats[name].as_u64().unwrap_or_else(|| panic!("{name} in {stats}"));
    assert_eq!(number("created"), number("destroyed") + number("live"), "{stats}");
    assert!(number("live") >= held, "{stats}");
}

#[test]
fn sandboxes_and_sessions_survive_an_upgrade() {
    let mut server = serve("upgrade-sandboxes", "sandboxes:\n  pool:\n    min_size: 1\n");
    let made = server.ask_json("POST", "/admin/sandboxes", r#"{"memory_mib": 256, "env": {"NAME": "value"}}"#);
    let id = made["sandbox_id"].as_str().unwrap();
    let at = |rest: &str| format!("/admin/sandboxes/{id}{rest}");
    server.ask_json("PUT", &at("/file?path=/work/kept"), "what is kept");
    let code = |code: &str| json!({ "language": "python", "code": code, "session": "mine" }).to_string();
    server.ask_json("POST", &at("/exec"), code("x = 41"));
    let command = "echo one; while [ ! -e /work/go ]; do sleep 0.02; done; echo two; exit 7";
    let job = server.ask_json("POST", &at("/jobs"), json!({ "command": command }).to_string())["job_id"].clone();
    let job = at(&format!("/jobs/{}", job.as_str().unwrap()));
    assert_eq!(server.ask_json("GET", &format!("{job}?wait_ms=60000"), "")["stdout"], "one\n");
    let ended = server.ask_json("POST", &at("/jobs"), r#"{"command": "echo over; exit 3"}"#)["job_id"].clone();
    let ended = at(&format!("/jobs/{}", ended.as_str().unwrap()));
    eventually(&server, "it is over", || server.ask_json("GET", &ended, "")["state"] == "ended");

    let address = mcp_address(&server);
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let begun = post(&address, None, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let theirs = tool(&address, &session, 2, "create_sandbox", json!({}))["sandbox_id"].clone();
    let link = json!({ "sandbox_id": theirs, "path": "/work/linked", "direction": "upload" });
    let link = tool(&address, &session, 3, "create_file_link", link)["url"].as_str().unwrap().to_owned();
    let mut listening = begin(&address, "GET", "/mcp", Some(&session), "");
    assert_eq!(listening.head().status, 200);
    let before = server.ask_json("GET", &at(""), "");
    let processes = sandboxed(&server);
    assert!(processes.len() >= 4, "a spawner, and processes of two sandboxes: {processes:?}");

    for round in 0..2 {
        upgrade(&server);
        if round == 0 {
            // The client reopens the stream; all messages until the upgrade have arrived.
            assert!(String::from_utf8_lossy(&listening.rest()).ends_with("0\r\n\r\n"));
        }
        let after = server.ask_json("GET", &at(""), "");
        for same in ["sandbox_id", "created_at", "expires_at", "memory_mib", "owner", "languages", "jobs", "state"] {
            assert_eq!(after[same], before[same], "{same}; the log:\n{}", server.log());
        }
        assert_eq!(server.ask("GET", &at("/file?path=kept"), "").text(), "what is kept");
        let ran = server.ask_json("POST", &at("/exec"), code("x += 1; print(x)"));
        assert_eq!(ran["stdout"], format!("{}\n", 42 + round), "the interpreter is the same: {ran}");
        let ran = server.ask_json("POST", &at("/exec"), r#"{"command": "echo $NAME"}"#);
        assert_eq!(ran["stdout"], "value\n");
        let told = server.ask_json("GET", &ended, "");
        assert_eq!((&told["stdout"], &told["exit_code"]), (&json!("over\n"), &json!(3)), "{told}");
        assert_eq!(server.ask_json("GET", &job, "")["state"], "running");
        let seen = tool(&address, &session, 10 + round, "list_sandboxes", json!({}));
        assert_eq!((&seen["sandboxes"][0]["sandbox_id"], seen["sandboxes"].as_array().unwrap().len()), (&theirs, 1));
        adds_up(&server, 2);
    }
    server.ask_json("PUT", &at("/file?path=/work/go"), "");
    eventually(&server, "the job ends as it would have", || server.ask_json("GET", &job, "")["state"] == "ended");
    let told = server.ask_json("GET", &job, "");
    assert_eq!((&told["stdout"], &told["exit_code"]), (&json!("one\ntwo\n"), &json!(7)), "{told}");
    let path = link.split_once(&address).unwrap().1;
    assert!(begin(&address, "PUT", path, None, "hello").reply().status < 300);
    let read = json!({ "sandbox_id": theirs, "path": "/work/linked" });
    assert_eq!(tool(&address, &session, 20, "read_file", read)["content"], "hello");

    // Sandboxes end: one by request, one with its session, the rest with the server.
    server.ask_json("DELETE", &at(""), "");
    assert_eq!(begin(&address, "DELETE", "/mcp", Some(&session), "").reply().status, 204);
    assert_eq!(server.ask_json("GET", "/admin/sandboxes", ""), json!({ "sandboxes": [] }));
    eventually(&server, "the spawner of the first program has ended, too", || !processes.iter().any(|id| runs(*id)));
    adds_up(&server, 0);
    let rest = sandboxed(&server);
    server.signal("-TERM");
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    assert!(!rest.iter().any(|id| runs(*id)));
}

#[test]
fn sandboxes_survive_an_upgrade_that_fails() {
    let place = scratch("rollback-sandboxes-program");
    let program = place.join("hearth");
    let server = serve_as(program_at(&program), "rollback-sandboxes", "sandboxes:\n  pool:\n    min_size: 1\n");
    let id = server.ask_json("POST", "/admin/sandboxes", "")["sandbox_id"].as_str().unwrap().to_owned();
    let at = |rest: &str| format!("/admin/sandboxes/{id}{rest}");
    let code = |code: &str| json!({ "language": "python", "code": code, "session": "mine" }).to_string();
    server.ask_json("POST", &at("/exec"), code("x = 41"));
    let new = place.join("new");
    let real = env!("CARGO_BIN_EXE_hearth");
    let trial = format!("case \"$*\" in --version|*--check) exec {real} \"$@\";; esac");
    std::fs::write(&new, format!("#!/bin/sh\n{trial}\nexec {real} \"$@\" --listen 192.0.2.1:80\n")).unwrap();
    std::fs::set_permissions(&new, Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&new, &program).unwrap();
    upgrade(&server);
    server.wait_log("Upgrade failed");
    let ran = server.ask_json("POST", &at("/exec"), code("x += 1; print(x)"));
    assert_eq!(ran["stdout"], "42\n", "the interpreter is the same: {ran}");
    adds_up(&server, 1);
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_call_in_flight_is_waited_for() {
    let server = serve("upgrade-calls", "drain_timeout: 60s\nsandboxes:\n  pool:\n    enabled: false\n");
    let id = server.ask_json("POST", "/admin/sandboxes", "")["sandbox_id"].as_str().unwrap().to_owned();
    let at = |rest: &str| format!("/admin/sandboxes/{id}{rest}");
    let command = r#"{"command": "touch /work/begun; sleep 3; echo whole"}"#;
    std::thread::scope(|scope| {
        let call = scope.spawn(|| server.ask_json("POST", &at("/exec"), command));
        eventually(&server, "it has begun", || server.ask("GET", &at("/file?path=begun"), "").status == 200);
        upgrade(&server);
        assert_eq!(call.join().unwrap()["stdout"], "whole\n");
    });
    assert_eq!(server.ask("GET", &at("/file?path=begun"), "").status, 200);
}

#[test]
fn without_control_no_sandbox_is_left_even_of_the_previous_program() {
    let mut server = serve("upgrade-killed", "sandboxes:\n  pool:\n    min_size: 1\n");
    let id = server.ask_json("POST", "/admin/sandboxes", "")["sandbox_id"].as_str().unwrap().to_owned();
    server.ask_json("POST", &format!("/admin/sandboxes/{id}/jobs"), r#"{"command": "sleep 3600"}"#);
    upgrade(&server);
    eventually(&server, "one is ready", || server.ask_json("GET", "/admin/sandboxes/stats", "")["ready"] == 1);
    let processes = sandboxed(&server);
    assert!(processes.len() >= 5, "two spawners, and processes of two sandboxes: {processes:?}");
    server.signal("-KILL");
    server.wait();
    eventually(&server, "all are gone", || !processes.iter().any(|id| runs(*id)));
}
