//! Pages and files of apps: single-page apps, static folders, and what no path leads to.

use std::os::unix::fs::symlink;

use crate::client::Reply;
use crate::folder::{Folder, ask, at_host, problems};
use crate::server::Server;

const PAGE: &str = "<!doctype html>\n<html><head lang=\"en\"><title>t</title></head><body>page</body></html>\n";
const SECRET: &str = "this must stay private";

/// A page, a worker with files before it, and secrets in every place where one could look for them.
fn sites() -> Folder {
    let folder = Folder::with(
        "sites",
        &[
            ("spa/index.html", PAGE),
            ("spa/app.js", "console.log('app');\n"),
            ("spa/app.0a1b2c3d4e5f.js", "console.log('hashed');\n"),
            ("spa/sub/index.html", "<!doctype html><title>sub</title>"),
            ("spa/sub/data.json", "{}"),
            (
                "spa/.env",
                "PUBLIC_NAME=\"</script ><script>alert(1)</script>\"\nVITE_URL=/api\nHIDDEN=this must stay private\n",
            ),
            ("spa/.git/config", SECRET),
            ("spa/sub/.hidden", SECRET),
            ("spa/node_modules/dep/index.js", SECRET),
            ("spa/package.json", "{\"version\": \"1.0.0\", \"description\": \"this must stay private\"}"),
            ("spa/manifest.yaml", "hosts: [spa.example.com]\nenv: {OTHER: this must stay private}\n"),
            (
                "dist/manifest.yaml",
                "entrypoint: dist/index.html\ninjectBase: false\nenvPrefix: [APP_]\nenv: {APP_A: a, PUBLIC_B: b}\n",
            ),
            ("dist/dist/index.html", "<head><title>dist</title></head>"),
            ("dist/source.js", SECRET),
            ("both/manifest.yaml", "static: public\nenv: {PUBLIC_A: a}\n"),
            ("told/manifest.yaml", "static: public\ninjectBase: true\nenv: {PUBLIC_A: a, B: b}\n"),
            ("told/public/index.html", "<head><title>told</title></head>"),
            ("told/index.js", "export default { fetch: () => new Response() };"),
            ("both/public/file.txt", "a file"),
            ("both/public/index.html", "<title>index of the files</title>"),
            ("both/public/docs/index.html", "<title>docs</title>"),
            ("both/public/.hidden", SECRET),
            ("both/secret.txt", SECRET),
            ("both/.env", "KEY=this must stay private\n"),
            (
                "both/index.js",
                "export default { fetch: (request) => new Response('worker ' + request.method + ' ' + new URL(request.url).pathname) };",
            ),
        ],
    );
    symlink(folder.of("both/secret.txt"), folder.of("both/public/link.txt")).unwrap();
    symlink("/etc", folder.of("both/public/etc")).unwrap();
    symlink("/etc/passwd", folder.of("spa/passwd.txt")).unwrap();
    symlink("..", folder.of("spa/up")).unwrap();
    symlink("app.js", folder.of("spa/inside.js")).unwrap();
    folder
}

/// Apps whose files, or whose page, are links that lead out of them.
fn links(folder: &Folder) {
    folder.write("elsewhere/index.html", "<title>this must stay private</title>");
    folder.write("files-out/index.js", "export default { fetch: () => new Response(null, { status: 404 }) };");
    folder.write("files-out/manifest.yaml", "static: public\n");
    symlink("/etc", folder.of("files-out/public")).unwrap();
    folder.write("page-out/manifest.yaml", "entrypoint: dist/index.html\n");
    symlink(folder.of("elsewhere"), folder.of("page-out/dist")).unwrap();
    folder.write("index-out/manifest.yaml", "timeout: 5s\n");
    symlink("/etc/passwd", folder.of("index-out/index.html")).unwrap();
    folder.write("code-out/manifest.yaml", "timeout: 5s\n");
    symlink(folder.of("both/index.js"), folder.of("code-out/index.js")).unwrap();
    // Within the app, a link is as good as what it leads to.
    folder.write("linked/real/file.txt", "a file");
    folder.write("linked/index.js", "export default { fetch: () => new Response(null, { status: 404 }) };");
    folder.write("linked/manifest.yaml", "static: public\n");
    symlink("real", folder.of("linked/public")).unwrap();
}

fn is_page(reply: &Reply) -> bool {
    reply.status == 200 && reply.text().contains("<body>page</body>")
}

#[test]
fn a_page_is_a_single_page_app() {
    let folder = sites();
    let server = folder.serve(&[]);
    // However it is called, a secret is nothing for a page.
    server.ask_json("PUT", "/admin/apps/spa/secrets/PUBLIC_SECRET", SECRET);
    for path in ["/spa/", "/spa/deep/link", "/spa/deep/link/", "/spa/a%20b", "/spa@1/", "/spa/index.html", "/spa/?q=1"]
    {
        let reply = server.get(path);
        assert!(is_page(&reply), "GET {path}: {reply:?}");
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    }
    server.expect("/spa/app.js", "console.log('app');\n");
    server.expect("/spa/inside.js", "console.log('app');\n");
    server.expect("/spa/sub/data.json", "{}");
    assert!(server.get("/spa/sub/").text().contains("<title>sub"));
    let reply = server.get("/spa/sub?a=b");
    assert_eq!((reply.status, reply.header("location")), (308, Some("/spa/sub/?a=b")));
    for path in ["/spa/missing.js", "/spa/deep/missing.css", "/spa/assets/x.png"] {
        server.get(path).assert_error(404, "not_found", &[]);
    }
    let reply = server.post("/spa/", "body");
    reply.assert_error(405, "method_not_allowed", &["POST"]);
    assert_eq!(reply.header("allow"), Some("GET, HEAD"));
    // Without a worker.
    let report = server.report();
    assert_eq!((&report["hits"], &report["misses"]), (&0.into(), &0.into()), "{report}");

    // The base is where the client found it; what is in the environment cannot break out.
    let env = r#"<script>window.__env__={"PUBLIC_NAME":"\u003c/script \u003e\u003cscript\u003ealert(1)\u003c/script\u003e","VITE_URL":"/api"}</script>"#;
    for (path, base) in [("/spa/", "/spa/"), ("/spa/deep/link", "/spa/"), ("/spa@%5E1.0.0/x", "/spa@%5E1.0.0/")] {
        let reply = server.get(path);
        let head = format!("<head lang=\"en\"><base href=\"{base}\">{env}<title>t</title></head>");
        assert!(reply.text().contains(&head), "{path}: {}", reply.text());
        assert!(!reply.text().contains(SECRET) && !reply.text().contains("HIDDEN"), "{}", reply.text());
    }
    let reply = at_host(&server, "spa.example.com", "/deep/link");
    assert!(reply.text().contains("<base href=\"/\">"), "{}", reply.text());
    // What is in a base cannot break out either.
    let reply = server.get("/spa@1%20%7C%7C%202'\"><x>/");
    assert!(!reply.text().contains("<x>"), "{}", reply.text());

    // Another folder of the app, without a base, with another prefix.
    let reply = server.get("/dist/any/where");
    assert_eq!(reply.text(), "<head><script>window.__env__={\"APP_A\":\"a\"}</script><title>dist</title></head>");
    // The files before a worker are left alone, unless the app says otherwise.
    let told =
        "<head><base href=\"/told/\"><script>window.__env__={\"PUBLIC_A\":\"a\"}</script><title>told</title></head>";
    server.expect("/told/", told);
    server.get("/dist/source.js").assert_error(404, "not_found", &[]);
    server.get("/dist/../source.js").assert_error(404, "not_found", &[]);
}

#[test]
fn files_are_asked_for_as_http_asks() {
    let folder = sites();
    folder.write("both/public/big.bin", vec![b'x'; 300_000]);
    folder.write("both/public/packed.css", "plain");
    folder.write("both/public/packed.css.gz", "packed");
    let server = folder.serve(&[]);
    for path in ["/both/file.txt", "/spa/", "/spa/app.js", "/both/big.bin"] {
        let whole = server.get(path);
        let etag = whole.header("etag").unwrap_or_else(|| panic!("{path}: {whole:?}")).to_owned();
        let same = ask(&server, "GET", path, &[("if-none-match", &etag)]);
        assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, Some(&*etag)), "{path}");
        assert_eq!(ask(&server, "GET", path, &[("if-none-match", "\"other\"")]).status, 200);
        let part = ask(&server, "GET", path, &[("range", "bytes=2-4")]);
        assert_eq!((part.status, &part.body[..]), (206, &whole.body[2..5]), "{path}");
        let range = format!("bytes 2-4/{}", whole.body.len());
        assert_eq!(part.header("content-range"), Some(&*range));
        assert_eq!(ask(&server, "GET", path, &[("range", "bytes=999999-")]).status, 416, "{path}");
        assert_eq!(ask(&server, "GET", path, &[("range", "bytes=2-4"), ("if-range", "\"old\"")]).status, 200);
        let mut client = server.connect();
        client.start("HEAD", path, &[]);
        let head = client.head();
        assert_eq!(head.header("content-length"), Some(&*whole.body.len().to_string()), "{path}");
        // Nothing of a body came: the connection goes on.
        assert_eq!(client.get("/both/file.txt").text(), "a file");
    }
    let hashed = server.get("/spa/app.0a1b2c3d4e5f.js");
    assert!(hashed.header("cache-control").unwrap().contains("immutable"), "{hashed:?}");
    assert!(!server.get("/spa/app.js").header("cache-control").unwrap().contains("immutable"));
    let packed = ask(&server, "GET", "/both/packed.css", &[("accept-encoding", "gzip")]);
    assert_eq!((packed.header("content-encoding"), packed.text()), (Some("gzip"), "packed"));
    server.expect("/both/packed.css", "plain");

    // Files first, then the worker, with everything that is not a file.
    for (path, seen) in [
        ("/both/file.txt", "a file"),
        ("/both/", "<title>index of the files</title>"),
        ("/both/docs/", "<title>docs</title>"),
        ("/both/nothing", "worker GET /nothing"),
        ("/both/nothing.txt", "worker GET /nothing.txt"),
        ("/both/secret.txt", "worker GET /secret.txt"),
        ("/both/index.js", "worker GET /index.js"),
    ] {
        server.expect(path, seen);
    }
    assert_eq!(server.post("/both/file.txt", "x").text(), "worker POST /file.txt");
}

/// Paths that lead nowhere, whatever is tried.
const ESCAPES: [&str; 26] = [
    "/../both/secret.txt",
    "/../../../../../../../../etc/passwd",
    "/%2e%2e/both/secret.txt",
    "/%2e%2e%2fboth%2fsecret.txt",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/%252e%252e%252fboth%252fsecret.txt",
    "/..%252f..%252fetc/passwd",
    "/..\\both\\secret.txt",
    "/..%5cboth%5csecret.txt",
    "/%c0%ae%c0%ae/both/secret.txt",
    "/app.js%00.html",
    "/%00",
    "/file.txt%00",
    "/.env",
    "/%2eenv",
    "/.git/config",
    "/sub/.hidden",
    "/.hidden",
    "/etc/passwd",
    "/link.txt",
    "/passwd.txt",
    "/up/both/secret.txt",
    "/node_modules/dep/index.js",
    "/package.json",
    "/manifest.yaml",
    "/sub/../../both/secret.txt",
];

#[test]
fn no_path_leads_out_or_to_what_is_hidden() {
    let folder = sites();
    // A worker that answers with nothing, so that only a file can.
    folder.write("both/index.js", "export default { fetch: () => new Response(null, { status: 404 }) };");
    links(&folder);
    let mut server = folder.serve(&[]);
    for app in ["/spa", "/both", "/dist"] {
        for escape in ESCAPES {
            check_escape(&server, "test", &format!("{app}{escape}"));
        }
    }
    for escape in ESCAPES {
        check_escape(&server, "spa.localhost", escape);
        check_escape(&server, "both.localhost", escape);
    }
    // Nor does a target that is no path.
    for target in ["http://spa.localhost/%2e%2e/both/secret.txt", "*", "spa/app.js"] {
        check_escape(&server, "test", target);
    }
    assert!(server.is_running());
    server.expect("/both/file.txt", "a file");
    server.expect("/linked/file.txt", "a file");
    check_escape(&server, "test", "/files-out/passwd");
    assert!(
        problems(&server).contains("files-out/public is no folder inside the app's folder"),
        "{}",
        problems(&server)
    );
    for (app, path, words) in [
        ("page-out", "", "leads out of the app's folder"),
        ("index-out", "", "is no file inside"),
        ("code-out", "", "lies outside the app's folder"),
    ] {
        check_escape(&server, "test", &format!("/{app}/{path}"));
        let view = server.ask_json("GET", &format!("/admin/apps/{app}"), "");
        let version = &view["versions"][0];
        assert!(version["error"].as_str().is_some_and(|error| error.contains(words)), "{version}");
    }
}

/// A clean 4xx or the app's own page, and nothing of what is secret.
#[track_caller]
fn check_escape(server: &Server, host: &str, path: &str) {
    let reply = at_host(server, host, path);
    let text = String::from_utf8_lossy(&reply.body);
    let is_clean =
        matches!(reply.status, 400 | 403 | 404) || text.contains("<body>page") || text.contains("<title>dist");
    assert!(is_clean, "{host} {path}: {} {text}", reply.status);
    let leaks = [SECRET, "root:", "PUBLIC_NAME=", "[core]", "entrypoint", env!("CARGO_TARGET_TMPDIR")];
    for leak in leaks {
        assert!(!text.contains(leak), "{host} {path} leaks {leak:?}: {text}");
    }
}

/// What a site generator writes.
const GENERATED: &[(&str, &str)] = &[
    ("blog/index.html", "<head><title>top</title></head>"),
    ("blog/404.html", "<title>nothing here</title>"),
    ("blog/about.html", "<title>about</title>"),
    ("blog/posts/first/index.html", "<title>first</title>"),
    ("blog/_astro/page.DrqNLHZG.css", "p{}"),
    ("blog/.env", "PUBLIC_A=a\n"),
    ("one/index.html", "<title>one</title>"),
    ("one/404.html", "<title>never seen</title>"),
    ("one/manifest.yaml", "site: spa\n"),
    ("many/index.html", "<title>many</title>"),
    ("many/manifest.yaml", "site: pages\n"),
];

#[test]
fn a_site_of_many_pages() {
    let folder = Folder::with("sites-pages", GENERATED);
    let server = folder.serve(&[]);
    let says = |path: &str| {
        let reply = server.get(path);
        let location = reply.header("location").unwrap_or_default().to_owned();
        let title = reply.text().split_once("<title>").map_or("", |(_, rest)| rest.split('<').next().unwrap());
        format!("{} {location}{title}", reply.status)
    };
    for (path, expected) in [
        ("/blog/", "200 top"),
        ("/blog/about", "200 about"),
        ("/blog/about.html", "200 about"),
        ("/blog/about/", "308 /blog/about"),
        ("/blog/posts/first", "308 /blog/posts/first/"),
        ("/blog/posts/first/", "200 first"),
        ("/blog/missing", "404 nothing here"),
        ("/blog/posts/missing.png", "404 nothing here"),
        ("/blog/.env", "404 nothing here"),
        ("/one/anything", "200 one"),
        ("/many/", "200 many"),
    ] {
        assert_eq!(says(path), expected, "{path}");
    }
    let top = server.get("/blog/");
    assert!(!top.text().contains("<base") && top.text().contains("\"PUBLIC_A\":\"a\""), "{}", top.text());
    let kept = server.get("/blog/_astro/page.DrqNLHZG.css");
    assert_eq!(kept.header("cache-control"), Some("public, max-age=31536000, immutable"));
    server.get("/many/missing").assert_error(404, "not_found", &[]);
}
