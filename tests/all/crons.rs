//! Crons reach the active version only, and never run twice at once.

use crate::folder::{Folder, eventually};
use crate::server::Server;

const EVERY_SECOND: &str = "crons: ['* * * * * *']\n";

fn count(server: &Server, text: &str) -> usize {
    server.log().lines().filter(|line| line.contains("hearth::console") && line.contains(text)).count()
}

#[test]
fn only_the_active_version_gets_events() {
    let app = "export default { fetch: () => new Response(''), scheduled: (event) => console.log(`tick of ${Hearth.app.version} by ${event.cron}`) };";
    let folder = Folder::new("crons-active");
    for version in ["1.0.0", "2.0.0"] {
        folder.write(&format!("app@{version}/index.js"), app);
        folder.write(&format!("app@{version}/manifest.yaml"), EVERY_SECOND);
    }
    let server = folder.serve(&[]);
    eventually(&server, "it ticks", || count(&server, "tick of 2.0.0 by * * * * * *") >= 2);
    assert_eq!(count(&server, "tick of 1.0.0"), 0, "{}", server.log());
    server.ask_json("POST", "/admin/apps/app/activate?version=1.0.0", "");
    eventually(&server, "the other one ticks", || count(&server, "tick of 1.0.0") >= 1);
    let before = count(&server, "tick of 2.0.0");
    eventually(&server, "the other one goes on", || count(&server, "tick of 1.0.0") >= 4);
    // One event may have been in flight.
    assert!(count(&server, "tick of 2.0.0") <= before + 1, "{}", server.log());
}

#[test]
fn a_run_that_goes_on_is_not_started_twice() {
    let app = r#"
        let release;
        const released = new Promise((resolve) => { release = resolve; });
        export default {
          fetch() {
            release();
            return new Response("released");
          },
          async scheduled() {
            console.log("a run begins");
            await released;
          },
        };
    "#;
    let folder = Folder::with(
        "crons-once",
        &[("app/index.js", app), ("app/manifest.yaml", &format!("{EVERY_SECOND}timeout: 10m\nmaxWorkers: 1\n"))],
    );
    let server = folder.serve(&[]);
    server.wait_log("a run begins");
    server.wait_log("cron skipped");
    assert_eq!(count(&server, "a run begins"), 1, "{}", server.log());
    server.expect("/app/", "released");
    eventually(&server, "it runs again", || count(&server, "a run begins") >= 2);
}

#[test]
fn a_failed_run_is_reported_and_the_next_one_starts() {
    let app = "let n = 0; export default { fetch: () => new Response(''), scheduled() { n++; console.log(`run ${n}`); if (n === 1) throw new Error('the first fails'); } };";
    let folder = Folder::with(
        "crons-failing",
        &[("app/index.js", app), ("app/manifest.yaml", &format!("{EVERY_SECOND}maxWorkers: 1\n"))],
    );
    let server = folder.serve(&[]);
    let line = server.wait_log("cron failed");
    assert!(line.contains("the first fails") && line.contains("app=app"), "{line}");
    let mut events = crate::stream::Events::follow(&server, "/admin/events");
    let event = events.find(|event| event["event"] == "cron_failed");
    assert_eq!((&event["app"], &event["cron"]), (&"app".into(), &"* * * * * *".into()));
    server.wait_log("run 2");
}
