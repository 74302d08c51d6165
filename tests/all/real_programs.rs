//! Programs as people write them, built by their own tools (`tests/programs/`), served as they are, and looked at with a
//! real browser (`tests/programs/browser/`), under a path and at a host of their own.
//!
//! Packages are installed and programs are built once, below `target/`, and again when their lock file or sources change.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::client::Reply;
use crate::folder::{Folder, at_host};
use crate::packages::packages;
use crate::server::Server;

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(name)
}

/// The folder of a program, built.
fn built(name: &str) -> PathBuf {
    let from = sources(name);
    let to = packages(&from, &format!("program-{name}"));
    let files = files(&from);
    let all: Vec<u8> =
        files.iter().flat_map(|(path, bytes)| [path.as_os_str().as_encoded_bytes(), bytes].concat()).collect();
    // Written last: what is there is built of it.
    let done = to.join("built-sources");
    if std::fs::read(&done).ok().as_ref() != Some(&all) {
        clear(&to);
        for (path, bytes) in &files {
            std::fs::create_dir_all(to.join(path).parent().unwrap()).unwrap();
            std::fs::write(to.join(path), bytes).unwrap();
        }
        build(&to);
        std::fs::write(&done, &all).unwrap();
    }
    to
}

/// All files below a folder, by path, in order.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Takes away what was built before and of what; what was installed stays.
fn clear(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("node_modules") || path.ends_with("installed-lock.json") {
            continue;
        }
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }
}

fn build(folder: &Path) {
    let mut command = Command::new("npm");
    // Telemetry of build tools is off.
    command.args(["run", "build"]).env("ASTRO_TELEMETRY_DISABLED", "1").current_dir(folder);
    if let Err(said) = succeed(command) {
        panic!("npm run build failed in {}:\n{said}", folder.display());
    }
}

/// Runs the command to its end, or tells what it said when it failed.
fn succeed(mut command: Command) -> Result<(), String> {
    let output = command.output().unwrap();
    let (told, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(format!("{told}{failed}")) }
}

/// Serves folders as apps, each with the name that it is given.
fn serve(apps: &[(&str, PathBuf)]) -> (Folder, Server) {
    let folder = Folder::new("programs");
    for (name, path) in apps {
        symlink(path, folder.of(name)).unwrap();
    }
    let server = folder.serve(&["--cpu", "20s"]);
    (folder, server)
}

/// Looks at the program with a browser, at each of these addresses.
#[track_caller]
fn look(program: &str, server: &Server, addresses: &[String]) {
    static BROWSER: OnceLock<PathBuf> = OnceLock::new();
    let browser = BROWSER.get_or_init(|| packages(&sources("browser"), "program-browser"));
    let mut command = Command::new("node");
    command.arg(format!("{program}.mjs")).args(addresses).current_dir(browser);
    if let Err(said) = succeed(command) {
        panic!("{program} does not look as it should:\n{said}\nthe log:\n{}", server.log());
    }
}

fn under_path(server: &Server, name: &str) -> String {
    server.url(&format!("/{name}/"))
}

fn at_own_host(server: &Server, name: &str) -> String {
    let port = server.address().rsplit_once(':').unwrap().1;
    format!("http://{name}.localhost:{port}/")
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[track_caller]
fn assert_page(reply: &Reply, parts: &[&str]) {
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.header("content-type").unwrap().starts_with("text/html"), "{reply:?}");
    for part in parts {
        assert!(reply.text().contains(part), "no {part:?} in {}", reply.text());
    }
}

#[test]
fn a_single_page_app_of_vite_and_react() {
    let program = built("react");
    let (_folder, server) = serve(&[("react", program.clone())]);
    for path in ["/react/", "/react/users/7", "/react/any/where/"] {
        assert_page(&server.get(path), &["<base href=\"/react/\">", "src=\"./assets/index-"]);
    }
    assert_page(&at_host(&server, "react.localhost", "/users/7"), &["<base href=\"/\">", "src=\"./assets/index-"]);
    let assets = names(&program.join("dist/assets"));
    assert!(assets.len() >= 4, "{assets:?}");
    for name in assets {
        let reply = server.get(&format!("/react/assets/{name}"));
        let caching = reply.header("cache-control").unwrap();
        assert!(reply.status == 200 && caching.contains("immutable"), "{name}: {caching}");
    }
    server.expect("/react/robots.txt", "User-agent: *\n");
    // Only what was built is served.
    for path in ["/react/assets/missing.js", "/react/vite.config.js", "/react/src/main.jsx"] {
        server.get(path).assert_error(404, "not_found", &[]);
    }
    look("react", &server, &[under_path(&server, "react"), at_own_host(&server, "react")]);
    // Without a worker.
    let report = server.report();
    assert_eq!((&report["hits"], &report["misses"]), (&0.into(), &0.into()), "{report}");
}

/// A form as a page without scripts sends it.
fn send_form(server: &Server, path: &str, origin: &str, form: &str) -> Reply {
    let mut client = server.connect();
    let headers = [
        ("origin", origin),
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-length", &form.len().to_string()),
    ];
    client.start("POST", path, &headers);
    client.send(form);
    client.reply()
}

#[test]
fn a_sveltekit_app_rendered_by_the_server() {
    let program = built("sveltekit");
    let (_folder, server) = serve(&[("sveltekit", program)]);

    // A page with its data, a request of the app to itself, a hook and a cookie.
    let page = server.get("/sveltekit/");
    assert_page(&page, &["Hello from the manifest, stranger", "1 + 2 = 3", "<li>Try Hearth</li>"]);
    assert_eq!(page.header("x-hook"), Some("ran"));
    assert_page(&at_host(&server, "sveltekit.localhost", "/"), &["Hello from the manifest, stranger"]);
    let mut client = server.connect();
    client.start("GET", "/sveltekit/", &[("cookie", "visitor=Ada")]);
    assert_page(&client.reply(), &["Hello from the manifest, Ada"]);

    let page = server.get("/sveltekit/later");
    assert_page(&page, &[]);
    let (soon, later) = (page.text().find("not yet").unwrap(), page.text().find("came later").unwrap());
    assert!(soon < later, "{}", page.text());

    // Actions.
    let add = |origin, form| send_form(&server, "/sveltekit/?/add", origin, form);
    assert_page(&add("http://test", "title=Eat+%26+sleep"), &["Added Eat &amp; sleep", "<li>Eat &amp; sleep</li>"]);
    let empty = add("http://test", "title=");
    assert!(empty.status == 422 && empty.text().contains("a title is needed"), "{empty:?}");
    assert_eq!(add("http://elsewhere", "title=Steal").status, 403, "the origin is known to be another");
    let visit = send_form(&server, "/sveltekit/?/visit", "http://test", "name=Ada");
    assert_eq!(visit.header("set-cookie"), Some("visitor=Ada; Path=/sveltekit/; HttpOnly; SameSite=Lax"));

    // A route without a page.
    server.expect("/sveltekit/api/sum?a=2&b=3", r#"{"sum":5}"#);
    let made = server.post("/sveltekit/api/sum", "[1,2,3]");
    assert_eq!((made.status, made.text()), (201, r#"{"sum":6}"#));
    let mut client = server.connect();
    client.start("DELETE", "/sveltekit/api/sum", &[]);
    assert_eq!(client.reply().status, 405);

    // What goes wrong.
    let moved = server.get("/sveltekit/fail?kind=redirect");
    assert_eq!((moved.status, moved.header("location")), (307, Some("./about/")));
    for (path, status, text) in [
        ("/sveltekit/fail?kind=known", 418, "418: a teapot"),
        ("/sveltekit/fail", 500, "500: Internal Error"),
        ("/sveltekit/nowhere", 404, "404: Not Found"),
    ] {
        let reply = server.get(path);
        assert!(reply.status == status && reply.text().contains(text), "GET {path}: {reply:?}");
    }
    server.wait_log("must stay private");

    // What was rendered when it was built, and files.
    assert_page(&server.get("/sveltekit/about/"), &["<h1>About</h1>"]);
    server.expect("/sveltekit/robots.txt", "User-agent: *\n");
    look("sveltekit", &server, &[under_path(&server, "sveltekit"), at_own_host(&server, "sveltekit")]);
}

#[test]
fn a_site_of_astro() {
    let program = built("astro");
    // Its addresses begin with a slash: built for a host of its own, and once more for a path.
    let (_folder, server) = serve(&[("site", program.join("dist")), ("docs", program.join("docs"))]);
    let get = |path: &str| at_host(&server, "site.localhost", path);
    assert_page(&get("/"), &["<h1", "Astro on Hearth", "href=\"/posts/first/\"", "href=\"/_astro/"]);
    assert_page(&get("/posts/first/"), &["The first post", "<strong>Markdown</strong>"]);
    let without_slash = get("/posts/first");
    assert_eq!((without_slash.status, without_slash.header("location")), (308, Some("/posts/first/")));
    let feed = get("/feed.json");
    assert_eq!((feed.header("content-type"), feed.text()), (Some("application/json"), r#"["The first post"]"#));
    get("/_astro/missing.css").assert_error(404, "not_found", &[]);
    get("/manifest.yaml").assert_error(404, "not_found", &[]);
    assert_page(&server.get("/docs/"), &["href=\"/docs/posts/first/\"", "href=\"/docs/_astro/"]);
    look("astro", &server, &[at_own_host(&server, "site"), under_path(&server, "docs")]);
}
