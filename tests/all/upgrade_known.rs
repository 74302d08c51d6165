//! State that an upgrade must keep, and requests while the new program is still loading: none is answered that an app does
//! not exist.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::cells::scene::{STUCK, cordons, crash, crashes, culprit, heavy, metric, signal};
use crate::folder::{Folder, eventually, says};
use crate::server::{PATIENCE, Server, TOKEN};

/// Upgrades, and returns when the next program serves.
#[track_caller]
fn upgrade(server: &Server) {
    let programs = || server.log().matches("Listening on http://").count();
    let before = programs();
    assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
    eventually(server, "another program serves", || programs() > before);
}

#[test]
fn crashes_are_kept_in_an_upgrade() {
    let folder = Folder::with("upgrade-crashes", &[("app/index.js", &*says("hello"))]);
    let server = folder.serve(&[]);
    signal(server.cell(), "-KILL");
    let first = crash(&server, 1);
    upgrade(&server);
    assert_eq!(crashes(&server), std::slice::from_ref(&first));
    assert_eq!(metric(&server, "hearth_cells_lost_total"), 1);
    signal(server.cell(), "-KILL");
    let second = crash(&server, 2);
    upgrade(&server);
    assert_eq!(crashes(&server), [second, first], "the newest first");
    assert_eq!(metric(&server, "hearth_cells_lost_total"), 2);
    server.expect("/app/", "hello");
}

#[test]
fn counts_of_stuck_turns_are_kept_in_an_upgrade() {
    let _one = heavy();
    let files = [("culprit/index.js", &*culprit(STUCK)), (".settings/hearth.yaml", "stuck_limit: 200ms\n")];
    let folder = Folder::with("upgrade-stuck", &files);
    folder.write("culprit/manifest.yaml", "cpu: 200ms\n");
    let config = folder.of(".settings/hearth.yaml");
    let server = folder.serve(&["--config", config.to_str().unwrap(), "--threads", "2"]);
    let ask = || {
        let mut client = server.connect();
        client.start("GET", "/culprit/do", &[]);
        client
    };
    let first = ask();
    assert!(server.wait_log("cell replaced").contains("reason=stuck"));
    assert!(cordons(&server).is_empty(), "once is an accident");
    upgrade(&server);
    assert!(cordons(&server).is_empty(), "and stays one");
    let second = ask();
    eventually(&server, "it is shut away", || cordons(&server).iter().any(|one| one["why"] == "stuck"));
    drop((first, second));
}

/// The response of the admin API; an error if the connection ends before it, since the program may be replaced.
fn answer(address: &str, method: &str, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n");
    stream.write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Stops the clients however the test ends.
struct UntilDropped<'a>(&'a AtomicBool);

impl Drop for UntilDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn apps_and_owners_are_never_reported_missing_during_an_upgrade() {
    let folder = Folder::with("upgrade-window", &[("app/index.js", &*says("hello"))]);
    let server = folder.serve(&[]);
    assert_eq!(server.ask_json("PUT", "/admin/cordons/app", "")["cordoned"], true);
    let (admin, over) = (server.admin(), AtomicBool::new(false));
    // Each with a text that a good response contains.
    let asked = [
        ("GET", "/admin/apps/app", "\"name\":\"app\""),
        ("GET", "/admin/apps", "\"name\":\"app\""),
        ("GET", "/admin/cordons", "\"owner\":\"app\""),
        ("PUT", "/admin/cordons/app", "\"cordoned\":true"),
    ];
    thread::scope(|scope| {
        let visit = |(method, path, wanted): (&str, &str, &str)| {
            let mut good = 0;
            while !over.load(Ordering::SeqCst) {
                let Ok(text) = answer(&admin, method, path) else { continue };
                let is_refused = text.starts_with("HTTP/1.1 503 ") && text.contains("retry-after: 1\r\n");
                let is_good = text.starts_with("HTTP/1.1 200 ") && text.contains(wanted);
                assert!(
                    is_good || is_refused || text.is_empty(),
                    "{method} {path}: {text}; the log:\n{}",
                    server.log()
                );
                good += u32::from(is_good);
            }
            assert!(good > 0, "{method} {path} was never answered; the log:\n{}", server.log());
        };
        let _until = UntilDropped(&over);
        for one in asked {
            scope.spawn(move || visit(one));
        }
        for _ in 0..2 {
            upgrade(&server);
        }
    });
}
