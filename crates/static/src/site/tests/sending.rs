//! How a file is sent: headers, conditions, ranges, variants, large files and changing ones.

use super::*;

#[tokio::test]
async fn headers_describe_the_file() {
    let world =
        TestSite::new(&[("index.html", "<p>"), ("app.js", "1"), ("app.3f9a1b2c.js", "2"), ("empty.txt", "")], |_| {});
    set_modified(&world.folder().join("app.js"), 784_111_777);
    let seen = world.get("/app.js", &[]).await;
    assert_eq!(seen.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(seen.header("x-content-type-options"), "nosniff");
    assert_eq!(seen.header("last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(seen.header("cache-control"), "public, max-age=0, must-revalidate");
    assert_eq!(seen.header("accept-ranges"), "bytes");
    assert_eq!(seen.header("vary"), "");
    assert!(seen.header("etag").starts_with('"'));
    let hashed = world.get("/app.3f9a1b2c.js", &[]).await;
    assert_eq!(hashed.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(world.get("/", &[]).await.header("cache-control"), "no-cache");
    assert_eq!(world.get("/empty.txt", &[]).await.body, b"");
    let head = world.ask("HEAD", "/app.js", "", &[]).await.unwrap().unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, "1"));
    assert_eq!(head.header("etag"), seen.header("etag"));
    assert_eq!(head.header("content-type"), seen.header("content-type"));
}

#[tokio::test]
async fn times_outside_of_http_dates() {
    let world = TestSite::new(&[("a.txt", "a")], |_| {});
    let file = File::options().write(true).open(world.folder().join("a.txt")).unwrap();
    file.set_modified(UNIX_EPOCH - Duration::from_secs(100)).unwrap();
    let seen = world.get("/a.txt", &[]).await;
    assert_eq!((seen.status, seen.header("last-modified")), (200, ""));
}

#[tokio::test]
async fn conditions_are_evaluated() {
    let world = TestSite::new(&[("a.txt", "content")], |_| {});
    set_modified(&world.folder().join("a.txt"), 784_111_777);
    let etag = world.get("/a.txt", &[]).await.header("etag").to_owned();
    let seen = world.get("/a.txt", &[("if-none-match", &format!("\"x\", W/{etag}"))]).await;
    assert_eq!((seen.status, seen.text()), (304, ""));
    assert_eq!(seen.header("etag"), etag);
    assert_eq!(seen.header("cache-control"), "public, max-age=0, must-revalidate");
    assert_eq!(seen.header("content-type"), "");
    for (headers, status) in [
        (&[("if-none-match", "\"x\"")][..], 200),
        (&[("if-none-match", "*")], 304),
        (&[("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT")], 304),
        (&[("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT")], 200),
        (&[("if-match", "\"x\"")], 412),
        (&[("if-none-match", &etag), ("range", "bytes=0-1")], 304),
        (&[("if-range", &etag), ("range", "bytes=0-1")], 206),
        (&[("if-range", "\"x\""), ("range", "bytes=0-1")], 200),
    ] {
        assert_eq!(world.get("/a.txt", headers).await.status, status, "{headers:?}");
    }
    fs::write(world.folder().join("a.txt"), "changed").unwrap();
    let seen = world.get("/a.txt", &[("if-none-match", &etag)]).await;
    assert_eq!((seen.status, seen.text()), (200, "changed"));
}

#[tokio::test]
async fn ranges() {
    let large = (0..200_000).map(|at| char::from(b'a' + (at % 23) as u8)).collect::<String>();
    let world = TestSite::new(&[("small.txt", "0123456789"), ("large.txt", &large)], |_| {});
    for (range, status, content_range, body) in [
        ("bytes=0-3", 206, "bytes 0-3/10", "0123"),
        ("bytes=7-", 206, "bytes 7-9/10", "789"),
        ("bytes=-2", 206, "bytes 8-9/10", "89"),
        ("bytes=10-", 416, "bytes */10", ""),
        ("bytes=0-1,3-4", 200, "", "0123456789"),
        ("lines=0-1", 200, "", "0123456789"),
    ] {
        let seen = world.get("/small.txt", &[("range", range)]).await;
        assert_eq!((seen.status, seen.header("content-range"), seen.text()), (status, content_range, body), "{range}");
    }
    let seen = world.get("/large.txt", &[("range", "bytes=100000-199998")]).await;
    assert_eq!((seen.status, seen.header("content-range")), (206, "bytes 100000-199998/200000"));
    assert_eq!(seen.text(), &large[100_000..199_999]);
    let head = world.ask("HEAD", "/small.txt", "", &[("range", "bytes=0-3")]).await.unwrap().unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, "10"));
}

#[tokio::test]
async fn variants_are_sent_to_clients_that_accept_them() {
    let files = [("a.js", "plain"), ("a.js.br", "BROTLI"), ("a.js.gz", "GZIP"), ("b.js", "alone")];
    let world = TestSite::new(&files, |_| {});
    let plain = world.get("/a.js", &[]).await;
    assert_eq!(
        (plain.text(), plain.header("vary"), plain.header("content-encoding")),
        ("plain", "accept-encoding", "")
    );
    let coded = world.get("/a.js", &[("accept-encoding", "gzip, br")]).await;
    assert_eq!(
        (coded.text(), coded.header("vary"), coded.header("content-encoding")),
        ("BROTLI", "accept-encoding", "br")
    );
    assert_eq!(coded.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(coded.header("accept-ranges"), "");
    assert_ne!(coded.header("etag"), plain.header("etag"));
    let gzip = world.get("/a.js", &[("accept-encoding", "gzip, br;q=0.1")]).await;
    assert_eq!((gzip.text(), gzip.header("content-encoding")), ("GZIP", "gzip"));
    let part = world.get("/a.js", &[("accept-encoding", "br"), ("range", "bytes=1-2")]).await;
    assert_eq!((part.status, part.text(), part.header("vary")), (206, "la", "accept-encoding"));
    let etag = coded.header("etag");
    let again = world.get("/a.js", &[("accept-encoding", "br"), ("if-none-match", etag)]).await;
    assert_eq!((again.status, again.header("vary")), (304, "accept-encoding"));
    assert_eq!(world.get("/a.js", &[("if-none-match", etag)]).await.status, 200);
    assert_eq!(world.get("/b.js", &[("accept-encoding", "br")]).await.header("vary"), "");
    let itself = world.get("/a.js.gz", &[("accept-encoding", "gzip")]).await;
    assert_eq!((itself.header("content-type"), itself.header("content-encoding")), ("application/gzip", ""));
}

#[tokio::test]
async fn large_files_are_streamed() {
    let content = vec![b'x'; 1 << 20];
    let world = TestSite::new(&[], |_| {});
    write(&world.folder(), "large.bin", &content);
    write(&world.folder(), "small.bin", &content[..1 << 16]);
    let headers = Headers::new();
    let answer = async |path| {
        let ask = FileRequest { method: &Method::Get, headers: &headers, path, query: None, base: "" };
        world.site.answer(ask).await.unwrap().unwrap()
    };
    assert!(matches!(answer("/small.bin").await.body, Body::Full(_)));
    let mut body = answer("/large.bin").await.body;
    assert!(matches!(body, Body::Stream(_)));
    assert_eq!(body.length(), Some(1 << 20));
    body.next().await.unwrap().unwrap();
    File::options().write(true).open(world.folder().join("large.bin")).unwrap().set_len(200_000).unwrap();
    let mut last = Ok(Bytes::new());
    while let Some(piece) = body.next().await {
        last = piece;
    }
    assert!(matches!(last, Err(BodyError::Failed(_))));
}

#[tokio::test]
async fn a_replaced_file_is_sent_at_once() {
    let world = TestSite::new(&[("a.txt", "one")], |_| {});
    assert_eq!(world.outcome("/a.txt").await, "200 one");
    for round in 0..50 {
        let content = format!("n{round:02}");
        match round % 2 {
            0 => fs::write(world.folder().join("a.txt"), &content).unwrap(),
            _ => {
                fs::write(world.folder().join("next"), &content).unwrap();
                fs::rename(world.folder().join("next"), world.folder().join("a.txt")).unwrap();
            }
        }
        assert_eq!(world.outcome("/a.txt").await, format!("200 {content}"));
    }
    fs::remove_file(world.folder().join("a.txt")).unwrap();
    assert_eq!(world.outcome("/a.txt").await, "404");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_change_all_the_time_are_never_mixed() {
    let world = TestSite::new(&[("a.txt", &"a".repeat(1_000))], |_| {});
    let folder = world.folder();
    let writer = std::thread::spawn(move || {
        for round in 0..2_000 {
            let letter = char::from(b'a' + (round % 26) as u8);
            fs::write(folder.join("next"), letter.to_string().repeat(1_000 + round % 3)).unwrap();
            fs::rename(folder.join("next"), folder.join("a.txt")).unwrap();
        }
    });
    while !writer.is_finished() {
        match world.ask("GET", "/a.txt", "", &[]).await {
            Ok(Some(seen)) => assert!(seen.body.len() >= 1_000 && seen.body.iter().all(|byte| *byte == seen.body[0])),
            Err(FileError::Changing) => {}
            other => panic!("{:?}", other.map(|seen| seen.map(|seen| seen.status))),
        }
    }
    writer.join().unwrap();
}

#[tokio::test]
async fn a_private_site_is_not_for_shared_caches() {
    let world = TestSite::new(&[("a.js", "1")], |rules| rules.audience = Audience::Private);
    assert_eq!(world.get("/a.js", &[]).await.header("cache-control"), "private, max-age=0, must-revalidate");
}

#[tokio::test]
async fn cached_contents_are_the_same() {
    // The files are settled, so they are cached.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let content = fs::read(folder.join("lib.rs")).unwrap();
    let world = TestSite { site: Site::open(SiteRules::new(folder)).unwrap(), temp: tempfile::tempdir().unwrap() };
    for _ in 0..3 {
        assert_eq!(world.get("/lib.rs", &[]).await.body, content);
        assert_eq!(world.get("/lib.rs", &[("range", "bytes=1-4")]).await.body, content[1..5]);
    }
}

#[tokio::test]
async fn unreadable_files_are_not_found() {
    let world = TestSite::new(&[("a.txt", "a")], |_| {});
    let path = world.folder().join("a.txt");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    // A privileged process can read the file nevertheless.
    let outcome = if File::open(&path).is_ok() { "200 a" } else { "404" };
    assert_eq!(world.outcome("/a.txt").await, outcome);
}
