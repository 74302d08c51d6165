//! Bounds of the pools: requests with a context of their own, the isolates of one owner, the work of all owners together.

use crate::client::Client;
use crate::folder::Folder;
use crate::pools::{count, many, wait_for, write_app};
use crate::server::{AMPLE, Server, scratch, serve_folder};

const MODES: [&str; 4] = ["pooled", "pinned", "oneshot", "shared"];

/// A stream that echoes, begun, and with its first piece back.
fn streaming(server: &Server) -> Client {
    let mut client = server.connect();
    client.start_chunked("/stream/echo");
    client.send_chunk("begun");
    assert_eq!(client.head().status, 200, "{}", server.log());
    assert_eq!(client.text_chunk(), "begun");
    client
}

fn end(mut client: Client) {
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
}

#[test]
fn requests_that_wait_for_something_outside_hold_no_thread() {
    for how in [["--ttl", "0"], ["--execution", "shared"], ["--execution", "oneshot"]] {
        let server = many(&[&how[..], &["--threads", "2", "--wall", AMPLE]].concat());
        // Each waits for its client, and none for another.
        let clients: Vec<Client> = (0..25).map(|_| streaming(&server)).collect();
        assert_eq!(count(&server, "/running"), 25, "{how:?}");
        server.expect("/good/", "good");
        clients.into_iter().for_each(end);
    }
}

#[test]
fn max_fresh_bounds_them_and_the_next_one_waits() {
    for mode in ["shared", "oneshot"] {
        let server = many(&["--execution", mode, "--max-fresh", "2", "--wall", AMPLE, "--queue-timeout", AMPLE]);
        let (first, second) = (streaming(&server), streaming(&server));
        let mut third = server.connect();
        third.start("GET", "/good/", &[]);
        wait_for("the third does not wait", &server, || count(&server, "/queued") == 1);
        assert_eq!(count(&server, "/running"), 2);
        end(first);
        assert_eq!(third.reply().text(), "good", "{mode}");
        end(second);
    }
}

#[test]
fn a_worker_of_one_event_is_a_miss_and_its_failure_is_counted() {
    let folder = scratch("fresh-counts");
    write_app(&folder, "fine", "export default { fetch: () => new Response('fine') }");
    write_app(&folder, "broken", "throw new Error('no')");
    for mode in ["shared", "oneshot"] {
        let server = serve_folder(&folder, &["--execution", mode]);
        for _ in 0..3 {
            server.expect("/fine/", "fine");
        }
        assert!(server.get("/broken/").status >= 500);
        let of = |path: &str| count(&server, path);
        for path in [format!("/modes/{mode}"), "/owners/fine".to_owned(), "/workers".to_owned()] {
            assert_eq!(of(&format!("{path}/created")), 3, "{path}");
        }
        for path in [format!("/modes/{mode}"), "/owners/fine".to_owned(), String::new()] {
            assert_eq!((of(&format!("{path}/misses")), of(&format!("{path}/hits"))), (3, 0), "{path}");
        }
        for path in [format!("/modes/{mode}/failed"), "/owners/broken/failed".to_owned(), "/workers/failed".to_owned()]
        {
            assert_eq!(of(&path), 1, "{path}");
        }
        wait_for("workers of one event stay", &server, || of("/workers/destroyed") == 3);
    }
}

#[test]
fn an_owner_beyond_its_isolates_loses_only_its_own() {
    let folder = Folder::new("per-owner");
    for n in 0..6 {
        folder.write(&format!("app{n}/index.js"), COUNT);
        folder.write(&format!("app{n}/manifest.yaml"), "owner: many\nmaxWorkers: 1\n");
    }
    folder.write("other/index.js", COUNT);
    let server = folder.serve(&["--max-per-owner", "2", "--isolates", "100"]);
    server.expect("/other/", "1");
    for _ in 0..2 {
        for n in 0..6 {
            server.expect(&format!("/app{n}/"), "1");
        }
        assert_eq!(count(&server, "/owners/many/cached"), 2);
    }
    // The two that came last are warm, and so is the other owner's.
    server.expect("/app5/", "2");
    server.expect("/app4/", "2");
    server.expect("/other/", "2");
    assert_eq!(count(&server, "/evictions"), 10);
}

#[test]
fn an_owner_whose_isolates_are_all_in_use_waits_alone() {
    let folder = Folder::new("per-owner-busy");
    for app in ["held", "next"] {
        folder.write(&format!("{app}/index.js"), "export default { fetch: (request) => new Response(request.body) }");
        folder.write(&format!("{app}/manifest.yaml"), "owner: many\nmaxWorkers: 1\n");
    }
    folder.write("other/index.js", COUNT);
    let server = folder.serve(&["--max-per-owner", "1", "--wall", AMPLE, "--queue-timeout", AMPLE]);
    let mut held = server.connect();
    held.start_chunked("/held/");
    held.send_chunk("begun");
    assert_eq!(held.head().status, 200);
    let mut next = server.connect();
    next.start("GET", "/next/", &[]);
    wait_for("the next one does not wait", &server, || count(&server, "/modes/pooled/waiting") == 1);
    server.expect("/other/", "1");
    assert_eq!(held.text_chunk(), "begun");
    end(held);
    assert_eq!(next.reply().status, 200);
}

#[test]
fn isolates_of_shared_contexts_are_bounded_per_owner() {
    let folder = Folder::new("per-owner-shared");
    // Apps that want different heaps cannot have the same isolate.
    for n in 1..5 {
        folder.write(&format!("app{n}/index.js"), COUNT);
        folder.write(&format!("app{n}/manifest.yaml"), format!("owner: many\nmemory: {}mb\n", 32 * n));
    }
    folder.write("other/index.js", COUNT);
    let server = folder.serve(&["--max-per-owner", "2", "--isolates", "100", "--execution", "shared"]);
    server.expect("/other/", "1");
    for _ in 0..2 {
        for n in 1..5 {
            server.expect(&format!("/app{n}/"), "1");
        }
        wait_for("another owner's isolate went, or more are kept", &server, || {
            count(&server, "/modes/shared/cached") == 3
        });
    }
}

#[test]
fn fresh_requests_of_an_owner_are_bounded_and_the_next_one_waits() {
    for mode in ["oneshot", "shared"] {
        let folder = Folder::new("per-owner-fresh");
        for app in ["held", "next"] {
            folder
                .write(&format!("{app}/index.js"), "export default { fetch: (request) => new Response(request.body) }");
            folder.write(&format!("{app}/manifest.yaml"), "owner: many\n");
        }
        folder.write("other/index.js", COUNT);
        let bounds = ["--max-per-owner", "1", "--execution", mode, "--wall", AMPLE, "--queue-timeout", AMPLE];
        let server = folder.serve(&bounds);
        let mut held = server.connect();
        held.start_chunked("/held/");
        held.send_chunk("begun");
        assert_eq!(held.head().status, 200);
        let mut next = server.connect();
        next.start("GET", "/next/", &[]);
        wait_for("the next one does not wait", &server, || count(&server, "/owners/many/queued") == 1);
        server.expect("/other/", "1");
        assert_eq!(held.text_chunk(), "begun");
        end(held);
        assert_eq!(next.reply().status, 200, "{mode}");
    }
}

#[test]
fn max_queued_bounds_the_work_of_all_owners_in_every_mode() {
    for mode in MODES {
        let server = many(&["--execution", mode, "--max-queued", "2", "--wall", AMPLE]);
        let (first, second) = (streaming(&server), streaming(&server));
        let refused = server.get("/good/");
        refused.assert_error(503, "no_capacity", &["--max-queued"]);
        assert_eq!(refused.header("retry-after"), Some("1"), "{mode}");
        assert_eq!(count(&server, "/owners/good/refused/overloaded"), 1, "{mode}");
        end(first);
        wait_for("its place is not free", &server, || count(&server, "/running") == 1);
        server.expect("/good/", "good");
        end(second);
    }
}

const COUNT: &str = "let count = 0;\nexport default { fetch: () => new Response(String(++count)) };";

#[test]
fn the_sandbox_pool_says_at_its_end_what_it_did() {
    let folder = Folder::with("sandbox-pool", &[("app/index.js", COUNT)]);
    let arguments = ["serve", folder.path().to_str().unwrap(), "--mcp", "127.0.0.1:0"];
    let sizes = [("BOUVET_POOL_ENABLED", "false"), ("BOUVET_POOL_MIN_SIZE", "2"), ("BOUVET_POOL_MAX_BOOTS", "0")];
    let mut server = Server::start(&arguments, &sizes);
    server.wait_log("BOUVET_POOL_ENABLED=false is used for --pool-enabled");
    server.wait_log("BOUVET_POOL_MIN_SIZE=2 is used for --pool-min-size");
    server.wait_log("BOUVET_POOL_MAX_BOOTS=\"0\" is not between 1 and 100");
    server.interrupt();
    let (_, log) = server.wait();
    let end = log.lines().find(|line| line.contains("sandboxes shut down")).unwrap();
    for part in ["created=0", "destroyed=0", "warm_hits=0", "cold_misses=0", "hit_rate=0.00%"] {
        assert!(end.contains(part), "{part} in {end}");
    }
}
