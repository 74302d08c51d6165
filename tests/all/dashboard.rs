//! The dashboard, in a real browser (`tests/dashboard/drive.mjs`): logging in, every view, a sandbox, a secret and a token.

use std::path::Path;
use std::process::Command;

use crate::packages::packages;
use crate::server::{TOKEN, scratch, serve_folder};

#[test]
fn every_view_works_in_a_browser() {
    let driver = packages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/dashboard"), "dashboard");
    let folder = scratch("dashboard-apps");
    let app = folder.join("hello");
    std::fs::create_dir_all(&app).unwrap();
    std::fs::write(app.join("manifest.yaml"), "idleTimeout: 1h\n").unwrap();
    let code = "export default { fetch() { console.warn('asked'); return new Response('hello'); } };";
    std::fs::write(app.join("index.js"), code).unwrap();
    let config = scratch("dashboard-config").join("hearth.yaml");
    std::fs::write(&config, "sandboxes:\n  pool: { min_size: 1 }\n").unwrap();
    let server = serve_folder(&folder, &["--config", config.to_str().unwrap()]);
    server.expect("/hello/", "hello");
    server.ask_json("POST", "/admin/sandboxes", "{}");
    let shots = scratch("dashboard-shots");
    let driven = Command::new("node")
        .arg("drive.mjs")
        .args([&format!("http://{}", server.admin()), TOKEN])
        .arg(&shots)
        .current_dir(&driver)
        .output()
        .unwrap();
    let (told, failed) = (String::from_utf8_lossy(&driven.stdout), String::from_utf8_lossy(&driven.stderr));
    assert!(driven.status.success(), "{told}{failed}\nthe log:\n{}", server.log());
}
