//! Which app and which version answers a request: layouts, ranges, hosts, activation.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::folder::{Folder, ask, at_host, eventually, problems, says, until_problem, until_status, until_text};
use crate::server::Server;

/// Answers with its name and what it sees of a request.
const MIRROR: &str = r#"
    export default {
      fetch(request) {
        const { pathname, search } = new URL(request.url);
        const { name, version } = Hearth.app;
        return new Response([`${name}@${version}`, pathname + search, request.headers.get("x-base")].join(" "));
      },
    };
"#;

/// Two roots with every layout, and some of the same versions twice.
fn layouts() -> (Folder, Folder) {
    let (first, second) = (Folder::new("layouts-first"), Folder::new("layouts-second"));
    for app in [
        "plain",
        "flat@1.0.0",
        "flat@1.2.0",
        "flat@1.10.0",
        "flat@2.0.0-beta.1",
        "nested/1.0.0",
        "nested/v1.4",
        "nested/2",
        "@acme/plain",
        "@acme/flat@1.0.0",
        "@acme/nested/3.1.0",
        "newest/latest",
        "newest/9.0.0",
        "betas@1.0.0-rc.1",
        "betas@1.0.0-rc.2",
    ] {
        first.write(&format!("{app}/index.js"), MIRROR);
    }
    first.write("packaged/package.json", r#"{"name": "something-else", "version": "4.5.6"}"#);
    first.write("packaged/index.js", MIRROR);
    first.write("renamed-folder/manifest.yaml", "name: renamed\nversion: 7.0.0\n");
    first.write("renamed-folder/index.js", MIRROR);
    first.write(
        "typed/src/index.ts",
        "const text: string = 'typed';\nexport default { fetch: () => new Response(text) };",
    );
    first.write("packages/package.json", r#"{"dependencies": {"dep": "1.0.0"}}"#);
    first
        .write("packages/index.js", "import { text } from 'dep';\nexport default { fetch: () => new Response(text) };");
    first.write("packages/node_modules/dep/package.json", r#"{"name": "dep", "version": "1.0.0", "main": "main.js"}"#);
    first.write("packages/node_modules/dep/main.js", "exports.text = 'of a package';");
    for same in ["flat@1.2.0", "nested/1.4.0", "plain"] {
        second.write(&format!("{same}/index.js"), says("the second root"));
    }
    second.write("flat@3.0.0/index.js", MIRROR);
    second.write("broken name/index.js", MIRROR);
    second.write("wrong@one.two/index.js", MIRROR);
    second.write("empty@1.0.0/readme.txt", "nothing");
    (first, second)
}

fn both((first, second): &(Folder, Folder), flags: &[&str]) -> Server {
    first.serve(&[&["--apps", second.path().to_str().unwrap()], flags].concat())
}

/// The app that answers.
#[track_caller]
fn expect_version(server: &Server, path: &str, version: &str) {
    let reply = server.get(path);
    let text = reply.text();
    assert_eq!((reply.status, text.split(' ').next().unwrap()), (200, version), "GET {path}: {text}");
}

#[test]
fn every_layout_is_served_and_a_range_is_npms() {
    let folders = layouts();
    let server = both(&folders, &[]);
    for (path, version) in [
        ("/plain/", "plain@latest"),
        ("/plain@latest/", "plain@latest"),
        ("/packaged/", "packaged@4.5.6"),
        ("/packaged@4/", "packaged@4.5.6"),
        ("/renamed/", "renamed@7.0.0"),
        ("/@acme/plain/", "@acme/plain@latest"),
        ("/%40acme/plain/", "@acme/plain@latest"),
        ("/@acme/flat/", "@acme/flat@1.0.0"),
        ("/@acme/flat@1/", "@acme/flat@1.0.0"),
        ("/@acme/nested@%5E3.0.0/", "@acme/nested@3.1.0"),
        // The highest release of all roots, not the last in the order of letters, and no pre-release.
        ("/flat/", "flat@3.0.0"),
        ("/flat@1/", "flat@1.10.0"),
        ("/flat@1.0/", "flat@1.0.0"),
        ("/flat@1.2.0/", "flat@1.2.0"),
        ("/flat@^1.0.0/", "flat@1.10.0"),
        ("/flat@%5E1.0.0/", "flat@1.10.0"),
        ("/flat@~1.2.0/", "flat@1.2.0"),
        ("/flat@%3E%3D1/", "flat@3.0.0"),
        ("/flat@%3E=1%20%3C2/", "flat@1.10.0"),
        ("/flat@1%20-%202/", "flat@1.10.0"),
        ("/flat@*/", "flat@3.0.0"),
        ("/flat@latest/", "flat@3.0.0"),
        ("/flat@2.0.0-beta.1/", "flat@2.0.0-beta.1"),
        ("/flat@%5E2.0.0-beta/", "flat@2.0.0-beta.1"),
        ("/nested/", "nested@2.0.0"),
        ("/nested@1/", "nested@1.4.0"),
        ("/nested@v1.4/", "nested@1.4.0"),
        ("/newest/", "newest@latest"),
        ("/newest@9/", "newest@9.0.0"),
        ("/betas@1.0.0-rc.1/", "betas@1.0.0-rc.1"),
        ("/betas@%5E1.0.0-rc.1/", "betas@1.0.0-rc.2"),
    ] {
        expect_version(&server, path, version);
    }
    server.expect("/typed/", "typed");
    server.expect("/packages/", "of a package");
    for (path, range) in [("/flat@2/", "2"), ("/flat@%3C1/", "<1"), ("/flat@9.9.9/x", "9.9.9"), ("/plain@1/", "1")] {
        server.get(path).assert_error(404, "no_version", &[range]);
    }
    server.get("/betas/").assert_error(404, "no_version", &["betas", "a release"]);
    for path in ["/flat@one/", "/flat@1..2/", "/flat@%3E%3E1/", "/flat@@/"] {
        server.get(path).assert_error(400, "bad_range", &[]);
    }
    let nobodys = [
        "/",
        "/missing/",
        "/missing@1/",
        "/@acme/",
        "/@acme",
        "/acme/plain/",
        "/renamed-folder/",
        "/something-else/",
        "/flat%2Fx/",
        "/PLAIN/",
        "/../plain/",
        "/.",
    ];
    for path in nobodys {
        let reply = server.get(path);
        reply.assert_error(404, "no_app", &[]);
        assert_eq!(reply.header("content-type"), Some("application/json"), "{path}");
    }
    for path in ["/_hearth", "/_hearth/", "/_hearth/anything", "/_hearthx/"] {
        server.get(path).assert_error(404, "not_found", &[]);
    }
}

#[test]
fn the_first_folder_wins_and_what_is_wrong_is_told() {
    let folders = layouts();
    let (first, second) = &folders;
    let server = both(&folders, &[]);
    expect_version(&server, "/flat@1.2.0/", "flat@1.2.0");
    expect_version(&server, "/nested@1.4.0/", "nested@1.4.0");
    let told = problems(&server);
    let both_of = |one: &str, other: &str| {
        let (served, left) = (first.of(one), second.of(other));
        let (served, left) = (served.to_str().unwrap(), left.to_str().unwrap());
        assert!(told.lines().any(|line| line.starts_with(left) && line.contains(served)), "{left}:\n{told}");
    };
    both_of("flat@1.2.0", "flat@1.2.0");
    both_of("nested/v1.4", "nested/1.4.0");
    both_of("plain", "plain");
    for parts in [["broken name", "rename the folder"], ["wrong@one.two", "rename"], ["empty@1.0.0", "index.ts"]] {
        assert!(told.lines().any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?}:\n{told}");
    }
    assert_eq!(told.lines().count(), 6, "{told}");
    // In the log, too, each once.
    assert_eq!(server.log().matches("wrong@one.two").count(), 1, "{}", server.log());
    // The first is gone: the second takes its place.
    first.remove("flat@1.2.0");
    until_text(&server, "/flat@1.2.0/", "the second root");
    eventually(&server, "nothing is wrong with it", || !problems(&server).contains("flat@1.2.0"));
}

#[test]
fn the_app_sees_its_own_path_and_its_base() {
    let folders = layouts();
    let server = both(&folders, &[]);
    for (path, seen) in [
        ("/plain/", "plain@latest / /plain"),
        ("/plain/a/b?c=/d", "plain@latest /a/b?c=/d /plain"),
        ("/flat@%5E1.0.0/a%2Fb/?x", "flat@1.10.0 /a%2Fb/?x /flat@%5E1.0.0"),
        ("/@acme/flat@1/deep/", "@acme/flat@1.0.0 /deep/ /@acme/flat@1"),
        ("/plain//twice", "plain@latest //twice /plain"),
    ] {
        server.expect(path, seen);
    }
    // What a client says about it does not count.
    let lied = [("x-base", "/elsewhere")];
    assert_eq!(ask(&server, "GET", "/plain/", &lied).text(), "plain@latest / /plain");
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nhost: plain.localhost\r\nx-base: /elsewhere\r\n\r\n");
    assert_eq!(client.reply().text(), "plain@latest / ");
    for (path, location) in [
        ("/plain", "/plain/"),
        ("/plain?a=b/c", "/plain/?a=b/c"),
        ("/flat@%5E1.0.0", "/flat@%5E1.0.0/"),
        ("/@acme/flat@1?x", "/@acme/flat@1/?x"),
        ("/plain?", "/plain/?"),
    ] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.header("location")), (308, Some(location)), "GET {path}");
    }
    // With its method and body; the target is never another host.
    let reply = server.post("/plain", "body");
    assert_eq!((reply.status, reply.header("location")), (308, Some("/plain/")));
    let reply = server.get("//plain");
    assert_ne!(reply.header("location"), Some("//plain/"));
}

#[test]
fn hosts_lead_to_apps() {
    let folder = Folder::new("hosts");
    for (app, hosts) in [
        ("hello@1.0.0", "[old.example.com]"),
        ("hello@2.0.0", "[hello.example.com, '*.hello.example.com', Shop.Example.ORG]"),
        ("other", "[hello.example.com, other.example.com]"),
        ("wild", "['*.example.com']"),
        ("my-app.v2", "[]"),
    ] {
        folder.write(&format!("{app}/index.js"), MIRROR);
        folder.write(&format!("{app}/manifest.yaml"), format!("hosts: {hosts}\n"));
    }
    folder.write("@acme/tool/index.js", MIRROR);
    let server =
        folder.serve(&["--domain", "localhost", "--domain", "apps.example.net", "--domain", "eu.apps.example.net"]);
    for (host, path, seen) in [
        ("hello.localhost", "/", "hello@2.0.0 / "),
        ("hello.localhost:8080", "/a?b", "hello@2.0.0 /a?b "),
        ("HELLO.LocalHost.", "/", "hello@2.0.0 / "),
        ("hello.apps.example.net", "/other/", "hello@2.0.0 /other/ "),
        ("hello.eu.apps.example.net", "/", "hello@2.0.0 / "),
        ("my-app.v2.localhost", "/", "my-app.v2@latest / "),
        ("hello.example.com", "/", "hello@2.0.0 / "),
        ("a.hello.example.com", "/", "hello@2.0.0 / "),
        ("a.b.hello.example.com", "/", "hello@2.0.0 / "),
        ("shop.example.org", "/", "hello@2.0.0 / "),
        ("other.example.com", "/", "other@latest / "),
        ("anything.example.com", "/", "wild@latest / "),
        // The hosts of a version that the bare name does not mean belong to no app, here to the wildcard.
        ("old.example.com", "/", "wild@latest / "),
        // Not an app's host: by path.
        ("localhost", "/hello@1/", "hello@1.0.0 / /hello@1"),
        ("127.0.0.1:80", "/hello/", "hello@2.0.0 / /hello"),
        ("[::1]:80", "/hello/", "hello@2.0.0 / /hello"),
        ("example.com", "/other/x", "other@latest /x /other"),
        ("x.hello.localhost", "/hello/", "hello@2.0.0 / /hello"),
    ] {
        let reply = at_host(&server, host, path);
        assert_eq!((reply.status, reply.text()), (200, seen), "{host}{path}");
    }
    for host in
        ["missing.localhost", "localhost", "example.com", "127.0.0.1", "hello.localhost.evil.com", "tool.localhost"]
    {
        at_host(&server, host, "/").assert_error(404, "no_app", &[]);
    }
    at_host(&server, "hello.localhost", "/_hearth/x").assert_error(404, "not_found", &[]);
    // Two want one host: the first has it, and the other is told.
    let told = problems(&server);
    assert!(
        told.contains("hello.example.com") && told.contains("other") && told.contains("belongs to hello"),
        "{told}"
    );
    // The other one's turn has come.
    folder.remove("hello@2.0.0");
    eventually(&server, "other has the host", || {
        at_host(&server, "hello.example.com", "/").text() == "other@latest / "
    });
    assert_eq!(at_host(&server, "old.example.com", "/").text(), "hello@1.0.0 / ");
    eventually(&server, "no two apps want the same", || problems(&server).is_empty());
}

#[test]
fn a_version_is_activated_and_rolled_back() {
    let folder = Folder::new("activated");
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        folder.write(&format!("hello/{version}/index.js"), MIRROR);
        folder.write(&format!("@acme/tool@{version}/index.js"), MIRROR);
    }
    let data = Folder::new("activated-data");
    let flags = ["--data", data.path().to_str().unwrap()];
    {
        let server = folder.serve(&flags);
        expect_version(&server, "/hello/", "hello@2.0.0");
        server.ask_json("POST", "/admin/apps/hello/activate?version=1.0.0", "");
        expect_version(&server, "/hello/", "hello@1.0.0");
        assert_eq!(at_host(&server, "hello.localhost", "/").text(), "hello@1.0.0 / ");
        // Ranges mean what they say.
        expect_version(&server, "/hello@1/", "hello@1.2.0");
        expect_version(&server, "/hello@*/", "hello@2.0.0");
        server.ask_json("POST", "/admin/apps/hello/activate?version=v1.2", "");
        expect_version(&server, "/hello/", "hello@1.2.0");
        let rolled = server.ask_json("POST", "/admin/apps/hello/rollback", "");
        assert_eq!(rolled["active"], "1.0.0");
        expect_version(&server, "/hello/", "hello@1.0.0");
        for name in ["@acme/tool", "%40acme%2Ftool"] {
            server.ask_json("POST", &format!("/admin/apps/{name}/activate?version=1.2.0"), "");
            expect_version(&server, "/@acme/tool/", "@acme/tool@1.2.0");
        }
        for (path, status) in [
            ("/admin/apps/hello/activate?version=3.0.0", 404),
            ("/admin/apps/hello/activate?version=x", 400),
            ("/admin/apps/hello/activate", 400),
            ("/admin/apps/missing/activate?version=1.0.0", 404),
            ("/admin/apps/missing/rollback", 404),
        ] {
            let reply = server.ask("POST", path, "");
            assert_eq!(reply.status, status, "{path}: {}", reply.text());
        }
        let app = server.ask_json("GET", "/admin/apps/hello", "");
        assert_eq!((&app["active"], app["versions"].as_array().unwrap().len()), (&"1.0.0".into(), 3), "{app}");
    }
    // It is kept over a restart.
    let server = folder.serve(&flags);
    expect_version(&server, "/hello/", "hello@1.0.0");
    // Where it is gone, the bare name means what it meant without it; where it comes back, it counts again.
    folder.remove("hello/1.0.0");
    until_text(&server, "/hello/", "hello@2.0.0 / /hello");
    until_status(&server, "/hello@1.0.0/", 404);
    folder.write("hello/1.0.0/index.js", MIRROR);
    until_text(&server, "/hello/", "hello@1.0.0 / /hello");
}

#[test]
fn routing_to_another_version_disturbs_no_request() {
    let folder = Folder::new("undisturbed");
    let code = "let count = 0;\nexport default { fetch: () => new Response(Hearth.app.version + ' ' + ++count) };";
    for version in ["1.0.0", "2.0.0"] {
        folder.write(&format!("app@{version}/index.js"), code);
        folder.write(&format!("app@{version}/manifest.yaml"), "maxWorkers: 1\n");
    }
    let server = folder.serve(&[]);
    server.expect("/app/", "2.0.0 1");
    server.expect("/app@1/", "1.0.0 1");
    server.ask_json("POST", "/admin/apps/app/activate?version=1.0.0", "");
    server.expect("/app/", "1.0.0 2");
    server.expect("/app@2/", "2.0.0 2");
    // Nor do a token and a new version.
    server.ask_json("POST", "/admin/apps/app/tokens?label=test", "");
    folder.say("app@3.0.0", "three");
    until_text(&server, "/app@3/", "three");
    server.expect("/app/", "1.0.0 3");
    eventually(&server, "it is known", || server.ask("GET", "/admin/apps/app", "").text().contains("3.0.0"));
    server.ask_json("POST", "/admin/apps/app/activate?version=3.0.0", "");
    server.expect("/app/", "three");
    server.expect("/app@1/", "1.0.0 4");
    server.expect("/app@2/", "2.0.0 3");
}

#[test]
fn one_folder_may_have_two_names_and_none_takes_the_others_down() {
    let folder =
        Folder::with("apps-names", &[("nested/1.2.3/index.js", &says("nested")), ("real/index.js", &says("real"))]);
    symlink("1.2.3", folder.of("nested/latest")).unwrap();
    symlink("real", folder.of("twin")).unwrap();
    let server = folder.serve(&[]);
    for path in ["/nested/", "/nested@1.2.3/", "/nested@latest/"] {
        server.expect(path, "nested");
    }
    server.expect("/real/", "real");
    server.expect("/twin/", "real");
    // A folder whose name is no text cannot be served, and costs the others nothing.
    let odd = folder.path().join("beside").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir_all(&odd).unwrap();
    std::fs::write(odd.join("index.js"), says("odd")).unwrap();
    symlink(&odd, folder.of("weird")).unwrap();
    until_problem(&server, &["not UTF-8"]);
    server.expect("/real/", "real");
    server.expect("/nested/", "nested");
}
