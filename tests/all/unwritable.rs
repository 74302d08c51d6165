//! A first start where nothing can be kept: the apps in folders are served all the same.

use serde_json::Value;

use crate::client::Client;
use crate::folder::{Folder, says};
use crate::server::{Server, TOKEN, run};

#[test]
fn apps_in_folders_are_served_without_a_store() {
    let folder =
        Folder::with("unwritable", &[("apps/hello/index.js", &says("well")), ("shop/index.js", &says("shop"))]);
    // No user can create a folder there.
    let data = "/sys/hearth-test/data";
    let mut server = Server::start(&["serve", folder.of("apps").to_str().unwrap(), "--data", data], &[]);
    server.expect("/hello/", "well");
    let health = Client::connect(&server.admin()).get("/health");
    let health: Value = serde_json::from_str(health.text()).unwrap();
    assert_eq!((&health["status"], &health["store"]["status"]), (&"degraded".into(), &"degraded".into()), "{health}");
    let shop = folder.of("shop");
    let deploy = ["deploy", shop.to_str().unwrap(), "--version", "1.0.0"];
    let ended = run(&[&deploy[..], &["--admin", &server.admin(), "--admin-token", TOKEN]].concat());
    assert!(!ended.status.success(), "{}", ended.stdout);
    assert!(ended.stderr.contains("nothing can be kept in /sys/hearth-test/data"), "{}", ended.stderr);
    server.interrupt();
    let (status, log) = server.wait();
    assert!(status.success(), "{status}; the log:\n{log}");
    assert!(log.contains("ERROR") && log.contains("nothing can be kept in /sys/hearth-test/data"), "{log}");
}
