//! `autoInstall`: dependencies as the lock file says, without any script, before the version is served.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::archive::tgz;
use crate::folder::{Folder, eventually, until, until_text};
use crate::server::Server;
use crate::stream::Events;

const MANIFEST: &str = "autoInstall: true\n";
const APP: &str = "import { word } from 'words'; export default { fetch: () => new Response(word) };";
const PACKAGE: &str = r#"{"name":"app","version":"1.0.0","type":"module","dependencies":{"words":"file:words"}}"#;
const LOCK: &str = r#"{
  "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
  "packages": {
    "": {"name": "app", "version": "1.0.0", "dependencies": {"words": "file:words"}},
    "node_modules/words": {"resolved": "words", "link": true},
    "words": {"version": "1.0.0", "hasInstallScript": true}
  }
}"#;
/// Would leave a file if it were run.
const WORDS: &str = r#"{"name":"words","version":"1.0.0","type":"module","exports":"./index.js","scripts":{"install":"touch ran","postinstall":"touch ran"}}"#;

fn files() -> [(&'static str, &'static str); 6] {
    [
        ("manifest.yaml", MANIFEST),
        ("index.js", APP),
        ("package.json", PACKAGE),
        ("package-lock.json", LOCK),
        ("words/package.json", WORDS),
        ("words/index.js", "export const word = 'installed';"),
    ]
}

#[test]
fn dependencies_come_first_and_no_script_of_theirs_runs() {
    let folder = Folder::new("install-folder");
    // The manifest last: until then it is an app whose dependency is missing.
    for (file, text) in files().iter().rev() {
        folder.write(&format!("app/{file}"), text);
    }
    let server = folder.serve(&[]);
    let mut events = Events::follow(&server, "/admin/events");
    assert_eq!(events.find(|event| event["event"] == "installing")["app"], "app");
    // It is not there yet, and is known to come: from the first moment until it is.
    until(&server, "/app/", |reply| {
        match reply.status {
            503 => {
                reply.assert_error(503, "installing", &["dependencies"]);
                assert!(reply.header("retry-after").is_some());
            }
            status => assert_eq!((status, reply.text()), (200, "installed")),
        }
        reply.status == 200
    });
    until_text(&server, "/app/", "installed");
    assert!(!Path::exists(&folder.of("app/words/ran")), "a script has run");

    let reply = server.ask("POST", "/admin/apps?name=up&version=1.0.0", tgz(&files()));
    assert_eq!(reply.status, 201, "{}", reply.text());
    until_text(&server, "/up/", "installed");
    assert_eq!(server.ask_json("GET", "/admin/apps/up", "")["versions"][0]["state"], "served");
}

#[test]
fn bun_is_called_where_there_is_its_lock_file() {
    let folder = Folder::new("install-bun");
    // Bun itself is not everywhere: what matters here is when it is called, and how.
    let bun = "#!/bin/sh\nset -e\n[ \"$*\" = 'install --frozen-lockfile --ignore-scripts --production' ]\n\
        mkdir -p node_modules\ncp -r words node_modules/words\n";
    folder.write("bin/bun", bun);
    std::fs::set_permissions(folder.of("bin/bun"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (file, text) in files().iter().filter(|(file, _)| *file != "package-lock.json") {
        folder.write(&format!("apps/app/{file}"), text);
    }
    folder.write("apps/app/bun.lock", "{}");
    let path = format!("{}:{}", folder.of("bin").display(), std::env::var("PATH").unwrap());
    let apps = folder.of("apps");
    let server = Server::start(&["serve", apps.to_str().unwrap()], &[("PATH", &path)]);
    until_text(&server, "/app/", "installed");
}

#[test]
fn what_is_missing_is_said() {
    let folder = Folder::with(
        "install-missing",
        &[
            ("unlocked/manifest.yaml", MANIFEST),
            ("unlocked/index.js", APP),
            ("broken/manifest.yaml", MANIFEST),
            ("broken/index.js", APP),
            ("broken/package.json", PACKAGE),
            ("broken/package-lock.json", "{ this is no lock file"),
            ("fine/index.js", &crate::folder::says("fine")),
        ],
    );
    let server = folder.serve(&[]);
    let version = |app: &str| server.ask_json("GET", &format!("/admin/apps/{app}"), "")["versions"][0].clone();
    let unlocked = version("unlocked");
    assert_eq!(unlocked["state"], "failed");
    let error = unlocked["error"].as_str().unwrap();
    assert!(error.contains("lock file") && error.contains("package-lock.json"), "{error}");
    eventually(&server, "the install has failed", || version("broken")["state"] == "failed");
    let broken = version("broken");
    assert!(broken["error"].as_str().unwrap().contains("npm"), "{broken}");
    server.wait_log("dependencies not installed");
    server.expect("/fine/", "fine");
    assert_eq!(server.get("/unlocked/").status, 404);
}
