//! WebSockets of clients that others wrote (`tests/programs/browser/sockets.mjs`): `ws` from npm, and Chromium, which
//! compresses messages and, over TLS, goes by HTTP/2.

use std::path::Path;
use std::process::Command;

use crate::folder::Folder;
use crate::front::{certificate, text};
use crate::packages::packages;
use crate::program::Program;

const APP: &str = r#"
    export default {
      fetch(request) {
        if (request.headers.get("upgrade") !== "websocket") {
          return new Response("<!doctype html><title>echo</title>", { headers: { "content-type": "text/html" } });
        }
        const [client, server] = Object.values(new WebSocketPair());
        server.accept();
        server.addEventListener("message", ({ data }) => server.send(data));
        return new Response(null, { status: 101, webSocket: client });
      },
    };
"#;

#[test]
fn other_peoples_clients_are_content() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/browser");
    let clients = packages(&sources, "sockets-browser");
    let folder = Folder::with("sockets-browser", &[("apps/echo/index.js", APP)]);
    let (cert, key) = certificate(folder.path(), "localhost");
    let (apps, data) = (folder.of("apps"), folder.of("data"));
    let arguments = ["serve", text(&apps), "--data", text(&data), "--admin", "off", "--listen", "127.0.0.1:0"];
    let tls = ["--listen-tls", "127.0.0.1:0", "--cert", text(&cert), "--key", text(&key), "--access-log", "json"];
    let server = Program::start("sockets-browser", &[&arguments[..], &tls].concat());
    let port = |scheme: &str| {
        let address = server.address(&format!("Listening on {scheme}://"));
        address.rsplit_once(':').unwrap().1.to_owned()
    };
    let plain = format!("http://localhost:{}/echo/", port("http"));
    let secure = format!("https://localhost:{}/echo/", port("https"));
    let driven = Command::new("node").args(["sockets.mjs", &plain, &secure]).current_dir(&clients).output().unwrap();
    let (told, failed) = (String::from_utf8_lossy(&driven.stdout), String::from_utf8_lossy(&driven.stderr));
    assert!(driven.status.success(), "{told}{failed}\nthe log:\n{}", server.log());
    // The socket over TLS was a stream among others.
    let line = server.wait_output(&format!("\"method\":\"GET\",\"url\":\"{secure}\",\"protocol\":\"HTTP/2\""));
    assert!(line.contains("\"status\":200"), "{line}");
}
