//! Multi-page sites.

use super::*;

fn world() -> TestSite {
    TestSite::new(
        &[
            ("index.html", "top"),
            ("404.html", "nothing"),
            ("about.html", "about"),
            ("blog/index.html", "blog"),
            ("blog/first.html", "first"),
            ("blog/a b.html", "spaced"),
            ("both.html", "page"),
            ("both/index.html", "folder"),
            ("fr/404.html", "rien"),
            ("fr/deep/page.html", "profond"),
            ("app.js", "js"),
        ],
        |rules| rules.fallback = Fallback::Pages,
    )
}

#[tokio::test]
async fn pages_are_found_without_their_extension() {
    let world = world();
    for (path, expected) in [
        ("/", "200 top"),
        ("/index.html", "200 top"),
        ("/about", "200 about"),
        ("/about.html", "200 about"),
        ("/blog/", "200 blog"),
        ("/blog/first", "200 first"),
        ("/blog/a%20b", "200 spaced"),
        ("/both", "200 page"),
        ("/both/", "200 folder"),
        ("/app.js", "200 js"),
        ("/app", "404 nothing"),
        ("/missing", "404 nothing"),
        ("/missing.js", "404 nothing"),
        ("/about/us", "404 nothing"),
        ("/blog/missing/", "404 nothing"),
        ("/fr/missing", "404 rien"),
        ("/fr/deep/missing", "404 rien"),
        ("/fr/deep/page", "200 profond"),
        ("/.env", "404 nothing"),
        ("/%2e%2e/secret.txt", "404 nothing"),
        ("/a%2Fb", "404 nothing"),
    ] {
        assert_eq!(world.outcome(path).await, expected, "{path}");
    }
}

#[tokio::test]
async fn each_page_has_one_address() {
    let world = world();
    for (path, to) in
        [("/about/?a=1", "/app/about?a=1"), ("/blog?b", "/app/blog/?b"), ("/blog/a%20b/", "/app/blog/a%20b")]
    {
        let seen = world.get(path, &[]).await;
        assert_eq!((seen.status, seen.header("location")), (308, to), "{path}");
    }
}

#[tokio::test]
async fn error_pages_have_no_validators() {
    let world = world();
    let etag = world.get("/404.html", &[]).await.header("etag").to_owned();
    let headers = [("if-none-match", etag.as_str()), ("range", "bytes=0-1"), ("if-match", "\"other\"")];
    let seen = world.get("/missing", &headers).await;
    assert_eq!((seen.status, seen.text()), (404, "nothing"));
    assert_eq!((seen.header("etag"), seen.header("accept-ranges")), ("", ""));
    assert_eq!(seen.header("content-type"), "text/html; charset=utf-8");
    let head = world.ask("HEAD", "/missing", "/app", &[]).await.unwrap().unwrap();
    assert_eq!((head.status, head.header("content-length")), (404, "7"));
    assert!(matches!(world.ask("POST", "/missing", "/app", &[]).await, Err(FileError::Method { .. })));
}

#[tokio::test]
async fn a_site_without_an_error_page_gets_the_default() {
    let world = TestSite::new(&[("index.html", "top"), ("a.html", "a")], |rules| rules.fallback = Fallback::Pages);
    assert_eq!(world.outcome("/missing").await, "404");
    assert_eq!(world.outcome("/a").await, "200 a");
}
