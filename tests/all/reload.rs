//! Reload of `hearth.yaml` and of certificates: by SIGHUP, by `hearth reload`, and when certificate files change.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::json;

use crate::folder::{Folder, at_host, eventually, until_text};
use crate::front::{certificate, curl, text};
use crate::load::Load;
use crate::server::{Server, TOKEN, run, serve_folder};

const ENV: &str = "export default { fetch: (_, env) => new Response('hello ' + env.NAME) };";

/// A folder with apps, and `hearth.yaml` beside them.
fn folder(name: &str, yaml: &str) -> Folder {
    Folder::with(name, &[("apps/hello/index.js", ENV), ("hearth.yaml", yaml)])
}

fn serve(folder: &Folder) -> Server {
    serve_folder(&folder.of("apps"), &["--config", text(&folder.of("hearth.yaml"))])
}

#[test]
fn changes_are_applied_without_losing_a_request() {
    let folder = folder("reload", "domains: [old.test]\napps:\n  hello: { env: { NAME: old } }\n");
    let server = serve(&folder);
    server.expect("/hello/", "hello old");
    let load = Load::start(&server, "/hello/");
    load.wait(&server, 20);

    // A change of apps only: the cell stays, and so do its connections.
    folder.write("hearth.yaml", "domains: [old.test]\napps:\n  hello: { env: { NAME: new } }\n");
    let answer = server.ask_json("POST", "/admin/reload", "");
    let expected = json!({ "changed": ["apps.hello"], "needs_restart": [], "certificates": "kept", "cells": "kept" });
    assert_eq!(answer, expected);
    server.expect("/hello/", "hello new");

    // A change of a cell's plan.
    folder.write("hearth.yaml", "domains: [new.test]\nmax_body_size: 1kb\napps:\n  hello: { env: { NAME: new } }\n");
    let answer = server.ask_json("POST", "/admin/reload", "");
    assert_eq!((&answer["changed"], &answer["cells"]), (&json!(["domains", "max_body_size"]), &json!("replaced")));
    let at = |host: &str| at_host(&server, host, "/").status;
    assert_eq!([at("hello.new.test"), at("hello.old.test")], [200, 404]);
    assert_eq!(server.post("/hello/", vec![b'x'; 2000]).status, 413);
    load.wait(&server, 20);
    load.end();

    let output = run(&["reload", "--admin", &server.admin(), "--admin-token", TOKEN]);
    assert_eq!((output.status.code(), output.stdout.as_str()), (Some(0), "nothing has changed\n"), "{}", output.stderr);
}

#[test]
fn sighup_reloads_and_a_faulty_file_changes_nothing() {
    let folder = folder("reload-signal", "apps:\n  hello: { env: { NAME: old } }\n");
    let server = serve(&folder);
    server.expect("/hello/", "hello old");
    folder.write("hearth.yaml", "apps:\n  hello: { env: { NAME: new } }\nlisten: 127.0.0.1:1\n");
    server.signal("-HUP");
    until_text(&server, "/hello/", "hello new");
    server.wait_log("`listen` is read at the start only");

    folder.write("hearth.yaml", "apps:\n  hello: { env: { NAME: wrong }, tmeout: 1s }\n");
    server.signal("-HUP");
    let line = server.wait_log("reload failed, configuration unchanged");
    assert!(line.contains("hearth.yaml:2:") && line.contains("timeout"), "{line}");
    let output = run(&["reload", "--admin", &server.admin(), "--admin-token", TOKEN]);
    assert_ne!(output.status.code(), Some(0));
    assert!(output.stderr.contains("hearth.yaml:2:") && output.stderr.contains("timeout"), "{}", output.stderr);
    let reply = server.ask("POST", "/admin/reload", "");
    reply.assert_error(422, "bad_configuration", &["hearth.yaml:2:"]);
    server.expect("/hello/", "hello new");
    assert_eq!(server.ask("GET", "/admin/reload", "").status, 405);
}

/// A connection over TLS that stays open.
struct Conversation {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Conversation {
    fn begin(port: &str) -> Self {
        let mut child = Command::new("openssl")
            .args(["s_client", "-quiet", "-verify_quiet", "-connect", &format!("127.0.0.1:{port}")])
            .args(["-servername", "one.test", "-no_ign_eof"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("these tests need openssl");
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from }
    }

    /// Sends a request and returns the status line; the rest of the response is read as well.
    fn ask(&mut self) -> String {
        self.to.write_all(b"GET /hello/ HTTP/1.1\r\nhost: one.test\r\n\r\n").unwrap();
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.starts_with("hello")) {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap_or(0), 0, "the connection ended after {lines:?}");
            // The body has no line end: it is the rest of the response.
            let is_blank = line == "\r\n";
            lines.push(line);
            if is_blank {
                let mut body = [0; "hello tls".len()];
                std::io::Read::read_exact(&mut self.from, &mut body).unwrap();
                lines.push(String::from_utf8(body.to_vec()).unwrap());
            }
        }
        lines.swap_remove(0)
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn renewed_certificates_are_used_and_connections_stay() {
    let folder = folder("reload-tls", "");
    let (cert, key) = certificate(folder.path(), "one.test");
    let yaml = format!(
        "listen_tls: 127.0.0.1:0\ntls: {{ cert: '{}', key: '{}' }}\napps:\n  hello: {{ env: {{ NAME: tls }} }}\n",
        text(&cert),
        text(&key)
    );
    folder.write("hearth.yaml", &yaml);
    let server = serve(&folder);
    let line = server.wait_log("Listening on https://");
    let port = line.rsplit_once(':').unwrap().1.trim().to_owned();
    let trusts = |ca: &Path| {
        let (resolve, url) = (format!("one.test:{port}:127.0.0.1"), format!("https://one.test:{port}/hello/"));
        curl(&["--resolve", &resolve, "--cacert", text(ca), &url]).0
    };
    let (before, after) = (folder.of("before.pem"), folder.of("after.pem"));
    std::fs::copy(&cert, &before).unwrap();
    assert!(trusts(&before));
    let mut conversation = Conversation::begin(&port);
    assert!(conversation.ask().starts_with("HTTP/1.1 200"));

    // The server checks the files by itself. They are written one after the other, as in a renewal.
    let other = Folder::new("reload-tls-other");
    let (new_cert, new_key) = certificate(other.path(), "one.test");
    std::fs::copy(&new_cert, &after).unwrap();
    folder.write("one.test.pem", std::fs::read(&new_cert).unwrap());
    folder.write("one.test.key", std::fs::read(&new_key).unwrap());
    eventually(&server, "the new certificate is used", || trusts(&after));
    assert!(!trusts(&before));
    assert!(conversation.ask().starts_with("HTTP/1.1 200"), "the connection that was open before");

    // An invalid certificate is not used, and its file is named.
    folder.write("one.test.pem", "no certificate");
    server.ask("POST", "/admin/reload", "").assert_error(422, "bad_configuration", &["one.test.pem"]);
    assert!(trusts(&after));
    folder.write("one.test.pem", std::fs::read(&new_cert).unwrap());
    folder.write("hearth.yaml", yaml.replace("tls: {", "tls: # {").replace(" }\napps", "\napps"));
    let reply = server.ask("POST", "/admin/reload", "");
    reply.assert_error(422, "bad_configuration", &["tls"]);
    assert!(conversation.ask().starts_with("HTTP/1.1 200"));
}
