//! Apps that come, change, break and go while they are served.

use std::os::unix::fs::symlink;

use crate::folder::{
    Folder, eventually, problems, says, until, until_changed, until_problem, until_status, until_text,
};

const ECHO: &str = r#"
    export default {
      async fetch(request) {
        if (request.method === "GET") return new Response("old");
        if (request.url.endsWith("/echo")) return new Response(request.body);
        return new Response("old " + (await request.text()));
      },
    };
"#;

#[test]
fn what_is_new_changed_or_gone_is_so_at_once() {
    let folder = Folder::new("changes");
    folder.say("steady", "steady");
    let server = folder.serve(&[]);
    server.get("/hello/").assert_error(404, "no_app", &[]);

    folder.say("hello@1.0.0", "one");
    until_text(&server, "/hello/", "one");
    folder.say("hello@1.1.0", "one and a bit");
    until_changed(&server, "/hello/", "one", "one and a bit");
    server.expect("/hello@1.0.0/", "one");
    folder.say("hello@1.1.0", "changed");
    until_changed(&server, "/hello/", "one and a bit", "changed");
    folder.remove("hello@1.1.0");
    until_text(&server, "/hello/", "one");
    server.get("/hello@1.1.0/").assert_error(404, "no_version", &[]);
    folder.remove("hello@1.0.0");
    until_status(&server, "/hello/", 404).assert_error(404, "no_app", &[]);

    // A scope with an app in it, moved in whole.
    folder.say(".made/@acme/tool", "moved");
    std::fs::rename(folder.of(".made/@acme"), folder.of("@acme")).unwrap();
    until_text(&server, "/@acme/tool/", "moved");

    // What an app imports.
    folder.write("steady/part.js", "export const text = 'part';");
    folder.write(
        "steady/index.js",
        "import { text } from './part.js';\nexport default { fetch: () => new Response(text) };",
    );
    until_changed(&server, "/steady/", "steady", "part");
    folder.write("steady/part.js", "export const text = 'another part';");
    until_changed(&server, "/steady/", "part", "another part");

    // A link in the served folder is changed to lead to the next release.
    let releases = Folder::new("releases");
    releases.say("1", "release one");
    releases.say("2", "release two");
    symlink(releases.of("1"), folder.of("linked")).unwrap();
    until_text(&server, "/linked/", "release one");
    symlink(releases.of("2"), folder.of(".next")).unwrap();
    std::fs::rename(folder.of(".next"), folder.of("linked")).unwrap();
    until_changed(&server, "/linked/", "release one", "release two");

    // From a page to a worker and back.
    folder.write("kind/index.html", "<!doctype html><title>page</title>");
    until(&server, "/kind/", |reply| reply.status == 200 && reply.text().contains("<title>page"));
    folder.say("kind", "worker");
    until_text(&server, "/kind/", "worker");
    folder.remove("kind/index.js");
    until(&server, "/kind/", |reply| reply.status == 200 && reply.text().contains("<title>page"));
    folder.write("kind/index.html", "<!doctype html><title>changed</title>");
    until(&server, "/kind/", |reply| reply.status == 200 && reply.text().contains("<title>changed"));
}

#[test]
fn manifest_and_dotenv_count_as_soon_as_they_change() {
    let folder = Folder::new("changed-env");
    folder.write("env/index.js", "export default { fetch: (_, env) => Response.json(env) };");
    folder.say("other", "other");
    let server = folder.serve(&[]);
    server.expect("/env/", "{}");
    folder.write("env/manifest.yaml", "env:\n  A: manifest\n  B: manifest\n");
    until_text(&server, "/env/", r#"{"A":"manifest","B":"manifest"}"#);
    folder.write("env/.env", "B=dotenv\n");
    until_text(&server, "/env/", r#"{"A":"manifest","B":"dotenv"}"#);
    folder.write("env/.env", "B=changed\n");
    until_text(&server, "/env/", r#"{"A":"manifest","B":"changed"}"#);
    folder.remove("env/.env");
    until_text(&server, "/env/", r#"{"A":"manifest","B":"manifest"}"#);
    folder.write("env/manifest.yaml", "maxBodySize: 4\n");
    until_text(&server, "/env/", "{}");
    server.post("/env/", "12345").assert_error(413, "body_too_large", &[]);
    folder.write("env/manifest.yaml", "name: other-name\n");
    until_text(&server, "/other-name/", "{}");
    server.get("/env/").assert_error(404, "no_app", &[]);
    server.expect("/other/", "other");
}

#[test]
fn requests_in_flight_end_with_the_code_that_they_began_with() {
    let folder = Folder::new("in-flight");
    folder.write("app/index.js", ECHO);
    let server = folder.serve(&[]);
    let (mut stream, mut slow) = (server.connect(), server.connect());
    stream.start_chunked("/app/echo");
    stream.send_chunk("begun");
    assert_eq!((stream.head().status, stream.text_chunk()), (200, "begun".to_owned()));
    // Its answer waits for its body.
    slow.start_chunked("/app/");
    slow.send_chunk("still ");
    server.expect("/app/", "old");
    folder.say("app", "new");
    until_text(&server, "/app/", "new");
    slow.send_chunk("there");
    slow.send_last_chunk();
    assert_eq!(slow.reply().text(), "old still there");
    folder.remove("app");
    until_status(&server, "/app/", 404);
    stream.send_chunk("gone, and going on");
    assert_eq!(stream.text_chunk(), "gone, and going on");
    stream.send_last_chunk();
    assert_eq!(stream.chunk(), None);
    // On the same connections, it is gone for them, too.
    slow.get("/app/").assert_error(404, "no_app", &[]);
    stream.get("/app/").assert_error(404, "no_app", &[]);
    // Nothing of the old code stays.
    eventually(&server, "no worker is left", || {
        let report = server.report();
        report["live"] == report["spares"]["ready"]
    });
}

#[test]
fn an_app_that_cannot_be_loaded_says_why_in_the_log_only() {
    let folder = Folder::new("unloadable");
    folder.say("good", "good");
    let broken = [
        ("missing", "import './nowhere-at-all.js';\nexport default { fetch: () => new Response() };", "nowhere-at-all"),
        ("syntax", "export default { fetch: () => new Response(;", "index.js"),
        ("throws", "throw new Error('the words of the app');", "the words of the app"),
        ("package", "import 'no-such-package-here';\nexport default {};", "no-such-package-here"),
        ("outside", "import '../good/index.js';\nexport default {};", "good/index.js"),
    ];
    for (app, code, _) in broken {
        folder.write(&format!("{app}/index.js"), code);
    }
    folder.write("nothing/index.js", "export const something = 1;");
    let server = folder.serve(&[]);
    for (app, _, words) in broken {
        let reply = server.get(&format!("/{app}/"));
        reply.assert_error(502, "load_failed", &[]);
        assert!(!reply.text().contains(words) && !reply.text().contains("index.js"), "{}", reply.text());
        let path = folder.path().to_str().unwrap();
        assert!(!reply.text().contains(path), "{}", reply.text());
        server.wait_log(words);
    }
    server.get("/nothing/").assert_error(501, "no_handler", &[]);
    server.expect("/good/", "good");
    // The next deploy makes it good.
    for (app, ..) in broken {
        folder.say(app, "recovered");
        until_text(&server, &format!("/{app}/"), "recovered");
    }
    // And what was good can become bad, and good again.
    folder.write("good/index.js", "throw new Error('now it is bad');");
    until_status(&server, "/good/", 502);
    folder.write("good/index.js", says("good again"));
    until_text(&server, "/good/", "good again");
}

#[test]
fn the_client_sees_the_apps_words_in_dev_mode() {
    let folder = Folder::new("dev-mode");
    folder.write("app/index.js", "export default { fetch() { throw new Error('the words of the app'); } };");
    folder.write("bad/index.js", "import './nowhere-at-all.js';");
    let server = folder.serve(&["--dev"]);
    server.get("/app/").assert_error(502, "app_failed", &["the words of the app"]);
    server.get("/bad/").assert_error(502, "load_failed", &["nowhere-at-all.js"]);
}

#[test]
fn a_manifest_that_breaks_takes_its_own_app_down_and_no_other() {
    let folder = Folder::new("breaking");
    folder.say("app", "app");
    folder.say("other", "other");
    let server = folder.serve(&[]);
    server.expect("/app/", "app");
    folder.write("app/manifest.yaml", "# A comment.\ntimeuot: 5s\n");
    until_problem(&server, &["app/manifest.yaml:2:1", "timeuot", "did you mean timeout?"]);
    until_status(&server, "/app/", 404);
    server.expect("/other/", "other");
    server.wait_log("did you mean timeout?");
    folder.write("app/manifest.yaml", "timeout: 5s\n");
    until_text(&server, "/app/", "app");
    eventually(&server, "nothing is wrong", || problems(&server).is_empty());
    folder.write("app/.env", "A=1\nno equals sign here\n");
    until_problem(&server, &["app/.env:2:1"]);
    folder.remove("app/.env");
    until_text(&server, "/app/", "app");
    // A new version that is broken leaves the ones before it where they are.
    folder.say("app@2.0.0", "two");
    folder.write("app@2.0.0/manifest.yaml", "cpu: never\n");
    until_problem(&server, &["app@2.0.0/manifest.yaml:1:6", "cpu"]);
    server.expect("/app/", "app");
    server.get("/app@2/").assert_error(404, "no_version", &[]);
}
