//! Apps with a cell of their own (`isolation: process`): clients see no difference, except when that cell crashes.

use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hearth_sys::procfs;

use crate::client::{Client, Reply};
use crate::folder::{Folder, ask, at_host, eventually, until_changed, until_status, until_text};
use crate::server::{PATIENCE, Server};

/// Everything of an app's view that the proxying could change.
const APP: &str = r#"
let aborted = 0;
export default {
  async fetch(request) {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/see": {
        const seen = [...request.headers].filter(([name]) => name !== "x-request-id" && name !== "x-base");
        return Response.json({ method: request.method, url: request.url, seen, body: await request.text() });
      }
      case "/base": return new Response(request.headers.get("x-base"));
      case "/id": return new Response(request.headers.get("x-request-id"));
      case "/echo": return new Response(request.body, { headers: { "content-type": "application/octet-stream" } });
      case "/throw": throw new Error("as the test wants");
      case "/none": return new Response(null, { status: 204 });
      case "/same": return new Response(null, { status: 304, headers: { etag: '"x"' } });
      case "/reason": return new Response("r", { status: 218, statusText: "This Is Fine", headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
      case "/text": return new Response("text ".repeat(1000), { headers: { "content-type": "text/plain" } });
      case "/move": return Response.redirect(new URL("see", request.url), 302);
      case "/ignore": return new Response("not read");
      case "/aborted": return new Response(String(aborted));
      case "/wait": return new Promise(() => request.signal.addEventListener("abort", () => aborted++));
      case "/stream": {
        const body = new ReadableStream({
          start(controller) { controller.enqueue(new TextEncoder().encode("data: first\n\n")); },
          pull() { return new Promise(() => {}); },
          cancel() { aborted++; },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      }
      case "/socket": {
        const [client, server] = Object.values(new WebSocketPair());
        server.accept();
        server.addEventListener("message", (event) => server.send(`you said ${event.data}`));
        return new Response(null, { status: 101, webSocket: client });
      }
      default: return new Response(`nothing at ${url.pathname}`, { status: 404 });
    }
  },
};
"#;

/// The same app twice: in the main cell, and in a cell of its own.
fn twins(name: &str) -> (Folder, Server) {
    let folder = Folder::new(name);
    for (app, isolation) in [("here", "shared"), ("away", "process")] {
        folder.write(&format!("{app}/index.js"), APP);
        let manifest =
            format!("isolation: {isolation}\nstatic: public\nmaxBodySize: 100mb\nmaxWorkers: 1\nhosts: [{app}.test]\n");
        folder.write(&format!("{app}/manifest.yaml"), manifest);
        folder.write(&format!("{app}/public/file.txt"), "a file of the app's\n".repeat(200));
    }
    let server = folder.serve(&[]);
    until_status(&server, "/away/id", 200);
    (folder, server)
}

/// The parts of a response that must be the same for both.
fn compared(reply: &Reply) -> (u16, String, Vec<(String, String)>, String) {
    // `date` depends on the time, the others on the files, which differ.
    let differs = ["date", "etag", "last-modified"];
    let mut headers: Vec<_> =
        reply.headers.iter().filter(|(name, _)| !differs.contains(&name.as_str())).cloned().collect();
    headers.sort();
    let own = |text: &str| text.replace("away", "here");
    let headers = headers.into_iter().map(|(name, value)| (name, own(&value))).collect();
    (reply.status, reply.reason.clone(), headers, own(&String::from_utf8_lossy(&reply.body)))
}

/// The child processes of the program.
fn cells(server: &Server) -> Vec<u32> {
    procfs::processes().filter(|process| process.parent == server.id()).map(|process| process.id).collect()
}

/// The cordon cell: the one that listens on a Unix socket.
fn cordon(server: &Server) -> Option<u32> {
    let listening = std::fs::read_to_string("/proc/net/unix").unwrap();
    let inodes: Vec<String> = listening
        .lines()
        .filter(|line| line.split_whitespace().nth(3) == Some("00010000"))
        .filter_map(|line| Some(format!("socket:[{}]", line.split_whitespace().nth(6)?)))
        .collect();
    cells(server).into_iter().find(|id| {
        let files = std::fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|to| inodes.iter().any(|inode| to.as_os_str() == inode.as_str()))
    })
}

fn kill(process: u32) {
    assert!(Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap().success());
}

fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn an_app_responds_the_same_in_both_cells() {
    let (_folder, server) = twins("cordon-twins");
    assert!(cordon(&server).is_some(), "it has a process of its own; the log:\n{}", server.log());
    type Asked<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str);
    let requests: &[Asked<'_>] = &[
        ("GET", "/see?a=b%20c", &[("x-custom", "1"), ("x-custom", "2"), ("cookie", "a=b")], ""),
        ("GET", "/see", &[("x-forwarded-for", "10.1.1.1"), ("x-hearth-hop", "here latest /forged")], ""),
        ("GET", "/see", &[("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")], ""),
        ("POST", "/see", &[("content-length", "5")], "hello"),
        ("POST", "/see", &[("transfer-encoding", "chunked")], "5\r\nhello\r\n0\r\n\r\n"),
        ("PUT", "/echo", &[("content-length", "5")], "hello"),
        ("DELETE", "/see", &[], ""),
        ("PROPFIND", "/see", &[], ""),
        ("GET", "/base", &[], ""),
        ("GET", "/throw", &[], ""),
        ("GET", "/throw", &[("accept", "text/html")], ""),
        ("GET", "/none", &[], ""),
        ("GET", "/same", &[], ""),
        ("GET", "/reason", &[], ""),
        ("GET", "/text", &[], ""),
        ("GET", "/move", &[], ""),
        ("GET", "/missing", &[], ""),
        ("GET", "/file.txt", &[], ""),
        ("GET", "/file.txt", &[("range", "bytes=2-5")], ""),
        ("GET", "", &[], ""),
        ("GET", "@latest/base", &[], ""),
        ("GET", "@9/base", &[], ""),
        ("POST", "/ignore", &[("content-length", "5")], "hello"),
    ];
    for (method, path, headers, body) in requests {
        let answer = |app: &str| {
            let mut client = server.connect();
            // The request id is in the bodies of errors.
            client.start(method, &format!("/{app}{path}"), &[&[("x-request-id", "the-id")], *headers].concat());
            client.send(body);
            client.reply()
        };
        let (here, away) = (answer("here"), answer("away"));
        assert_eq!(compared(&away), compared(&here), "{method} {path} {headers:?}");
    }
    let head = |app: &str, path: &str| {
        let mut client = server.connect();
        client.start("HEAD", &format!("/{app}{path}"), &[]);
        let mut head = client.head();
        head.headers.retain(|(name, _)| name != "x-request-id");
        assert_eq!(client.get(&format!("/{app}/id")).status, 200, "the connection goes on");
        head
    };
    assert_eq!(compared(&head("away", "/file.txt")), compared(&head("here", "/file.txt")));
    assert_eq!(at_host(&server, "away.test", "/base").text(), "");
    assert_eq!(ask(&server, "GET", "/away/id", &[("x-request-id", "mine")]).text(), "mine");
    let small = ask(&server, "GET", "/away/text", &[("accept-encoding", "gzip")]);
    assert_eq!((small.header("content-encoding"), small.headers("vary").len()), (Some("gzip"), 1));
}

#[test]
fn access_is_checked_in_the_cordon_cell() {
    let folder = Folder::new("cordon-guard");
    folder.write("locked/index.js", "export default { fetch: () => new Response('in') };");
    folder.write("locked/manifest.yaml", "isolation: process\nauth: token\nmaxBodySize: 10b\n");
    folder.write("slow/index.js", "export default { fetch: () => new Response('in') };");
    folder.write("slow/manifest.yaml", "isolation: process\nrateLimit: 3/1h\n");
    let server = folder.serve(&[]);
    until_status(&server, "/locked/", 401).assert_error(401, "unauthorized", &["Bearer"]);
    let made = server.ask_json("POST", "/admin/apps/locked/tokens?label=test", "");
    let token = format!("Bearer {}", made["token"].as_str().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while ask(&server, "GET", "/locked/", &[("authorization", &token)]).status != 200 {
        assert!(Instant::now() < deadline, "the token opens nothing; the log:\n{}", server.log());
    }
    server.post("/locked/", "more than ten bytes").assert_error(413, "body_too_large", &[]);
    until_status(&server, "/slow/", 429).assert_error(429, "rate_limited", &[]);
}

#[test]
fn streams_and_disconnects_are_proxied() {
    let (_folder, server) = twins("cordon-streams");
    let mut client = server.connect();
    client.start_chunked("/away/echo");
    for (n, word) in ["one", "two", "three"].iter().enumerate() {
        client.send_chunk(word);
        if n == 0 {
            assert_eq!(client.head().status, 200);
        }
        assert_eq!(client.text_chunk(), *word);
    }
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);

    let gone = |count: usize| {
        until_text(&server, "/away/aborted", &count.to_string());
    };
    let mut client = server.connect();
    client.start("GET", "/away/stream", &[]);
    assert_eq!(client.head().header("content-type"), Some("text/event-stream"));
    assert_eq!(client.text_chunk(), "data: first\n\n");
    client.disconnect();
    gone(1);
    let mut client = server.connect();
    client.start("GET", "/away/wait", &[]);
    // The request has arrived when a later one on a worker of its own has been answered.
    eventually(&server, "two are in flight", || in_flight(&server, "away") >= 1);
    client.disconnect();
    gone(2);
}

#[test]
fn websockets_are_proxied() {
    let (_folder, server) = twins("cordon-sockets");
    let mut client = server.connect();
    let asking = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")];
    client.start("GET", "/away/socket", &[&asking[..], &[("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")]].concat());
    let head = client.head();
    assert_eq!((head.status, head.header("sec-websocket-accept")), (101, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
    // A mask of zeros leaves the payload as it is.
    client.send(b"\x81\x85\0\0\0\0hello");
    assert_eq!(client.exactly(16), b"\x81\x0eyou said hello");
    client.send(b"\x88\x82\0\0\0\0\x0f\xa1");
    assert_eq!(client.exactly(4), b"\x88\x02\x0f\xa1", "4001 there and back");
    assert_eq!(client.rest(), b"");
}

/// Requests to an app without a response yet.
fn in_flight(server: &Server, app: &str) -> u64 {
    metric(server, "hearth_requests_in_flight", app)
}

/// The sum of a metric's samples for one app.
fn metric(server: &Server, name: &str, app: &str) -> u64 {
    let page = server.ask("GET", "/metrics", "");
    let label = format!("app=\"{app}\"");
    let of_app = page.text().lines().filter(|line| line.starts_with(&format!("{name}{{")) && line.contains(&label));
    of_app.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap() as u64).sum()
}

#[test]
fn a_hundred_megabytes_are_proxied_without_being_buffered() {
    const PIECE: usize = 1 << 20;
    let (_folder, server) = twins("cordon-large");
    let mut most = 0;
    for round in 0..2 {
        let mut client = server.connect();
        client.start("POST", "/away/echo", &[("content-length", &(100 * PIECE).to_string())]);
        let mut writer = client.writer();
        let sending = std::thread::spawn(move || {
            let piece = vec![b'x'; PIECE];
            (0..100).for_each(|_| writer.write_all(&piece).unwrap());
        });
        assert_eq!(client.head().header("content-length"), Some(&*(100 * PIECE).to_string()));
        for piece in 0..100 {
            assert!(client.exactly(PIECE).iter().all(|byte| *byte == b'x'));
            if piece % 10 == 9 {
                let now = cells(&server).into_iter().map(memory).max().unwrap_or(0);
                // The first round allocates what is allocated once.
                assert!(round == 0 || now < most + (50 << 20), "{now} bytes, {most} before");
                most = if round == 0 { most.max(now) } else { most };
            }
        }
        sending.join().unwrap();
    }
}

#[test]
fn a_crash_affects_only_the_own_cell_which_is_replaced() {
    let (_folder, server) = twins("cordon-down");
    for _ in 0..2 {
        until_status(&server, "/away/id", 200);
        let cell = cordon(&server).unwrap();
        let mut cut = server.connect();
        cut.start("GET", "/away/stream", &[]);
        assert_eq!(cut.head().status, 200);
        assert_eq!(cut.text_chunk(), "data: first\n\n");
        let mut waiting = server.connect();
        waiting.start("GET", "/away/wait", &[]);
        let mut neighbour = server.connect();
        neighbour.start_chunked("/here/echo");
        neighbour.send_chunk("before");
        neighbour.head();
        assert_eq!(neighbour.text_chunk(), "before");
        eventually(&server, "the request is there", || in_flight(&server, "away") >= 1);
        kill(cell);
        assert!(!String::from_utf8_lossy(&cut.rest()).contains("0\r\n\r\n"), "the body must not end regularly");
        let lost = waiting.reply();
        lost.assert_error(503, "cordoned", &["try again", "hearth cordon"]);
        assert!(lost.header("retry-after").is_some());
        neighbour.send_chunk("after");
        assert_eq!(neighbour.text_chunk(), "after", "others do not notice");
        server.expect("/here/base", "/here");
    }
    until_status(&server, "/away/id", 200);
}

#[test]
fn requests_are_counted_once() {
    let (_folder, server) = twins("cordon-counts");
    let before = metric(&server, "hearth_requests_total", "away");
    for _ in 0..20 {
        server.expect("/away/base", "/away");
    }
    server.get("/away/throw").assert_error(502, "app_failed", &[]);
    eventually(&server, "all are counted", || metric(&server, "hearth_requests_total", "away") >= before + 21);
    assert_eq!(metric(&server, "hearth_requests_total", "away"), before + 21);
    assert_eq!(in_flight(&server, "away"), 0);
}

#[test]
fn an_owner_is_cordoned_and_released_under_load() {
    let folder = Folder::new("cordon-moves");
    folder.write("app/index.js", "export default { fetch: async (request) => new Response(request.body ?? 'ok') };");
    folder.write("app/manifest.yaml", "isolation: shared\n");
    let server = folder.serve(&["--drain-timeout", "60s"]);
    server.expect("/app/", "ok");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = || {
            let mut client = server.connect();
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                let reply = client.get("/app/");
                assert_eq!((reply.status, reply.text()), (200, "ok"), "{reply:?}; the log:\n{}", server.log());
                count += 1;
                if reply.header("connection") == Some("close") {
                    client = server.connect();
                }
            }
            count
        };
        let askers: Vec<_> = (0..2).map(|_| scope.spawn(asking)).collect();
        for isolation in ["process", "shared", "process", "shared"] {
            let mut held = hold(&server);
            folder.write("app/manifest.yaml", format!("isolation: {isolation}\n"));
            eventually(&server, "it has moved", || cordon(&server).is_some() == (isolation == "process"));
            held.send_chunk("finished");
            assert_eq!(held.text_chunk(), "finished", "what was in flight ends where it was");
            held.send_last_chunk();
            assert_eq!(held.chunk(), None);
        }
        over.store(true, Ordering::Relaxed);
        for asker in askers {
            assert!(asker.join().unwrap() > 0);
        }
    });
}

#[test]
fn a_new_version_is_served_without_a_gap() {
    let folder = Folder::new("cordon-changes");
    folder.say("app", "one");
    folder.write("app/manifest.yaml", "isolation: process\n");
    let server = folder.serve(&[]);
    until_text(&server, "/app/", "one");
    folder.say("app", "two");
    until_changed(&server, "/app/", "one", "two");
    folder.write("app@2.0.0/manifest.yaml", "isolation: process\n");
    folder.say("app@2.0.0", "second version");
    until_text(&server, "/app@2/", "second version");
    server.expect("/app/", "two");
    folder.remove("app");
    until_changed(&server, "/app/", "two", "second version");
}

/// A request that is in flight until the client ends it.
fn hold(server: &Server) -> Client {
    let mut client = server.connect();
    client.start_chunked("/app/");
    client.send_chunk("held");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "held");
    client
}
