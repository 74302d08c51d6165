//! Apps without a latency history: their first turns run apart from all others', where there are others, which no client notices that is
//! quick.

use std::time::{Duration, Instant};

use crate::client::Client;
use crate::folder::Folder;
use crate::server::{AMPLE, PATIENCE, Server};

/// Has no end at `/loop`, and says which worker answered elsewhere.
const LOOP: &str = r#"
    const trail = async (hops) => {
      for (let i = 0; i < hops; i++) await null;
    };
    export default {
      fetch(request, env, ctx) {
        switch (new URL(request.url).pathname) {
          case "/loop":
            for (;;);
          case "/after":
            ctx.waitUntil(trail(50).then(() => { for (;;); }));
            return new Response("answered");
          case "/aside":
            trail(50).then(() => { for (;;); });
            return new Response("answered");
          case "/stream": {
            const begin = (stream) => stream.enqueue(new TextEncoder().encode("first"));
            const pull = () => trail(50).then(() => { for (;;); });
            return new Response(new ReadableStream({ start: begin, pull }, { highWaterMark: 2 }));
          }
          case "/wait":
            ctx.waitUntil(trail(50));
            break;
          case "/throw":
            throw new Error("as a test wants it");
        }
        return new Response(Hearth.app.worker);
      },
    };
"#;

/// Threads of turns that are apart from others': in the lane where the machine is so slow that the app was found to be before it
/// came to this.
const APART: [&str; 2] = ["hearth-trial", "hearth-lane"];

/// What a turn has to have used for the kernel to have noticed: its clock ticks a hundred times a second.
const NOTICED: u64 = 20;

/// The threads of the cell that have computed a lot, by their names.
fn hard_at_work(server: &Server) -> Vec<String> {
    let threads = hearth_sys::procfs::threads(server.cell()).filter(|thread| thread.ticks >= NOTICED);
    let name = |id| std::fs::read_to_string(format!("/proc/{}/task/{id}/comm", server.cell()));
    threads.filter_map(|thread| Some(name(thread.id).ok()?.trim_end().to_owned())).collect()
}

fn start(name: &str, flags: &[&str]) -> (Folder, Server) {
    let folder = Folder::with(name, &[("loop/index.js", LOOP), ("other/index.js", LOOP), ("third/index.js", LOOP)]);
    let server = folder.serve(&[&["--cpu", AMPLE, "--wall", AMPLE][..], flags].concat());
    (folder, server)
}

fn send(server: &Server, path: &str) -> Client {
    let mut client = server.connect();
    client.start("GET", path, &[]);
    client
}

/// Waits until so many threads that run turns have computed a lot, and says which.
fn expect_at_work(server: &Server, count: usize) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut threads = hard_at_work(server);
        threads.retain(|thread| ["hearth-worker", APART[0], APART[1]].contains(&thread.as_str()));
        if threads.len() >= count {
            return threads;
        }
        assert!(Instant::now() < deadline, "{:?}; the log:\n{}", hard_at_work(server), server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_first_turn_of_an_app_runs_apart_where_others_are_at_work() {
    let (_folder, server) = start("probation", &["--threads", "1"]);
    // Where no other worker runs it stays where its request is, and a standby worker takes over for that thread.
    let _first = send(&server, "/loop/loop");
    expect_at_work(&server, 1);
    let _second = send(&server, "/other/loop");
    let threads = expect_at_work(&server, 2);
    assert!(threads.iter().any(|thread| APART.contains(&thread.as_str())), "{threads:?}");
    assert_eq!(server.get("/third/").status, 200, "no other request waits for them");
}

/// The next request comes as soon as the answer is there, and finds the same worker free.
#[test]
fn a_client_that_asks_one_after_the_other_has_one_worker() {
    let (_folder, server) = start("probation", &["--threads", "4"]);
    let mut client = server.connect();
    let worker = client.get("/loop/").text().to_owned();
    for path in ["/loop/", "/loop/wait", "/loop/throw"].repeat(10) {
        let reply = client.get(path);
        if path == "/loop/throw" {
            reply.assert_error(502, "app_failed", &[]);
        } else {
            assert_eq!(reply.text(), worker, "{path}");
        }
    }
    assert_eq!(server.report()["modes"]["pooled"]["created"], 1);
}

/// What goes on after an answer, in the same turn and for ever, does not keep it.
#[test]
fn a_turn_that_goes_on_does_not_keep_its_answer() {
    for path in ["/loop/after", "/loop/aside"] {
        let (_folder, server) = start("probation", &["--threads", "2"]);
        server.expect(path, "answered");
        // Its worker is at work: the next request has another.
        assert_eq!(server.get("/loop/").status, 200);
    }
}

#[test]
fn a_turn_that_goes_on_does_not_keep_its_stream() {
    let (_folder, server) = start("probation", &["--threads", "2"]);
    let mut client = send(&server, "/loop/stream");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "first");
}
