//! Code that no limit within a process can stop: it makes V8 abort, or runs long after its termination. Meanwhile another app
//! is requested: no request is refused, only requests in flight at a first abort are lost, and the culprit is named.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::scene::{VISITORS, await_balance, await_standby, cordons, crashes, culprit, heavy, metric, serve_folder};
use crate::folder::{Folder, eventually, says};
use crate::server::{PATIENCE, Server, run};
use crate::visitors::Visitors;

/// Code that makes V8 abort, and V8's message.
const ABORTS: [(&str, &str); 4] = [
    (r#""x".repeat(2 ** 28).split("")"#, "invalid size error"),
    ("Array.from({ length: 2 ** 32 - 2 })", "invalid table size"),
    ("(() => { const a = []; a.length = 2 ** 32 - 1; a.fill(1); })()", "invalid table size"),
    ("(() => { const all = []; for (;;) all.push(new Array(1.3e8).fill(0)); })()", "heap limit"),
];

/// Code that is stopped late, or not at all.
const LATE: [&str; 7] = [
    "(() => { const text = JSON.stringify(new Array(3e6).fill(7)); for (;;) JSON.parse(text); })()",
    "(() => { const n = 3n ** 1000000n; for (;;) n * n; })()",
    r#""a".repeat(1e8).replace(/a/g, "bb")"#,
    "Reflect.ownKeys(new Uint8Array(2 ** 28))",
    r#"new Array(2 ** 26).fill("ab").join("")"#,
    r#"JSON.parse("[" + "1,".repeat(8e7) + "1]")"#,
    r#""a".repeat(14e4).lastIndexOf("a".repeat(7e4) + "b")"#,
];

/// A server with clients that request a harmless app.
struct Scene {
    folder: Folder,
    server: Server,
    visitors: Visitors,
}

/// The outcome of a request.
#[derive(Debug, PartialEq, Eq)]
enum Became {
    /// Its cell crashed, and the app is named.
    Crashed,
    /// The turn was found stuck, and the cell replaced.
    Replaced,
    /// The response has this error code.
    Stopped(String),
}

impl Scene {
    fn new(name: &str, configuration: &str) -> Self {
        let folder = Folder::with(name, &[("victim/index.js", &*says("well"))]);
        let server = serve_folder(&folder, configuration);
        let visitors = Visitors::come(&server, VISITORS, "/victim/", "well");
        visitors.await_more(&server, 20);
        Self { folder, server, visitors }
    }

    /// Adds an app, and returns when it is served.
    fn add(&self, app: &str, script: &str, manifest: &str) {
        self.folder.write(&format!("{app}/manifest.yaml"), manifest);
        self.folder.write(&format!("{app}/index.js"), culprit(script));
        eventually(&self.server, "it is served", || self.server.get(&format!("/{app}/")).text() == "fine");
        await_standby(&self.server);
    }

    /// Makes the app run its code, and waits for the outcome. At most `most` requests to other apps may be lost.
    fn provoke(&self, app: &str, script: &str, most: usize) -> Became {
        let Self { server, visitors, .. } = self;
        await_standby(server);
        let lines = |log: &str, parts: [&str; 2]| {
            log.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count()
        };
        let seen = || {
            let (log, named) = (server.log(), format!("app={app} "));
            let of_app = crashes(server).iter().filter(|one| one["app"] == *app && one["owner"] == *app).count();
            let stuck = lines(&log, ["turn is stuck", &named]);
            (of_app, stuck, lines(&log, ["cell replaced", "reason=stuck"]))
        };
        let (lost, before) = (visitors.lost(), seen());
        let answer = ask(server, &format!("/{app}/do"));
        let deadline = Instant::now() + PATIENCE;
        let became = loop {
            let now = seen();
            if now.0 > before.0 {
                break Became::Crashed;
            }
            if now.1 > before.1 && now.2 > before.2 {
                break Became::Replaced;
            }
            // There is no response if the cell crashes, or if a main cell is crashed by another app.
            if let Some(code) = answer.try_recv().ok().filter(|code| !code.is_empty() && code != "cordoned") {
                break Became::Stopped(code);
            }
            assert!(Instant::now() < deadline, "nothing comes of {script}; the log:\n{}", server.log());
            thread::sleep(Duration::from_millis(10));
        };
        visitors.await_more(server, 20);
        let lost = visitors.lost() - lost;
        assert!(lost <= most as u64, "{script} cost {lost} requests; the log:\n{}", server.log());
        became
    }

    /// Ends all clients, and checks that nothing is left.
    fn end(self) {
        let Self { server, visitors, folder: _folder } = self;
        visitors.await_more(&server, 20);
        visitors.go(&server);
        eventually(&server, "no owner is cordoned", || cordons(&server).is_empty());
        // A released owner keeps its own cell for a short time.
        eventually(&server, "one main cell is there, and a standby", || {
            ["hearth_cells_serving", "hearth_cells_standby"].map(|name| metric(&server, name)) == [1, 1]
        });
        await_balance(&server);
        eventually(&server, "created - destroyed = live, of isolates", || {
            let report = server.report();
            let number = |name: &str| report[name].as_u64().unwrap();
            number("created") - number("destroyed") == number("live")
        });
    }
}

/// Receives the code of the response; nothing if the connection ends before it.
fn ask(server: &Server, path: &str) -> Receiver<String> {
    let (address, path) = (server.address().to_owned(), path.to_owned());
    let (answered, answer) = channel();
    thread::spawn(move || {
        let mut client = crate::client::Client::connect(&address);
        client.start("GET", &path, &[("connection", "close")]);
        let text = String::from_utf8_lossy(&client.rest()).into_owned();
        let code = text.split_once(r#""code":""#).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
        // The receiver may have been dropped.
        let _ = answered.send(code.to_owned());
    });
    answer
}

#[test]
fn an_app_that_makes_v8_abort_is_cordoned_after_the_first_time() {
    let _one = heavy();
    // A replaced cell in which the code still runs has time to end.
    let scene = Scene::new("cells-aborts", "stuck_limit: 1s\ndrain_timeout: 60s\n");
    for (number, (script, words)) in ABORTS.into_iter().enumerate() {
        let app = format!("culprit{number}");
        scene.add(&app, script, "");
        // Some code takes long: then the cell is replaced before it crashes, and no request is lost.
        let became = scene.provoke(&app, script, VISITORS);
        eventually(&scene.server, &format!("{script} is named"), || {
            crashes(&scene.server).iter().any(|one| one["app"] == *app && one["last_words"].to_string().contains(words))
        });
        eventually(&scene.server, &format!("{script} is shut away"), || {
            cordons(&scene.server).iter().any(|one| one["owner"] == *app && one["why"] == "crashed")
        });
        // Only its own cell crashes, or is replaced, now.
        let again = scene.provoke(&app, script, 0);
        assert!(matches!(again, Became::Crashed | Became::Replaced), "{script}: {became:?}, then {again:?}");
        scene.folder.remove(&app);
    }
    scene.end();
}

#[test]
fn an_app_that_ignores_termination_is_replaced_and_cordoned() {
    let _one = heavy();
    let scene = Scene::new("cells-late", "stuck_limit: 1s\ndrain_timeout: 500ms\n");
    for (number, script) in LATE.into_iter().enumerate() {
        let app = format!("culprit{number}");
        scene.add(&app, script, "cpu: 300ms\n");
        let attempts = [(); 2].map(|()| scene.provoke(&app, script, 0));
        for one in &attempts {
            let stopped = matches!(one, Became::Stopped(code) if ["limit_cpu", "limit_heap"].contains(&&**code));
            assert!(stopped || *one == Became::Replaced, "{script}: {attempts:?}");
        }
        if attempts == [Became::Replaced, Became::Replaced] {
            let shut = || cordons(&scene.server).iter().any(|one| one["owner"] == *app && one["why"] == "stuck");
            eventually(&scene.server, &format!("{script} is shut away"), shut);
        }
        scene.folder.remove(&app);
    }
    scene.end();
}

#[test]
fn the_number_of_isolates_stays_within_the_limit_of_v8() {
    const APPS: usize = 120;
    let folder = Folder::new("cells-isolates");
    for app in 0..APPS {
        folder.say(&format!("app{app}"), &format!("app {app}"));
    }
    folder.write(".settings/hearth.yaml", "isolates: 3501\n");
    let path = folder.of(".settings/hearth.yaml");
    let refused = run(&["serve", folder.path().to_str().unwrap(), "--config", path.to_str().unwrap(), "--check"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("hearth.yaml:1:") && refused.stderr.contains("3500"), "{}", refused.stderr);
    let server = serve_folder(&folder, "isolates: 30\nspares: 2\n");
    let count = |path: &str| server.report().pointer(path).and_then(serde_json::Value::as_u64).unwrap();
    for round in 0..2 {
        for app in 0..APPS {
            server.expect(&format!("/app{app}/"), &format!("app {app}"));
            if app % 10 == round {
                assert!(count("/cached") <= 30, "{}", server.report());
            }
        }
    }
    // Evicted isolates are destroyed a little later.
    eventually(&server, "nothing is left of the others", || count("/live") == 30 + 2 && count("/spares/ready") == 2);
    assert_eq!(count("/created") - count("/destroyed"), 32, "{}", server.report());
}
