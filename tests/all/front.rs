//! The HTTP front of `hearth serve`, as the operator sets it up: TLS, HTTP/2, compression, the access log, proxies and
//! limits.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Client;
use crate::folder::{Folder, ask, at_host, says};
use crate::program::Program;
use crate::server::{Server, run};

/// Answers with what it sees of the client.
const MIRROR: &str = r#"
    export default {
      fetch(request) {
        const { url, headers } = request;
        return Response.json({ url, ...Object.fromEntries(headers) });
      },
    };
"#;

/// A certificate for `host` in the folder, and its key.
pub fn certificate(folder: &Path, host: &str) -> (PathBuf, PathBuf) {
    let (certificate, key) = (folder.join(format!("{host}.pem")), folder.join(format!("{host}.key")));
    let name = format!("subjectAltName=DNS:{host}");
    let subject = format!("/CN={host}");
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", &subject, "-addext", &name, "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("these tests need openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (certificate, key)
}

/// What curl says, and whether it was content.
pub fn curl(arguments: &[&str]) -> (bool, String) {
    let output = Command::new("curl").args(["-sS", "--max-time", "60", "--noproxy", "*"]).args(arguments).output();
    let output = output.expect("these tests need curl");
    (
        output.status.success(),
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
    )
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A server with this `hearth.yaml`.
fn configured(folder: &Folder, yaml: &str) -> Server {
    folder.write("hearth.yaml", yaml);
    folder.serve(&["--config", text(&folder.of("hearth.yaml"))])
}

#[test]
fn each_host_has_its_certificate_and_http2_is_spoken() {
    let folder = Folder::with("front-tls", &[("apps/hello/index.js", MIRROR)]);
    let one = certificate(folder.path(), "one.test");
    let two = certificate(folder.path(), "two.test");
    let tls = format!(
        "tls:\n  - {{ cert: '{}', key: '{}' }}\n  - {{ cert: '{}', key: '{}' }}\n",
        text(&one.0),
        text(&one.1),
        text(&two.0),
        text(&two.1)
    );
    folder.write("hearth.yaml", format!("listen_tls: 127.0.0.1:0\n{tls}"));
    let server = crate::server::serve_folder(&folder.of("apps"), &["--config", text(&folder.of("hearth.yaml"))]);
    let line = server.wait_log("Listening on https://");
    let port = line.rsplit_once(':').unwrap().1.trim();
    for (host, own, other) in [("one.test", &one.0, &two.0), ("two.test", &two.0, &one.0)] {
        let url = format!("https://{host}:{port}/hello/");
        let resolve = format!("{host}:{port}:127.0.0.1");
        let with = |ca: &Path, version: &str| {
            curl(&["--resolve", &resolve, "--cacert", text(ca), version, "-w", "\n%{http_version}", &url])
        };
        for (flag, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
            let (fine, said) = with(own, flag);
            assert!(fine, "{said}");
            let (body, spoken) = said.trim_end().rsplit_once('\n').unwrap();
            assert_eq!(spoken, version);
            let seen: Value = serde_json::from_str(body).unwrap();
            assert_eq!(seen["url"], format!("https://{host}:{port}/"), "{seen}");
        }
        let (fine, said) = with(other, "--http2");
        assert!(!fine && said.contains("certificate"), "the other host's certificate is not for {host}: {said}");
    }
    // Without TLS, HTTP/2 is spoken with clients that begin with it.
    let (fine, said) = curl(&["--http2-prior-knowledge", "-w", "\n%{http_version}", &server.url("/hello/")]);
    assert!(fine && said.ends_with("\n2"), "{said}");
}

#[test]
fn a_certificate_that_is_none_is_named() {
    let folder = Folder::with(
        "front-bad-tls",
        &[("apps/hello/index.js", &says("hello")), ("bad.pem", "this is no certificate")],
    );
    let (good, key) = certificate(folder.path(), "one.test");
    let (_, foreign) = certificate(folder.path(), "two.test");
    let bad = folder.of("bad.pem");
    let gone = folder.of("gone.pem");
    let (apps, data) = (folder.of("apps"), folder.of("data"));
    for (certificate, key, named) in
        [(&bad, &key, &bad), (&good, &bad, &bad), (&gone, &key, &gone), (&good, &foreign, &foreign)]
    {
        let ended = run(&[
            "serve",
            text(&apps),
            "--data",
            text(&data),
            "--admin",
            "off",
            "--listen-tls",
            "127.0.0.1:0",
            "--cert",
            text(certificate),
            "--key",
            text(key),
        ]);
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains(text(named)), "{} is not named: {}", named.display(), ended.stderr);
    }
    let ended = run(&["serve", text(&apps), "--data", text(&data), "--admin", "off", "--listen-tls", "127.0.0.1:0"]);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("--cert"), "{}", ended.stderr);
}

#[test]
fn a_client_that_accepts_compression_gets_it() {
    let long = "export default { fetch: () => new Response('long '.repeat(2000)) };";
    let folder = Folder::with("front-compression", &[("long/index.js", long)]);
    let server = folder.serve(&[]);
    let with = |codings: &str| ask(&server, "GET", "/long/", &[("accept-encoding", codings)]);
    let plain = server.get("/long/");
    assert_eq!(
        (plain.body.len(), plain.header("content-encoding"), plain.header("vary")),
        (10_000, None, Some("accept-encoding"))
    );
    let gzip = with("gzip");
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert!(gzip.body.len() < 1000 && gzip.body.starts_with(&[0x1f, 0x8b]), "{} bytes", gzip.body.len());
    let (fine, said) = curl(&["--compressed", &server.url("/long/")]);
    assert!(fine && said == "long ".repeat(2000), "{} bytes", said.len());
    assert_eq!(with("gzip;q=0, identity").header("content-encoding"), None);
}

#[test]
fn each_request_is_a_line_of_the_access_log() {
    let folder = Folder::with("front-access", &[("apps/hello/index.js", &says("hello"))]);
    for format in ["text", "json"] {
        let (apps, data) = (folder.of("apps"), folder.of("data"));
        let mut program = Program::start(
            &format!("front-access-{format}"),
            &[
                "serve",
                text(&apps),
                "--data",
                text(&data),
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "off",
                "--access-log",
                format,
            ],
        );
        let mut client = Client::connect(&program.address("Listening on http://"));
        client.start("GET", "/hello/?q=1", &[("x-request-id", "request-one"), ("user-agent", "a\"b")]);
        assert_eq!(client.reply().text(), "hello");
        client.start("GET", "/missing/", &[("x-request-id", "request-two")]);
        assert_eq!(client.reply().status, 404);
        let (first, second) = (program.wait_output("request-one"), program.wait_output("request-two"));
        if format == "text" {
            assert!(first.contains(" 127.0.0.1 \"GET http://test/hello/?q=1 HTTP/1.1\" 200 5 "), "{first}");
            assert!(first.ends_with(r#" answered request-one "-" "a\"b""#), "{first}");
            assert!(second.contains("\"GET http://test/missing/ HTTP/1.1\" 404 "), "{second}");
        } else {
            let first: Value = serde_json::from_str(&first).unwrap();
            for (key, value) in [
                ("client", json!("127.0.0.1")),
                ("method", json!("GET")),
                ("status", json!(200)),
                ("bytes", json!(5)),
                ("user_agent", json!("a\"b")),
            ] {
                assert_eq!(first[key], value, "{key} of {first}");
            }
            let second: Value = serde_json::from_str(&second).unwrap();
            assert_eq!(second["status"], 404);
        }
        program.signal("-TERM");
        assert_eq!(program.wait().code(), Some(0));
        assert_eq!(program.output().lines().count(), 2, "{}", program.output());
        assert!(!program.log().contains("request-one"), "{}", program.log());
    }
}

#[test]
fn only_trusted_proxies_name_the_client() {
    let headers = [("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "shop.test")];
    let seen =
        |server: &Server| -> Value { serde_json::from_slice(&ask(server, "GET", "/hello/", &headers).body).unwrap() };
    let folder = Folder::with("front-proxies", &[("hello/index.js", MIRROR)]);
    let distrusted = seen(&folder.serve(&[]));
    assert_eq!(distrusted["x-forwarded-for"], "127.0.0.1", "{distrusted}");
    assert!(distrusted["url"].as_str().unwrap().starts_with("http://test/"), "{distrusted}");
    let trusted = seen(&configured(&folder, "trusted_proxies: [127.0.0.0/8]\n"));
    assert!(trusted["x-forwarded-for"].as_str().unwrap().starts_with("192.0.2.7"), "{trusted}");
    assert!(trusted["url"].as_str().unwrap().starts_with("https://"), "{trusted}");
}

#[test]
fn apps_by_path_say_nothing_of_their_origin() {
    let code = r#"
        export default {
          fetch: () => new Response("hello", {
            headers: [
              ["service-worker-allowed", "/"], ["clear-site-data", "*"], ["strict-transport-security", "max-age=1"],
              ["set-cookie", "a=1; Path=/; Domain=test"],
            ],
          }),
        };
    "#;
    let folder = Folder::with("front-origin", &[("hello/index.js", code)]);
    let server = folder.serve(&[]);
    let of_origin = ["service-worker-allowed", "clear-site-data", "strict-transport-security"];
    let by_path = ask(&server, "GET", "/hello/", &[]);
    assert!(of_origin.iter().all(|name| by_path.header(name).is_none()));
    assert_eq!(by_path.header("set-cookie"), Some("a=1; Path=/hello/"));
    let by_host = at_host(&server, "hello.localhost", "/");
    assert!(of_origin.iter().all(|name| by_host.header(name).is_some()));
    assert_eq!(by_host.header("set-cookie"), Some("a=1; Path=/; Domain=test"));
    let hosts_only = configured(&folder, "paths: false\n");
    ask(&hosts_only, "GET", "/hello/", &[]).assert_error(404, "no_app", &[]);
    assert_eq!(at_host(&hosts_only, "hello.localhost", "/").text(), "hello");
}

#[test]
fn apps_do_not_see_the_dashboards_cookie() {
    let folder = Folder::with("front-cookie", &[("hello/index.js", MIRROR)]);
    let server = folder.serve(&[]);
    let seen = |cookie: &str| -> Value {
        serde_json::from_slice(&ask(&server, "GET", "/hello/", &[("cookie", cookie)]).body).unwrap()
    };
    assert_eq!(seen("a=1; hearth_admin=0123; b=2")["cookie"], "a=1; b=2");
    assert_eq!(seen("hearth_admin=0123").get("cookie"), None);
}

#[test]
fn silent_connections_do_not_keep_others_out() {
    let folder = Folder::with("front-silent", &[("hello/index.js", &says("hello"))]);
    let server = configured(&folder, "max_connections: 4\n");
    let _silent: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    assert_eq!(server.connect().get("/hello/").text(), "hello");
    let answer = server.ask("GET", "/metrics", "");
    let metrics = answer.text();
    let evicted = metrics.lines().find_map(|line| line.strip_prefix("hearth_connections_evicted_total "));
    assert!(evicted.is_some_and(|count| count != "0"), "{metrics}");
}

#[test]
fn clients_have_limits() {
    let folder = Folder::with("front-limits", &[("hello/index.js", &says("hello"))]);
    let server = configured(&folder, "rate_limit: 3/1h\nmax_connections_per_client: 2\n");
    let mut first = server.connect();
    for _ in 0..3 {
        assert_eq!(first.get("/hello/").text(), "hello");
    }
    let refused = first.get("/hello/");
    refused.assert_error(429, "rate_limited", &[]);
    assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
    let mut second = server.connect();
    assert_eq!(second.get("/hello/").status, 429);
    let mut third = server.connect();
    assert_eq!(third.rest(), b"", "one connection too many");
    // The admin API is another listener.
    assert_eq!(server.ask("GET", "/admin/apps", "").status, 200);
}
