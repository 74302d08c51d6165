#![allow(clippy::unwrap_used)]
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use hearth_core::{BodyError, ByteSize, Failure};
use tempfile::TempDir;

use super::*;
use crate::rules::{APP_FILES, BaseTag, Inject};

mod injected;
mod pages;
mod sending;

/// A temporary folder and a site in it.
struct TestSite {
    temp: TempDir,
    site: Site,
}

/// A response with its collected body.
struct CollectedResponse {
    status: u16,
    headers: Headers,
    body: Vec<u8>,
}

impl TestSite {
    fn new(files: &[(&str, &str)], rules: impl FnOnce(&mut SiteRules)) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("site");
        fs::create_dir(&folder).unwrap();
        fs::write(temp.path().join("secret.txt"), "secret").unwrap();
        for (name, content) in files {
            write(&folder, name, content.as_bytes());
        }
        let mut all = SiteRules::new(folder);
        rules(&mut all);
        Self { site: Site::open(all).unwrap(), temp }
    }

    fn folder(&self) -> std::path::PathBuf {
        self.temp.path().join("site")
    }

    async fn ask(
        &self,
        method: &str,
        target: &str,
        base: &str,
        headers: &[(&str, &str)],
    ) -> Result<Option<CollectedResponse>, FileError> {
        let mut list = Headers::new();
        headers.iter().for_each(|(name, value)| list.push(name.as_bytes(), value.as_bytes()));
        let method = Method::parse(method);
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let ask = FileRequest { method: &method, headers: &list, path, query, base };
        let Some(response) = self.site.answer(ask).await? else { return Ok(None) };
        if method == Method::Head {
            assert!(response.body.is_empty());
        }
        if let (Some(length), 200 | 206) = (response.body.length(), response.status) {
            let said = response.headers.get("content-length").map(|said| std::str::from_utf8(said).unwrap().parse());
            assert!(said.is_none_or(|said| said == Ok(length)) || method == Method::Head);
        }
        let body = response.body.collect().await.unwrap().to_vec();
        Ok(Some(CollectedResponse { status: response.status, headers: response.headers, body }))
    }

    async fn get(&self, target: &str, headers: &[(&str, &str)]) -> CollectedResponse {
        self.ask("GET", target, "/app", headers).await.unwrap().unwrap()
    }

    /// The status and body of a response, or the other result.
    async fn outcome(&self, target: &str) -> String {
        match self.ask("GET", target, "/app", &[]).await {
            Ok(Some(seen)) => format!("{} {}", seen.status, seen.text()),
            Ok(None) => "worker".to_owned(),
            Err(FileError::NotFound) => "404".to_owned(),
            Err(error) => panic!("{target}: {error}"),
        }
    }
}

impl CollectedResponse {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| std::str::from_utf8(value).unwrap())
    }
}

fn write(folder: &Path, name: &str, content: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn set_modified(path: &Path, seconds: u64) {
    File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

fn spa(rules: &mut SiteRules) {
    rules.fallback = Fallback::Spa;
}

const FILES: &[(&str, &str)] = &[
    ("index.html", "INDEX"),
    ("_headers", "HEADERS"),
    ("app.js", "APP"),
    ("docs/index.html", "DOCS"),
    ("docs/page.html", "PAGE"),
    ("assets/logo.svg", "LOGO"),
    ("a b/é.txt", "SPACE"),
    (".env", "HIDDEN"),
    (".git/config", "HIDDEN"),
    ("docs/.htpasswd", "HIDDEN"),
    (".well-known/security.txt", "WELL"),
    ("manifest.yaml", "env: HIDDEN"),
    ("node_modules/x/index.js", "HIDDEN"),
    ("noext", "NOEXT"),
];

#[tokio::test]
async fn files_and_folders() {
    let world = TestSite::new(FILES, |_| {});
    for (target, outcome) in [
        ("/", "200 INDEX"),
        ("/index.html", "200 INDEX"),
        ("/app.js", "200 APP"),
        ("/app.js?v=1", "200 APP"),
        ("/app%2ejs", "200 APP"),
        ("/docs/", "200 DOCS"),
        ("/docs/page.html", "200 PAGE"),
        ("/a%20b/%C3%A9.txt", "200 SPACE"),
        ("/noext", "200 NOEXT"),
        ("/.well-known/security.txt", "200 WELL"),
        ("/app.js/", "404"),
        ("/app.js/x", "404"),
        ("/App.js", "404"),
        ("/assets", "404"),
        ("/assets/", "404"),
        ("/none", "404"),
        ("/none/", "404"),
        ("/none.js", "404"),
        ("//app.js", "404"),
        ("/docs//page.html", "404"),
        ("/docs%2Fpage.html", "404"),
        ("/.env", "404"),
        ("/%2eenv", "404"),
        ("/.git/config", "404"),
        ("/docs/.htpasswd", "404"),
        ("/docs/..%2f.env", "404"),
        ("/../secret.txt", "404"),
        ("/%2e%2e/secret.txt", "404"),
        ("/..%2fsecret.txt", "404"),
        ("/%252e%252e%252fsecret.txt", "404"),
        ("/docs/../app.js", "404"),
        ("/..\\secret.txt", "404"),
        ("/..%5csecret.txt", "404"),
        ("/app.js%00.html", "404"),
        ("/app.js%00", "404"),
        ("/%c0%ae%c0%ae/secret.txt", "404"),
        ("//etc/passwd", "404"),
        ("/%2fetc%2fpasswd", "404"),
        ("/C:/x", "404"),
        ("/app.js::$DATA", "404"),
        ("/app.js.", "404"),
        ("/app.js%20", "404"),
        ("/NUL", "404"),
    ] {
        assert_eq!(world.outcome(target).await, outcome, "{target}");
    }
    assert_eq!(world.outcome(&format!("/{}", "x".repeat(5_000))).await, "404");
    assert_eq!(world.outcome(&"/x".repeat(5_000)).await, "404");
}

#[tokio::test]
async fn links_out_of_the_folder_are_not_found() {
    let world = TestSite::new(FILES, |_| {});
    symlink("../secret.txt", world.folder().join("out.txt")).unwrap();
    symlink(world.temp.path(), world.folder().join("up")).unwrap();
    symlink("../site/../secret.txt", world.folder().join("docs/out.txt")).unwrap();
    symlink("docs", world.folder().join("guide")).unwrap();
    symlink("../../secret.txt", world.folder().join("assets/index.html")).unwrap();
    for (target, outcome) in [
        ("/out.txt", "404"),
        ("/up/secret.txt", "404"),
        ("/docs/out.txt", "404"),
        ("/assets/", "404"),
        ("/guide/page.html", "200 PAGE"),
        ("/guide/", "200 DOCS"),
    ] {
        assert_eq!(world.outcome(target).await, outcome, "{target}");
    }
}

#[tokio::test]
async fn a_single_page_app_gets_its_routes() {
    let world = TestSite::new(FILES, |rules| {
        spa(rules);
        rules.hidden = APP_FILES.iter().map(|name| (*name).to_owned()).collect();
    });
    for (target, outcome) in [
        ("/", "200 INDEX"),
        ("/deep/link", "200 INDEX"),
        ("/deep/link/", "200 INDEX"),
        ("/_headers", "200 INDEX"),
        ("/docs/page", "200 PAGE"),
        ("/deep//link", "200 INDEX"),
        ("/assets", "200 INDEX"),
        ("/assets/", "200 INDEX"),
        ("/redirect/https%3A%2F%2Fx", "200 INDEX"),
        ("/docs/", "200 DOCS"),
        ("/app.js", "200 APP"),
        ("/missing.js", "404"),
        ("/deep/missing.css", "404"),
        ("/.env", "404"),
        ("/.hidden", "404"),
        ("/%2e%2e%2fsecret", "404"),
        ("/%252e%252e/secret", "404"),
        ("/x%00", "404"),
        ("/.well-known/security.txt", "200 WELL"),
        ("/.well-known/none", "404"),
        ("/manifest.yaml", "404"),
        ("/MANIFEST.yaml", "404"),
        ("/manifest%2eyaml", "404"),
        ("/node_modules/x/index.js", "404"),
    ] {
        assert_eq!(world.outcome(target).await, outcome, "{target}");
    }
    assert_eq!(world.outcome(&format!("/reset/{}", "x".repeat(300))).await, "200 INDEX");
}

#[tokio::test]
async fn a_worker_gets_missing_files() {
    let world = TestSite::new(FILES, |rules| rules.fallback = Fallback::Worker);
    for (target, outcome) in [
        ("/app.js", "200 APP"),
        ("/", "200 INDEX"),
        ("/api/users", "worker"),
        ("/missing.js", "worker"),
        ("/.env", "worker"),
        ("/../secret.txt", "worker"),
        ("/%zz", "worker"),
        ("/assets", "worker"),
    ] {
        assert_eq!(world.outcome(target).await, outcome, "{target}");
    }
    for method in ["POST", "PUT", "OPTIONS", "BREW", "get"] {
        assert!(world.ask(method, "/app.js", "", &[]).await.unwrap().is_none(), "{method}");
    }
    assert_eq!(world.ask("HEAD", "/app.js", "", &[]).await.unwrap().unwrap().status, 200);
    let without_index = TestSite::new(&[("a.js", "A")], |rules| rules.fallback = Fallback::Worker);
    assert_eq!(without_index.outcome("/").await, "worker");
}

#[tokio::test]
async fn other_methods_are_refused() {
    let world = TestSite::new(FILES, spa);
    for method in ["POST", "OPTIONS", "DELETE", "get"] {
        let error = world.ask(method, "/", "", &[]).await.err().unwrap();
        assert!(matches!(&error, FileError::Method { allow: "GET, HEAD", .. }), "{method}");
        assert!(matches!(Failure::from(error), Failure::MethodNotAllowed { allow: "GET, HEAD", .. }));
    }
}

#[tokio::test]
async fn folders_without_a_slash_are_redirected() {
    let world = TestSite::new(&[("index.html", "I"), ("docs/index.html", "D"), ("a ?#/é/index.html", "E")], |_| {});
    for (target, base, location) in [
        ("/docs", "/app", "/app/docs/"),
        ("/docs?a=1&b=/x", "/app/", "/app/docs/?a=1&b=/x"),
        ("/docs?", "/app@1", "/app@1/docs/?"),
        ("/docs", "", "/docs/"),
        ("/docs", "/", "/docs/"),
        ("/docs", "//evil.com", "/evil.com/docs/"),
        ("/a%20%3F%23/%C3%A9", "/@scope/app", "/@scope/app/a%20%3F%23/%C3%A9/"),
        ("", "/app", "/app/"),
        ("?q", "/app", "/app/?q"),
    ] {
        let seen = world.ask("GET", target, base, &[]).await.unwrap().unwrap();
        assert_eq!((seen.status, seen.header("location")), (308, location), "{target}");
    }
    assert_eq!(world.ask("GET", "", "", &[]).await.unwrap().unwrap().text(), "I");
}

#[tokio::test]
async fn the_index_has_any_name() {
    let world = TestSite::new(&[("pages/main.html", "MAIN"), ("index.html", "OTHER")], |rules| {
        spa(rules);
        rules.index = "./pages/main.html".to_owned();
    });
    assert_eq!(world.outcome("/").await, "200 MAIN");
    assert_eq!(world.outcome("/route").await, "200 MAIN");
    assert_eq!(world.outcome("/index.html").await, "200 OTHER");
}

#[test]
fn errors_of_opening_name_their_cause() {
    let temp = tempfile::tempdir().unwrap();
    let open = |folder: &Path, index: &str| {
        let mut rules = SiteRules::new(folder);
        spa(&mut rules);
        rules.index = index.to_owned();
        Site::open(rules).map(|_| ()).unwrap_err().to_string()
    };
    let none = temp.path().join("none");
    assert_eq!(open(&none, "index.html"), format!("the folder {none:?} cannot be opened"));
    let folder = temp.path().join("site");
    fs::create_dir(&folder).unwrap();
    assert_eq!(open(&folder, "index.html"), format!("the page \"index.html\" is no file inside {folder:?}"));
    fs::write(temp.path().join("out.html"), "").unwrap();
    symlink("../out.html", folder.join("link.html")).unwrap();
    for index in ["link.html", "../out.html", "", "."] {
        assert_eq!(open(&folder, index), format!("the page {index:?} is no file inside {folder:?}"));
    }
    assert!(Site::open(SiteRules::new(folder)).is_ok(), "only pages of one need their index");
}

#[test]
fn the_response_future_is_send() {
    fn is_send<T: Send>(_: &T) {}
    let temp = tempfile::tempdir().unwrap();
    let site = Site::open(SiteRules::new(temp.path())).unwrap();
    let headers = Headers::new();
    is_send(&site.answer(FileRequest { method: &Method::Get, headers: &headers, path: "/", query: None, base: "" }));
}
