//! Commands that need no server: `init`, `check`, `completions`; and `dev`, which brings its own.

use std::time::Instant;

use crate::client::Client;
use crate::folder::{Folder, says};
use crate::program::Program;
use crate::server::{PATIENCE, run};

fn get(address: &str, host: &str, path: &str) -> (u16, String) {
    let mut client = Client::connect(address);
    client.send(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    let reply = client.reply();
    (reply.status, reply.text().to_owned())
}

/// `hearth dev`, and where it listens.
fn develop(name: &str, path: &std::path::Path) -> (Program, String) {
    let dev = Program::start(name, &["dev", path.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let line = dev.wait_log("serving ");
    let address = line.split_once("http://127.0.0.1:").unwrap().1.split('/').next().unwrap();
    let address = format!("127.0.0.1:{address}");
    (dev, address)
}

#[test]
fn an_app_is_begun_checked_and_not_overwritten() {
    let folder = Folder::new("cli-init");
    let app = folder.of("mine");
    let app = app.to_str().unwrap();
    let made = run(&["init", app, "--template", "routes"]);
    assert!(made.status.success() && made.stdout.contains(&format!("hearth dev {app}")), "{}", made.stdout);
    let checked = run(&["check", app]);
    assert_eq!(checked.stdout, "1 app checked: 0 errors, 0 warnings\n");
    let again = run(&["init", app]);
    assert!(again.status.code() == Some(1) && again.stderr.contains("is there already"), "{}", again.stderr);
    assert!(run(&["init", app, "--template", "nothing"]).stderr.contains("routes"));
    let server = folder.serve(&[]);
    server.expect("/mine/hello/world", "Hello, world!\n");
    // Where one is already, with what stands in the way of nothing.
    folder.write("here/.git/HEAD", "");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hearth"));
    let made = command.args(["init", "."]).current_dir(folder.of("here")).output().unwrap();
    assert!(made.status.success() && folder.of("here/index.ts").exists(), "{made:?}");
}

#[test]
fn what_is_wrong_is_shown_where_it_stands() {
    let files = [("good/index.js", ""), ("bad/index.ts", "const a = 1;\nconst b = ;\n")];
    let folder = Folder::with("cli-check", &files);
    let checked = run(&["check", folder.path().to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(1), "{}", checked.stderr);
    assert!(
        checked.stdout.contains("bad/index.ts:2:11: ")
            && checked.stdout.contains("\n  2 | const b = ;\n    |           ^\n")
    );
    assert!(checked.stdout.ends_with("2 apps checked: 1 error, 0 warnings\n"), "{}", checked.stdout);
    let json = run(&["check", folder.path().to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["findings"][0]["line"], &json["findings"][0]["app"]), (&2.into(), &"bad".into()));
}

#[test]
fn shells_can_complete() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(&["completions", shell]);
        assert!(ended.status.success() && ended.stdout.contains("rollback"), "{shell}: {}", ended.stderr);
    }
    assert_eq!(run(&["completions", "other"]).status.code(), Some(2));
}

#[test]
fn an_app_is_developed_at_the_root() {
    let folder = Folder::with("cli-dev", &[("mine/index.js", &says("one")), ("beside/index.js", &says("beside"))]);
    let (mut dev, address) = develop("cli-dev", &folder.of("mine"));
    assert_eq!(get(&address, "localhost", "/"), (200, "one".to_owned()));
    assert_eq!(get(&address, &address, "/"), (200, "one".to_owned()));
    assert_eq!(get(&address, "h", "/mine/"), (200, "one".to_owned()));
    assert_eq!(get(&address, "h", "/beside/").0, 404);
    dev.wait_log("GET /mine/ 200 ");

    folder.write("mine/index.js", "let a = ;");
    dev.wait_log("index.js:1:9: ");
    dev.wait_log("  1 | let a = ;");

    let thrower =
        "export default {\n  fetch() {\n    console.log('printed\\nas it is');\n    return null.x;\n  },\n};\n";
    folder.write("mine/index.js", thrower);
    dev.wait_log("reloaded");
    let deadline = Instant::now() + PATIENCE;
    while !get(&address, "localhost", "/").1.contains("TypeError") {
        assert!(Instant::now() < deadline, "{}", dev.log());
    }
    dev.wait_log("as it is");
    dev.wait_log("TypeError: ");
    dev.wait_log("  4 |     return null.x;");
    dev.signal("-TERM");
    assert!(dev.wait().success(), "{}", dev.log());
}

#[test]
fn secrets_of_the_author_are_the_apps() {
    let app = "export default { fetch: (request, env) => new Response(`${env.API_KEY} ${env.PLAIN}`) };";
    let files = [("mine/index.js", app), ("mine/.env", "PLAIN=1\n"), ("mine/.env.local", "API_KEY=quiet\n")];
    let folder = Folder::with("cli-dev-secrets", &files);
    let (_dev, address) = develop("cli-dev-secrets", &folder.of("mine"));
    assert_eq!(get(&address, "localhost", "/"), (200, "quiet 1".to_owned()));
}

#[test]
fn an_app_that_cannot_be_loaded_is_told_once() {
    let folder = Folder::with("cli-dev-load", &[("mine/index.js", "throw new Error('no luck');\n")]);
    let (mut dev, address) = develop("cli-dev-load", &folder.of("mine"));
    for _ in 0..3 {
        assert_eq!(get(&address, "localhost", "/").0, 502);
    }
    dev.wait_log("GET / 502");
    dev.signal("-TERM");
    assert!(dev.wait().success(), "{}", dev.log());
    assert_eq!(
        dev.log().matches("no luck'").count() + dev.log().matches("Error: no luck\n").count(),
        2,
        "{}",
        dev.log()
    );
}

#[test]
fn a_folder_of_apps_is_developed_too() {
    let folder = Folder::with("cli-dev-all", &[("a/index.js", &says("first")), ("b/index.js", &says("second"))]);
    let (mut dev, address) = develop("cli-dev-all", folder.path());
    dev.wait_log(&format!("serving http://{address}/b/"));
    assert_eq!(get(&address, "h", "/b/"), (200, "second".to_owned()));
    dev.signal("-HUP");
    assert!(dev.wait().success(), "{}", dev.log());
}

#[test]
fn what_cannot_be_developed_is_said() {
    let folder = Folder::with("cli-dev-bad", &[("plain/app.js", "")]);
    let file = folder.of("plain/app.js");
    for (path, part) in [("/nowhere", "cannot open /nowhere"), (file.to_str().unwrap(), "entrypoint: app.js")] {
        let ended = run(&["dev", path]);
        assert!(ended.status.code() == Some(1) && ended.stderr.contains(part), "{}", ended.stderr);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    folder.say("good", "good");
    let ended = run(&["dev", folder.of("good").to_str().unwrap(), "--listen", &address]);
    assert!(ended.status.code() == Some(1) && ended.stderr.contains("cannot listen on"), "{}", ended.stderr);
}
