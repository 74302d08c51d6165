//! Pages with injections.

use super::*;

fn injecting(rules: &mut SiteRules) {
    spa(rules);
    rules.inject =
        Inject { base: BaseTag::Insert, env: vec![("PUBLIC_API".to_owned(), "</script ><script>alert(1)".to_owned())] };
}

const SCRIPT: &str =
    r#"<script>window.__env__={"PUBLIC_API":"\u003c/script \u003e\u003cscript\u003ealert(1)"}</script>"#;

#[tokio::test]
async fn pages_get_base_and_env() {
    let files = [("index.html", "<head lang=\"en\"></head>"), ("docs/a.html", "<p>"), ("a.js", "<head>")];
    let world = TestSite::new(&files, injecting);
    let injected = |base| format!("<head lang=\"en\"><base href=\"{base}\">{SCRIPT}</head>");
    for target in ["/", "/index.html", "/deep/link"] {
        assert_eq!(world.get(target, &[]).await.text(), injected("/app/"), "{target}");
    }
    assert_eq!(world.get("/docs/a.html", &[]).await.text(), format!("<base href=\"/app/\">{SCRIPT}<p>"));
    assert_eq!(world.get("/a.js", &[]).await.text(), "<head>");
    for (base, href) in [("", "/"), ("/", "/"), ("/a@1", "/a@1/"), ("/a\"b", "/a&quot;b/"), ("//x.y/", "/x.y/")] {
        let seen = world.ask("GET", "/", base, &[]).await.unwrap().unwrap();
        assert_eq!(seen.text(), injected(href), "{base}");
    }
}

#[tokio::test]
async fn etags_are_of_the_injected_page() {
    let world = TestSite::new(&[("index.html", "<head>")], injecting);
    let seen = world.get("/", &[]).await;
    let etag = seen.header("etag");
    assert_eq!((seen.header("last-modified"), seen.header("cache-control")), ("", "no-cache"));
    let again = world.get("/deep", &[("if-none-match", etag)]).await;
    assert_eq!((again.status, again.text(), again.header("etag")), (304, "", etag));
    let elsewhere = world.ask("GET", "/", "/other", &[("if-none-match", etag)]).await.unwrap().unwrap();
    assert_eq!(elsewhere.status, 200);
    let since = world.get("/", &[("if-modified-since", "Fri, 31 Dec 9999 00:00:00 GMT")]).await;
    assert_eq!(since.status, 200);
    let head = world.ask("HEAD", "/", "/app", &[]).await.unwrap().unwrap();
    assert_eq!((head.header("etag"), head.header("content-length")), (etag, seen.body.len().to_string().as_str()));
    let part = world.get("/", &[("range", "bytes=6-10")]).await;
    assert_eq!((part.status, part.text()), (206, "<base"));

    let mut rules = SiteRules::new(world.folder());
    injecting(&mut rules);
    rules.inject.env[0].1 = "other".to_owned();
    let other = TestSite { temp: world.temp, site: Site::open(rules).unwrap() };
    assert_eq!(other.get("/", &[("if-none-match", etag)]).await.status, 200, "the env is another");
}

#[tokio::test]
async fn injected_pages_are_never_compressed_variants() {
    let world = TestSite::new(
        &[("index.html", "<head>"), ("index.html.br", "BROTLI"), ("a.js", ""), ("a.js.br", "B")],
        injecting,
    );
    let seen = world.get("/", &[("accept-encoding", "br")]).await;
    assert!(seen.text().starts_with("<head><base") && seen.header("content-encoding").is_empty());
    assert_eq!(world.get("/a.js", &[("accept-encoding", "br")]).await.text(), "B");
    let untouched = TestSite::new(&[("index.html", "<head>"), ("index.html.br", "BROTLI")], spa);
    assert_eq!(untouched.get("/x", &[("accept-encoding", "br")]).await.text(), "BROTLI");
    assert_eq!(untouched.get("/x", &[]).await.text(), "<head>");
}

#[tokio::test]
async fn large_pages_are_sent_unchanged() {
    let page = |size: u64| format!("<head>{}", " ".repeat(size as usize - 6));
    let world = TestSite::new(
        &[("index.html", &page(MAX_INJECTED_PAGE)), ("larger.html", &page(MAX_INJECTED_PAGE + 1))],
        injecting,
    );
    assert!(world.get("/", &[]).await.text().starts_with("<head><base"));
    let larger = world.get("/larger.html", &[]).await;
    assert_eq!(larger.body.len() as u64, MAX_INJECTED_PAGE + 1);
    assert!(larger.text().starts_with("<head> "));
}

#[tokio::test]
async fn a_changed_page_is_injected_again() {
    let world = TestSite::new(&[("index.html", "<head>one")], |rules| {
        injecting(rules);
        rules.memory = ByteSize::mb(1);
    });
    for text in ["two", "six", "ten"] {
        fs::write(world.folder().join("index.html"), format!("<head>{text}")).unwrap();
        assert!(world.get("/route", &[]).await.text().ends_with(text));
    }
}
