//! Uploads, activation, roll-back, deletion and tasks: a change that is reported as done holds for the next request and after
//! a restart; a refused one changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::archive::{Tar, gzip, tgz, zip};
use crate::client::{Client, Reply};
use crate::folder::{Folder, at_host, eventually, says, until_text};
use crate::server::{Server, TOKEN, run, scratch};

fn upload(server: &Server, name: &str, version: &str, archive: impl AsRef<[u8]>) -> Reply {
    server.ask("POST", &format!("/admin/apps?name={name}&version={version}"), archive)
}

#[track_caller]
fn uploaded(server: &Server, name: &str, version: &str, archive: impl AsRef<[u8]>) -> Value {
    let reply = upload(server, name, version, archive);
    assert_eq!(reply.status, 201, "{}; the log:\n{}", reply.text(), server.log());
    serde_json::from_slice(&reply.body).unwrap()
}

/// An archive of an app that responds with this text.
fn saying(text: &str) -> Vec<u8> {
    tgz(&[("index.js", &says(text))])
}

fn act(server: &Server, path: &str) -> Value {
    server.ask_json("POST", path, "")
}

fn version_of(server: &Server, app: &str, version: &str) -> Value {
    let app = server.ask_json("GET", &format!("/admin/apps/{app}"), "");
    let versions = app["versions"].as_array().unwrap();
    versions.iter().find(|one| one["version"] == version).unwrap_or_else(|| panic!("no {version} in {app}")).clone()
}

#[test]
fn every_kind_of_archive_is_served_and_kept() {
    let folder = Folder::with("deploys-kinds", &[("here/index.js", &says("a folder's"))]);
    let data = scratch("deploys-kinds-data");
    let serve = || folder.serve(&["--data", data.to_str().unwrap()]);
    let mut server = serve();
    server.get("/hello/").assert_error(404, "no_app", &[]);
    let done = uploaded(&server, "hello", "1.0.0", saying("tgz"));
    assert_eq!((&done["name"], &done["version"]), (&json!("hello"), &json!("1.0.0")));
    assert_eq!((&done["revision"], &done["files"], &done["state"]), (&json!(1), &json!(1), &json!("served")));
    server.expect("/hello/", "tgz");
    // A single top-level folder of the archive is not part of the app.
    uploaded(&server, "hello", "v1.1", Tar::default().file("app/index.js", says("tar")).tar());
    server.expect("/hello/", "tar");
    uploaded(&server, "hello", "2.0.0-beta.1", saying("beta"));
    uploaded(
        &server,
        "hello",
        "1.2.0",
        zip(&[("index.ts", "export default { fetch: (): Response => new Response('zip') };")]),
    );
    server.expect("/hello/", "zip");
    server.expect("/hello@1.1/", "tar");
    server.expect("/hello@2.0.0-beta.1/", "beta");
    uploaded(&server, "%40acme%2Fshop", "3.0.0", zip(&[("index.html", "<h1>shop</h1>")]));
    assert!(server.get("/@acme/shop/").text().contains("<h1>shop</h1>"));
    assert_eq!(server.ask_json("GET", "/admin/apps/@acme/shop", "")["active"], "3.0.0");
    assert_eq!(act(&server, "/admin/apps/hello/activate?version=1.0"), json!({ "name": "hello", "active": "1.0.0" }));
    server.expect("/hello/", "tgz");
    server.ask_json("PUT", "/admin/apps/hello/secrets/KEPT", "kept");

    let path = folder.path().to_str().unwrap();
    let second = ["serve", path, "--listen", "127.0.0.1:0", "--admin", "off", "--data", data.to_str().unwrap()];
    let second = run(&second);
    assert_eq!(second.status.code(), Some(1), "{}", second.stderr);
    let holder = format!("in use by another Hearth (process {})", server.id());
    assert!(second.stderr.contains(&holder) && second.stderr.contains("--data"), "{}", second.stderr);

    let before = server.ask_json("GET", "/admin/apps", "");
    server.signal("-TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    let server = serve();
    assert_eq!(server.ask_json("GET", "/admin/apps", ""), before);
    for (path, text) in [("/hello/", "tgz"), ("/hello@1.1.0/", "tar"), ("/hello@1/", "zip"), ("/here/", "a folder's")] {
        server.expect(path, text);
    }
    assert_eq!(server.ask_json("GET", "/admin/apps/hello/secrets", ""), json!({ "secrets": ["KEPT"] }));
    drop(server);
    std::fs::remove_dir_all(data).unwrap();
}

#[test]
fn a_repeated_version_is_served_at_once_and_can_be_rolled_back() {
    let folder = Folder::new("deploys-again");
    let server = folder.serve(&[]);
    uploaded(&server, "app", "1.0.0", saying("r1"));
    let stop = Arc::new(AtomicBool::new(false));
    let visitor = thread::spawn({
        let (address, stop) = (server.address().to_owned(), stop.clone());
        move || {
            let (mut client, mut requests) = (Client::connect(&address), 0);
            while !stop.load(Ordering::Relaxed) {
                let reply = client.get("/app/");
                assert_eq!(reply.status, 200, "{}", reply.text());
                requests += 1;
            }
            requests
        }
    });
    for revision in 2..=4 {
        let done = uploaded(&server, "app", "1.0.0", saying(&format!("r{revision}")));
        assert_eq!(done["revision"], revision);
        server.expect("/app/", &format!("r{revision}"));
    }
    assert_eq!(act(&server, "/admin/apps/app/rollback"), json!({ "name": "app", "active": "1.0.0", "revision": 3 }));
    server.expect("/app/", "r3");
    act(&server, "/admin/apps/app/activate?version=1.0.0");
    server.ask("POST", "/admin/apps/app/rollback", "").assert_error(409, "nothing_to_roll_back", &["app"]);
    // Revision numbers are never reused.
    assert_eq!(uploaded(&server, "app", "1.0.0", saying("r5"))["revision"], 5);
    server.expect("/app/", "r5");
    act(&server, "/admin/apps/app/rollback");
    server.expect("/app/", "r3");

    // An activated version stays active when newer ones are uploaded.
    uploaded(&server, "app", "2.0.0", saying("two"));
    server.expect("/app/", "r3");
    server.expect("/app@2/", "two");
    act(&server, "/admin/apps/app/activate?version=2.0.0");
    server.expect("/app/", "two");
    act(&server, "/admin/apps/app/rollback");
    server.expect("/app/", "r3");
    stop.store(true, Ordering::Relaxed);
    assert!(visitor.join().unwrap() > 0);

    let deleted = server.ask_json("DELETE", "/admin/apps/app?version=1.0.0", "");
    assert_eq!(deleted, json!({ "name": "app", "deleted": ["1.0.0"], "secrets": 0, "tokens": 0 }));
    server.expect("/app/", "two");
    assert_eq!(server.get("/app@1/").status, 404);
    server.ask("DELETE", "/admin/apps/app?version=1.0.0", "").assert_error(404, "no_version", &["1.0.0"]);
    // Secrets and tokens go with the last version: the next app of that name may have another owner.
    server.ask_json("PUT", "/admin/apps/app/secrets/WORD", "secret");
    server.ask_json("POST", "/admin/apps/app/tokens?label=x", "");
    let deleted = server.ask_json("DELETE", "/admin/apps/app", "");
    assert_eq!(deleted, json!({ "name": "app", "deleted": ["2.0.0"], "secrets": 1, "tokens": 1 }));
    server.get("/app/").assert_error(404, "no_app", &[]);
    uploaded(&server, "app", "3.0.0", saying("three"));
    assert_eq!(server.ask_json("GET", "/admin/apps/app/secrets", "")["secrets"], json!([]));
    assert_eq!(server.ask_json("GET", "/admin/apps/app/tokens", "")["tokens"], json!([]));
    server.ask_json("DELETE", "/admin/apps/app", "");
    server.ask("GET", "/admin/apps/app", "").assert_error(404, "no_app", &[]);
}

#[test]
fn a_hostile_archive_is_refused_and_changes_nothing() {
    let folder = Folder::new("deploys-hostile");
    let server = folder.serve(&[]);
    uploaded(&server, "app", "1.0.0", saying("good"));
    let before = server.ask_json("GET", "/admin/apps", "");
    let index = says("bad");
    let tar = || Tar::default().file("index.js", &index);
    let whole = saying("cut off");
    let zeros = vec![0u8; 129 << 20];
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("nothing", Vec::new(), &[]),
        ("garbage", b"this is no archive at all".to_vec(), &["neither a .tgz, .tar nor .zip"]),
        ("compressed garbage", gzip(&b"this is no archive".repeat(100)), &["no tar archive"]),
        ("cut off", whole[..whole.len() / 2].to_vec(), &[]),
        ("cut off, uncompressed", tar().tar()[..700].to_vec(), &["cut off"]),
        ("no files", Tar::default().tgz(), &[]),
        ("upwards", tar().file("../../escaped.js", &index).tgz(), &["../../escaped.js"]),
        ("from the root", tar().file("/etc/escaped", &index).tgz(), &["/etc/escaped"]),
        ("upwards in a zip", zip(&[("index.js", &index), ("../escaped.js", &index)]), &["../escaped.js"]),
        ("a link", tar().symlink("link", "/etc/passwd").tgz(), &["link", "symbolic link"]),
        ("twice the same", tar().file("index.js", &index).tgz(), &["index.js", "twice"]),
        ("a bomb", tar().file("zeros", &zeros).tgz(), &["zeros", "128mb"]),
        ("no entry", tgz(&[("readme.txt", "nothing")]), &["the archive has no entry", "index.js", "entrypoint"]),
        ("a bad manifest", tgz(&[("index.js", &index), ("manifest.yaml", "timeuot: 3s\n")]), &["timeuot", "timeout"]),
        (
            "a bad value",
            tgz(&[("index.js", &index), ("manifest.yaml", "memory: lots\n")]),
            &["manifest.yaml", "memory"],
        ),
        (
            "an entry elsewhere",
            tgz(&[("index.js", &index), ("manifest.yaml", "entrypoint: ../x.js\n")]),
            &["entrypoint"],
        ),
        ("a module that is none", tgz(&[("index.js", "export default {")]), &["index.js"]),
        ("a module that is missing", tgz(&[("index.js", "import './gone.js';")]), &["gone.js"]),
    ];
    for (case, archive, parts) in cases {
        let refused = upload(&server, "app", "1.0.0", archive);
        assert!((400..500).contains(&refused.status), "{case}: {} {}", refused.status, refused.text());
        assert!(!refused.code().is_empty());
        for part in parts {
            assert!(refused.text().contains(part), "{case}: no {part:?} in {}", refused.text());
        }
        assert!(!refused.text().contains("/uploads/"), "{case} shows an internal folder: {}", refused.text());
        server.expect("/app/", "good");
    }
    for (name, version) in
        [("..", "1.0.0"), ("a%2Fb", "1.0.0"), ("app", "one"), ("_hearth", "1.0.0"), ("app", "..%2F1")]
    {
        let refused = upload(&server, name, version, saying("bad"));
        assert!((400..500).contains(&refused.status), "{name}@{version}: {} {}", refused.status, refused.text());
    }
    let refused = server.ask("POST", "/admin/apps?name=app&version=1.0.0&owner=a%20b", saying("bad"));
    refused.assert_error(400, "invalid_argument", &["`owner`"]);
    assert_eq!(server.ask_json("GET", "/admin/apps", ""), before);
}

#[test]
fn an_upload_chooses_neither_its_owner_nor_its_hosts() {
    let folder = Folder::with(
        "deploys-trust",
        &[("mine/index.js", &says("mine")), ("mine/manifest.yaml", "hosts: shop.test\n")],
    );
    let server = folder.serve(&[]);
    assert_eq!(at_host(&server, "shop.test", "/").text(), "mine");
    let manifest = "name: mine\nversion: 9.9.9\nowner: mine\nhosts: [shop.test, other.test]\n";
    let archive = tgz(&[("index.js", &says("theirs")), ("manifest.yaml", manifest)]);
    let reply = server.ask("POST", "/admin/apps?name=theirs&version=1.0.0&owner=them", archive);
    assert_eq!(reply.status, 201, "{}", reply.text());
    let app = server.ask_json("GET", "/admin/apps/theirs", "");
    assert_eq!(app["owner"], "them");
    let version = version_of(&server, "theirs", "1.0.0");
    assert_eq!(version["hosts"], Value::Null);
    let warnings = version["warnings"].to_string();
    assert!(warnings.contains("owner") && warnings.contains("apps.NAME.hosts"), "{warnings}");
    server.wait_log("host names need a grant");
    assert_eq!(at_host(&server, "shop.test", "/").text(), "mine");
    assert_eq!(at_host(&server, "other.test", "/").status, 404);
    server.expect("/mine/", "mine");
    server.expect("/theirs/", "theirs");
}

#[test]
fn a_name_and_its_secrets_belong_to_one_owner() {
    let env = "export default { fetch: (request, env) => new Response(env.PASSWORD ?? 'none') };";
    let served = [("good/index.js", &*says("good")), ("acme/index.js", env), ("acme/manifest.yaml", "owner: acme\n")];
    let folder = Folder::with("deploys-owners", &served);
    let server = folder.serve(&[]);
    let upload = |name: &str, version: &str, owner: &str| {
        let archive = tgz(&[("index.js", env)]);
        server.ask("POST", &format!("/admin/apps?name={name}&version={version}{owner}"), archive)
    };
    assert_eq!(upload("shop", "1.0.0", "&owner=alice").status, 201);
    server.ask_json("PUT", "/admin/apps/shop/secrets/PASSWORD", "alices");
    for (name, version, owner) in [("shop", "1.0.0", "alice"), ("shop", "2.0.0", "alice"), ("good", "2.0.0", "good")] {
        let refused = upload(name, version, "&owner=mallory");
        refused.assert_error(409, "other_owner", &[&format!("upload it as owner={owner}"), "mallory"]);
    }
    server.get("/shop@2/").assert_error(404, "no_version", &[]);
    server.expect("/shop/", "alices");
    // An upload without an owner belongs to the app's owner.
    for (name, owner) in [("shop", "alice"), ("acme", "acme"), ("new", "new")] {
        assert_eq!(upload(name, "3.0.0", "").status, 201);
        assert_eq!(server.ask_json("GET", &format!("/admin/apps/{name}"), "")["owner"], owner);
    }
    server.ask_json("DELETE", "/admin/apps/shop", "");
    assert_eq!(upload("shop", "1.0.0", "&owner=mallory").status, 201);
    server.expect("/shop/", "none");
}

#[test]
fn a_task_reaches_the_active_version_and_its_result_comes_back() {
    let app = r#"
        export default {
          fetch: () => new Response("tasks"),
          task(event) {
            if (event.payload?.fail) throw new Error("as it was told");
            return { success: true, data: { version: Hearth.app.version, got: event.payload ?? null } };
          },
        };
    "#;
    let folder = Folder::with(
        "deploys-tasks",
        &[("app@1.0.0/index.js", app), ("app@2.0.0/index.js", app), ("none/index.js", &says(""))],
    );
    let server = folder.serve(&[]);
    let task = |app: &str, payload: &str| server.ask_json("POST", &format!("/admin/apps/{app}/task"), payload);
    let done = |version: &str, got: Value| json!({ "success": true, "data": { "version": version, "got": got } });
    assert_eq!(task("app", r#"{"n":[1,"two"]}"#), done("2.0.0", json!({ "n": [1, "two"] })));
    assert_eq!(task("app", ""), done("2.0.0", Value::Null));
    act(&server, "/admin/apps/app/activate?version=1.0.0");
    assert_eq!(task("app", "7"), done("1.0.0", json!(7)));
    let failed = task("app", r#"{"fail":true}"#);
    assert_eq!(failed["success"], false);
    assert!(failed["error"].as_str().unwrap().contains("as it was told"), "{failed}");
    assert_eq!(task("none", "1")["success"], false);
}

#[test]
fn an_upload_that_cannot_be_served_replaces_nothing() {
    let folder = Folder::with("deploys-refused", &[("here@1.0.0/index.js", &says("a folder's"))]);
    let server = folder.serve(&[]);
    uploaded(&server, "up", "1.0.0", saying("good"));
    let without_folder = tgz(&[("index.js", &says("bad")), ("manifest.yaml", "static: public\n")]);
    upload(&server, "up", "1.0.0", without_folder).assert_error(422, "bad_upload", &["public"]);
    server.expect("/up/", "good");
    assert_eq!(version_of(&server, "up", "1.0.0")["revision"], json!(1));
    // A served folder has precedence over an upload, which would never be seen.
    upload(&server, "here", "1.0.0", saying("an upload's")).assert_error(409, "not_uploaded", &["lies in a folder"]);
    server.expect("/here/", "a folder's");
}

#[test]
fn a_deletion_with_a_misspelt_parameter_deletes_nothing() {
    let server = Folder::new("deploys-slip").serve(&[]);
    uploaded(&server, "up", "1.0.0", saying("one"));
    uploaded(&server, "up", "2.0.0", saying("two"));
    for query in ["version=9.9.9%", "versoin=2.0.0", "version=2.0.0&al=l"] {
        let reply = server.ask("DELETE", &format!("/admin/apps/up?{query}"), "");
        reply.assert_error(400, "invalid_argument", &[]);
    }
    server.expect("/up@1/", "one");
    server.expect("/up/", "two");
}

#[test]
fn an_upload_is_finished_after_its_client_has_disconnected() {
    let server = Folder::new("deploys-gone").serve(&[]);
    let archive = saying("finished");
    let mut client = Client::connect(&server.admin());
    let (token, length) = (format!("Bearer {TOKEN}"), archive.len().to_string());
    let headers = [("authorization", token.as_str()), ("content-length", &length)];
    client.start("POST", "/admin/apps?name=up&version=1.0.0", &headers);
    client.send(&archive);
    client.disconnect();
    until_text(&server, "/up/", "finished");
    eventually(&server, "control knows it too", || server.ask("GET", "/admin/apps/up", "").status == 200);
    assert_eq!(act(&server, "/admin/apps/up/activate?version=1.0.0")["active"], "1.0.0");
}
