//! A server with a standby, a harmless app, and one that does harm on request.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_sys::procfs;
use serde_json::Value;

use crate::client::Reply;
use crate::folder::{Folder, eventually, says};
use crate::server::Server;

/// Makes V8 abort the process, whatever the limits.
pub const ABORT: &str = r#""x".repeat(2 ** 27 + 1e7).split("").length"#;
/// Runs for seconds after its termination.
pub const STUCK: &str = r#""a".repeat(14e4).lastIndexOf("a".repeat(7e4) + "b")"#;
pub const VISITORS: usize = 3;

/// Tests with aborts run one at a time, since each takes hundreds of megabytes.
static HEAVY: Mutex<()> = Mutex::new(());

pub fn heavy() -> MutexGuard<'static, ()> {
    HEAVY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An app that runs `what` on request.
pub fn culprit(what: &str) -> String {
    format!(
        r#"const doit = () => {what};
        export default {{
          fetch(request, env, ctx) {{
            switch (new URL(request.url).pathname) {{
              case "/do": return new Response(String(doit()));
              case "/later":
                ctx.waitUntil(new Promise((done) => setTimeout(() => done(doit()), 10)));
                return new Response("later");
              case "/stream": return new Response(new ReadableStream({{
                start(controller) {{ controller.enqueue(new TextEncoder().encode("begun")); }},
                async pull() {{ await new Promise((done) => setTimeout(done, 50)); doit(); }},
              }}));
              default: return new Response("fine");
            }}
          }},
        }};"#
    )
}

pub fn serve(name: &str, what: &str, configuration: &str) -> (Folder, Server) {
    let folder = Folder::with(name, &[("victim/index.js", &*says("well")), ("culprit/index.js", &culprit(what))]);
    let server = serve_folder(&folder, configuration);
    server.expect("/victim/", "well");
    server.expect("/culprit/", "fine");
    (folder, server)
}

/// Serves with a standby, and returns when that is ready.
pub fn serve_folder(folder: &Folder, configuration: &str) -> Server {
    // In a folder that is not searched for apps.
    folder.write(".settings/hearth.yaml", configuration);
    let file = folder.of(".settings/hearth.yaml");
    let server = folder.serve(&["--standby", "1", "--config", file.to_str().unwrap(), "--threads", "2"]);
    await_standby(&server);
    server
}

pub fn metric(server: &Server, name: &str) -> u64 {
    let text = server.ask("GET", "/metrics", "").text().to_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.map_or(0, |value| value.parse::<f64>().unwrap() as u64)
}

#[track_caller]
pub fn await_standby(server: &Server) {
    eventually(server, "a cell stands by", || metric(server, "hearth_cells_standby") == 1);
}

pub fn crashes(server: &Server) -> Vec<Value> {
    server.ask_json("GET", "/admin/crashes", "")["crashes"].as_array().unwrap().clone()
}

pub fn cordons(server: &Server) -> Vec<Value> {
    server.ask_json("GET", "/admin/cordons", "")["cordons"].as_array().unwrap().clone()
}

/// The response; `None` if the connection ends before it.
pub fn provoke(server: &Server, path: &str) -> Option<Reply> {
    let mut client = server.connect();
    client.start("GET", path, &[("connection", "close")]);
    let bytes = client.rest();
    let (head, body) = std::str::from_utf8(&bytes).unwrap().split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers = lines.filter_map(header).collect();
    Some(Reply { status, reason: String::new(), headers, body: body.as_bytes().to_vec() })
}

/// The newest crash, once there are `count`.
#[track_caller]
pub fn crash(server: &Server, count: usize) -> Value {
    eventually(server, "the crash is reported", || crashes(server).len() >= count);
    crashes(server)[0].clone()
}

pub fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// All running child processes of a server.
pub fn children(server: &Server) -> Vec<u32> {
    let ours = procfs::processes().filter(|process| process.is_alive() && process.parent == server.id());
    ours.map(|process| process.id).collect()
}

/// Waits until created cells are destroyed or live.
#[track_caller]
pub fn await_balance(server: &Server) {
    eventually(server, "created - destroyed = live", || {
        let live = metric(server, "hearth_cells_serving") + metric(server, "hearth_cells_standby");
        metric(server, "hearth_cells_created_total") - metric(server, "hearth_cells_destroyed_total") == live
            && children(server).len() as u64 == live
    });
}
