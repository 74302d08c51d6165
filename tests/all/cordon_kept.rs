//! Cordons survive an upgrade, a restart and the sudden end of control. Only a new version of the owner, or the operator,
//! releases them.

use serde_json::Value;

use crate::cells::scene::{ABORT, cordons, culprit, heavy, provoke};
use crate::folder::{Folder, eventually, says};
use crate::server::{Server, scratch};

/// The only cordon, once its cell serves.
#[track_caller]
fn cordon(server: &Server) -> Value {
    eventually(server, "its own cell serves", || {
        let all = cordons(server);
        all.len() == 1 && all[0]["state"] == "serving"
    });
    cordons(server).remove(0)
}

/// The fields that must not change.
fn kept_fields(cordon: &Value) -> [&Value; 4] {
    ["owner", "why", "since", "losses"].map(|key| &cordon[key])
}

#[test]
fn a_cordon_for_a_crash_survives_restarts() {
    let _one = heavy();
    let files = [("victim/index.js", &*says("well")), ("culprit/index.js", &*culprit(ABORT))];
    let folder = Folder::with("cordon-kept", &files);
    let data = scratch("cordon-kept-data");
    let start = || folder.serve(&["--data", data.to_str().unwrap(), "--threads", "2"]);
    let mut server = start();
    server.expect("/culprit/", "fine");
    provoke(&server, "/culprit/do");
    let first = cordon(&server);
    assert_eq!((&first["owner"], &first["why"]), (&"culprit".into(), &"crashed".into()), "{first}");
    // Its own cell crashes as well, once.
    provoke(&server, "/culprit/do");
    eventually(&server, "that is counted", || cordons(&server)[0]["losses"] == 1);
    let before = cordon(&server);

    server.signal("-KILL");
    server.wait();
    server = start();
    assert!(server.wait_log("cordon restored").contains("owner=culprit"));
    assert_eq!(kept_fields(&cordon(&server)), kept_fields(&before));
    server.expect("/culprit/", "fine");
    let main = server.cell();
    // After a second crash soon after the first the cordon is shut for a while. Other apps are not affected.
    provoke(&server, "/culprit/do");
    eventually(&server, "that is counted on", || cordons(&server)[0]["losses"] == 2);
    server.expect("/victim/", "well");
    assert_eq!(server.cell(), main, "the main cell never met it");
    let before = cordon(&server);

    assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
    eventually(&server, "another program serves", || server.log().matches("Listening on http://").count() == 2);
    assert_eq!(kept_fields(&cordon(&server)), kept_fields(&before));

    folder.say("culprit", "better now");
    eventually(&server, "it is released", || cordons(&server).is_empty());
    // The new version replaces the old one a moment later.
    eventually(&server, "it is better", || server.get("/culprit/").text() == "better now");
    server.signal("-TERM");
    assert!(server.wait().0.success());
    server = start();
    server.expect("/culprit/", "better now");
    assert!(cordons(&server).is_empty(), "and stays so");
    drop(server);
    let _ = std::fs::remove_dir_all(data);
}

#[test]
fn a_cordon_by_the_operator_survives_new_versions_and_restarts() {
    let folder = Folder::with("cordon-decided", &[("app/index.js", &*says("one"))]);
    let data = scratch("cordon-decided-data");
    let start = || folder.serve(&["--data", data.to_str().unwrap()]);
    let mut server = start();
    assert_eq!(server.ask_json("PUT", "/admin/cordons/app", "")["cordoned"], true);
    server.signal("-KILL");
    server.wait();
    folder.say("app", "two");
    server = start();
    assert_eq!(cordon(&server)["why"], "operator", "not even something new lets it go");
    server.expect("/app/", "two");
    assert_eq!(server.ask_json("DELETE", "/admin/cordons/app", "")["cordoned"], false);
    server.signal("-KILL");
    server.wait();
    server = start();
    server.expect("/app/", "two");
    assert!(cordons(&server).is_empty());
    drop(server);
    let _ = std::fs::remove_dir_all(data);
}
