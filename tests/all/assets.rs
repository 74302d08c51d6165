//! `bindings: { ASSETS: assets }`: a worker asks for files of its static folder, as frameworks' adapters for Cloudflare do.

use crate::folder::Folder;

const WORKER: &str = r#"
import { env as imported } from "cloudflare:workers";
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/same") return new Response(String(imported.ASSETS === env.ASSETS));
    if (pathname === "/post") return env.ASSETS.fetch("http://any/hello.txt", { method: "POST", body: "x" });
    if (pathname.startsWith("/from/")) return env.ASSETS.fetch(new URL(pathname.slice(5), "http://any/"));
    if (pathname === "/climb") {
      const paths = ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//secret.txt", "/..%5csecret.txt", "/secret.txt"];
      const replies = await Promise.all(paths.map((path) => env.ASSETS.fetch(`http://any${path}`)));
      return Response.json(replies.map((reply) => reply.status));
    }
    const page = await env.ASSETS.fetch(request);
    return page.status === 404 ? new Response("the worker's") : page;
  },
};
"#;

#[test]
fn a_worker_has_its_files() {
    let files = [
        ("site/manifest.yaml", "static: public\nbindings: { ASSETS: assets }"),
        ("site/index.js", WORKER),
        ("site/secret.txt", "secret"),
        ("site/public/hello.txt", "hello"),
        ("site/public/about.html", "<h1>about</h1>"),
        ("site/public/_headers", "/*\n  x-a: b"),
        ("site/public/_worker.js", "the code"),
    ];
    let folder = Folder::with("assets", &files);
    let server = folder.serve(&[]);
    let get = |path: &str| server.get(&format!("/site{path}"));
    assert_eq!(get("/from/hello.txt").text(), "hello");
    assert_eq!(get("/from/hello.txt").header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(get("/about").text(), "<h1>about</h1>", "pages have no .html");
    assert_eq!(get("/nothing").text(), "the worker's");
    assert_eq!(get("/post").status, 405);
    assert_eq!(get("/same").text(), "true");
    // Instructions for other hosts are not published, nor is anything outside of the folder.
    for path in ["/from/_headers", "/from/_worker.js"] {
        assert_eq!(get(path).status, 404, "{path}");
    }
    assert_eq!(get("/climb").text(), "[404,404,404,404,404,404]");
}

#[test]
fn the_manifest_says_what_is_missing() {
    let folder =
        Folder::with("assets", &[("site/manifest.yaml", "bindings: { ASSETS: assets }"), ("site/index.js", WORKER)]);
    let path = folder.of("site");
    let ended = crate::server::run(&["check", path.to_str().unwrap()]);
    assert!(ended.stdout.contains("ASSETS is bound to assets, and no folder is"), "{}{}", ended.stdout, ended.stderr);
}
