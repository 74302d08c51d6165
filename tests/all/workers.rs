//! What each app may use, and how its workers live: limits, modes, ages, hooks, egress, all from its manifest.

use crate::folder::{Folder, eventually, has_line, until_text, warnings};

const COUNT: &str = "let count = 0;\nexport default { fetch: () => new Response(String(++count)) };";

#[test]
fn each_app_has_its_own_limits() {
    let folder = Folder::new("limits");
    let hog = r#"
        const kept = [];
        export default {
          fetch(request) {
            switch (new URL(request.url).pathname) {
              case "/loop": for (;;);
              case "/never": return new Promise(() => {});
              case "/read": return request.text().then((text) => new Response(String(text.length)));
              case "/memory": for (;;) kept.push(new Array(100000).fill(kept.length + 0.5));
              default: return new Response("fine");
            }
          },
        };
    "#;
    for (app, manifest) in [
        ("cpu", "cpu: 200ms\n"),
        ("memory", "memory: 24mb\ncpu: 20s\n"),
        ("timeout", "timeout: 200ms\n"),
        ("small", "maxBodySize: 1kb\n"),
    ] {
        folder.write(&format!("{app}/index.js"), hog);
        folder.write(&format!("{app}/manifest.yaml"), manifest);
    }
    folder.write("other/index.js", COUNT);
    folder.write("other/manifest.yaml", "maxWorkers: 1\n");
    let server = folder.serve(&[]);
    server.expect("/other/", "1");
    server.get("/cpu/loop").assert_error(503, "limit_cpu", &["200ms"]);
    server.get("/memory/memory").assert_error(503, "limit_heap", &["24"]);
    server.get("/timeout/never").assert_error(504, "limit_wall", &["200ms"]);
    for app in ["cpu", "memory", "timeout"] {
        until_text(&server, &format!("/{app}/"), "fine");
    }
    // The limits of one are not those of another, and nothing of this disturbs another.
    server.expect("/other/", "2");

    assert_eq!(server.post("/small/", [b'x'; 1024]).text(), "fine");
    server.post("/small/", [b'x'; 1025]).assert_error(413, "body_too_large", &["1"]);
    let mut client = server.connect();
    client.start("POST", "/small/", &[("content-length", "1000000000000")]);
    client.reply().assert_error(413, "body_too_large", &[]);
    let mut client = server.connect();
    client.start_chunked("/small/read");
    client.send_chunk([b'x'; 1000]);
    client.send_chunk([b'x'; 1000]);
    client.reply().assert_error(413, "body_too_large", &[]);
    assert_eq!(server.post("/other/", vec![b'x'; 2000]).text(), "3");
}

#[test]
fn each_app_has_its_own_workers() {
    let folder = Folder::new("workers");
    for (app, manifest) in [
        ("three", "maxRequests: 3\nmaxWorkers: 1\n"),
        ("ephemeral", "ttl: 0\n"),
        ("oneshot", "execution: oneshot\n"),
        ("shared", "execution: shared\n"),
        ("pinned", "execution: pinned\nmaxWorkers: 1\n"),
        ("pooled", "execution: pooled\nmaxWorkers: 1\n"),
        ("aged", "ttl: 1s\ntimeout: 1s\nmaxWorkers: 1\n"),
    ] {
        folder.write(&format!("{app}/index.js"), COUNT);
        folder.write(&format!("{app}/manifest.yaml"), manifest);
    }
    let gate = r#"
        let most = 0, here = 0;
        export default {
          async fetch() {
            most = Math.max(most, ++here);
            await new Promise((go) => setTimeout(go, 20));
            here--;
            return new Response(String(most));
          },
        };
    "#;
    folder.write("gate/index.js", gate);
    folder.write("gate/manifest.yaml", "concurrency: 3\nmaxWorkers: 1\n");
    let server = folder.serve(&["--queue-timeout", "1m"]);
    let four = |app: &str| [1, 2, 3, 4].map(|_| server.get(&format!("/{app}/")).text().to_owned());
    assert_eq!(four("three"), ["1", "2", "3", "1"]);
    for app in ["ephemeral", "oneshot", "shared"] {
        assert_eq!(four(app), ["1", "1", "1", "1"], "{app}");
    }
    for app in ["pinned", "pooled"] {
        assert_eq!(four(app), ["1", "2", "3", "4"], "{app}");
    }
    // The second time it is another worker's first request.
    until_text(&server, "/aged/", "1");
    until_text(&server, "/aged/", "1");
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.start("GET", "/gate/", &[]);
    }
    for client in &mut clients {
        let most: usize = client.reply().text().parse().unwrap();
        assert!(most <= 3, "{most} at once");
    }
}

/// Tells of its end, and when it has nothing to do.
const HOOKS: &str = r#"
    let count = 0;
    const tell = (what) => console.log(`${what} ${Hearth.app.name} ${Hearth.app.worker} after ${count}.`);
    export default { fetch: () => new Response(String(++count)) };
    export const onIdle = () => tell("idle");
    export const onTerminate = () => tell("ended");
"#;

#[test]
fn a_worker_is_told_when_it_is_idle_and_when_it_ends() {
    let folder = Folder::new("idle");
    for (app, manifest) in [
        ("idle", "idleTimeout: 300ms\nmaxWorkers: 1\n"),
        ("used", "maxRequests: 3\nmaxWorkers: 1\n"),
        ("gone", "idleTimeout: 1h\nmaxWorkers: 1\n"),
    ] {
        folder.write(&format!("{app}/index.js"), HOOKS);
        folder.write(&format!("{app}/manifest.yaml"), manifest);
    }
    folder.write("capped/index.js", COUNT);
    folder.write("capped/manifest.yaml", "ttl: 40s\nidleTimeout: 5m\n");
    let server = folder.serve(&[]);
    let told = |what: &str| server.log().matches(what).count();
    // Idle, ended, and the next request has a new worker.
    assert_eq!(server.get("/idle/").text(), "1");
    eventually(&server, "the worker ended", || told("ended idle ") == 1);
    assert!(server.log().find("idle idle ").unwrap() < server.log().find("ended idle ").unwrap());
    // Used now and then: it is told at most once in each of its idle times.
    for n in 2..5 {
        server.get("/idle/");
        eventually(&server, "it is idle again", || told("idle idle ") >= n);
    }
    let log = server.log();
    let mut lines: Vec<&str> =
        log.lines().filter_map(|line| line.split_once("idle idle ")).map(|(_, line)| line).collect();
    lines.sort_unstable();
    let all = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), all, "{log}");
    // The last request of a worker is the end of it, and of no other.
    let texts = [1, 2, 3, 4].map(|_| server.get("/used/").text().to_owned());
    assert_eq!(texts, ["1", "2", "3", "1"]);
    eventually(&server, "it ended", || told("ended used ") == 1);
    assert!(server.wait_log("ended used ").contains("after 3."));
    // A version that is gone takes its workers with it.
    assert_eq!(server.get("/gone/").text(), "1");
    folder.remove("gone");
    assert!(server.wait_log("ended gone ").contains("after 1."));
    has_line(&warnings(&server, "capped"), &["idleTimeout", "longer than ttl", "40s"]);
}

#[test]
fn an_app_reaches_what_its_egress_allows() {
    let folder = Folder::new("reach");
    let code = r#"
        export default {
          async fetch(request, env) {
            const to = new URL(request.url).searchParams.get("to");
            try { return new Response("reached " + (await (await fetch(to)).text())); }
            catch (error) { return new Response("no: " + error.name); }
          },
        };
    "#;
    for (app, manifest) in
        [("default", ""), ("all", "egress: all\n"), ("none", "egress: none\n"), ("list", "egress: [127.0.0.1]\n")]
    {
        folder.write(&format!("{app}/index.js"), code);
        folder.write(&format!("{app}/manifest.yaml"), manifest);
    }
    folder.say("good", "good");
    let server = folder.serve(&[]);
    let to = server.url("/good/");
    for (app, text) in [("default", "no: "), ("none", "no: "), ("all", "reached good"), ("list", "reached good")] {
        let reply = server.get(&format!("/{app}/?to={to}"));
        assert!(reply.text().starts_with(text), "{app}: {}", reply.text());
    }
}

#[test]
fn tasks_are_counted_like_requests() {
    let app = "export default {
        fetch: () => new Response('fine'),
        task({ payload }) { if (payload === 'fail') throw new Error('as it was told'); },
    };";
    let folder = Folder::with("workers-tasks", &[("app/index.js", app)]);
    let server = folder.serve(&["--threads", "1"]);
    let task = |payload: &str| server.ask_json("POST", "/admin/apps/app/task", payload)["success"].clone();
    assert_eq!((task("1"), task("\"fail\""), task("2")), (true.into(), false.into(), true.into()));
    server.expect("/app/", "fine");
    let workers = server.ask_json("GET", "/admin/workers", "");
    let sum = |key: &str| workers.as_array().unwrap().iter().map(|one| one[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("requestCount"), sum("errorCount")), (4, 1), "{workers}");
}
