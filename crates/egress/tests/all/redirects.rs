use bytes::Bytes;
use hearth_core::Body;
use hearth_egress::{FetchError, RedirectError, RedirectMode};

use crate::support::*;

#[tokio::test]
async fn methods_and_bodies_change_as_the_standard_says() {
    for (status, method, becomes) in [
        (301, "GET", "GET"),
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (303, "GET", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (307, "GET", "GET"),
        (308, "PATCH", "PATCH"),
    ] {
        let server = Server::start(move |seen| match seen.path() {
            "/from" if seen.line.starts_with("HEAD") => {
                Reply::Keep(format!("HTTP/1.1 {status} x\r\nlocation: /to\r\n\r\n").into())
            }
            "/from" => redirect(status, "/to"),
            _ if seen.line.starts_with("HEAD") => reply("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"),
            _ => ok("ok"),
        })
        .await;
        let has_body = !matches!(method, "GET" | "HEAD");
        let mut outgoing = request(method, &server.url("/from")).header("x-kept", "1").header("authorization", "me");
        if has_body {
            outgoing = outgoing
                .body(Bytes::from_static(b"data"))
                .header("content-type", "text/plain")
                .header("content-language", "en")
                .header("content-encoding", "x");
        }
        let incoming = client(LOCAL).send(outgoing).await.unwrap();
        assert!(incoming.redirected);
        assert_eq!(incoming.url, server.url("/to"));
        let seen = server.last();
        assert_eq!(seen.line, format!("{becomes} /to HTTP/1.1"), "{status} {method}");
        let keeps_body = has_body && method == becomes;
        assert_eq!(seen.body, if keeps_body { &b"data"[..] } else { b"" }, "{status} {method}");
        for name in ["content-type", "content-language", "content-encoding"] {
            assert_eq!(seen.header(name).is_some(), keeps_body, "{status} {method} {name}");
        }
        assert_eq!(seen.header("x-kept"), Some("1"));
        assert_eq!(seen.header("authorization"), Some("me"), "the origin is the same");
        assert_eq!(server.count(), 1, "the redirect's connection was used again");
    }
}

#[tokio::test]
async fn secrets_do_not_cross_origins_and_do_not_come_back() {
    let there = Server::start(|_| ok("there")).await;
    let url = there.url("/to");
    let here = Server::start(move |_| redirect(302, &url)).await;
    let outgoing = get(&here.url("/"))
        .header("authorization", "secret")
        .header("cookie", "secret")
        .header("proxy-authorization", "secret")
        .header("x-kept", "1");
    let incoming = client(LOCAL).send(outgoing).await.unwrap();
    assert_eq!(incoming.url, there.url("/to"));
    assert_eq!(here.last().header("cookie"), Some("secret"));
    let seen = there.last();
    assert_eq!(seen.header("x-kept"), Some("1"));
    assert_eq!(seen.header("host"), Some(there.address.to_string().as_str()));
    assert!(!seen.headers.iter().any(|(_, value)| value.contains("secret")), "{seen:?}");
    // There and back again.
    let home = Server::start(|seen| match seen.path() {
        "/home" => ok("home"),
        away => redirect(307, &away[1..]),
    })
    .await;
    let back = home.url("/home");
    let away = Server::start(move |_| redirect(307, &back)).await;
    let start = home.url(&format!("/{}", away.url("/")));
    assert_eq!(text(&client(LOCAL), get(&start).header("authorization", "secret")).await, "home");
    assert_eq!(home.last().header("authorization"), None);
}

#[tokio::test]
async fn another_name_of_the_same_server_is_another_origin() {
    let server = Server::start(|seen| match seen.header("host").unwrap() {
        host if host.starts_with("a.") => redirect(302, &format!("http://b.{}/", &host[2..])),
        _ => ok("ok"),
    })
    .await;
    let dns = Dns::default().with("a.test", &[&["127.0.0.1"]]).with("b.test", &[&["127.0.0.1"]]);
    let outgoing = get(&server.named("http", "a.test", "/")).header("cookie", "secret");
    assert_eq!(text(&client_with(LOCAL, &dns), outgoing).await, "ok");
    assert_eq!(server.last().header("cookie"), None);
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn fragments_are_carried_over_unless_there_is_a_new_one() {
    let server = Server::start(|seen| match seen.path() {
        "/plain" => redirect(302, "/to"),
        "/new" => redirect(302, "/to#new"),
        _ => ok("ok"),
    })
    .await;
    let client = client(LOCAL);
    for (from, to) in [("/plain#old", "/to#old"), ("/new#old", "/to#new"), ("/plain", "/to"), ("/to#old", "/to#old")] {
        assert_eq!(client.send(get(&server.url(from))).await.unwrap().url, server.url(to), "{from}");
    }
}

#[tokio::test]
async fn twenty_are_followed_and_no_more() {
    let server = Server::start(|seen| match seen.path()[1..].parse::<u32>().unwrap() {
        0 => ok("done"),
        n => redirect(302, &format!("/{}", n - 1)),
    })
    .await;
    let client = client(LOCAL);
    assert_eq!(text(&client, get(&server.url("/20"))).await, "done");
    let error = client.send(get(&server.url("/21"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirect(RedirectError::TooMany { limit: 20, .. })), "{error:?}");
    let circle = Server::start(|_| redirect(307, "/")).await;
    let error = client.send(get(&circle.url("/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirect(RedirectError::TooMany { .. })), "{error:?}");
    assert_eq!(circle.lines().len(), 21);
}

#[tokio::test]
async fn the_other_modes_do_as_they_are_called() {
    let server = Server::start(|_| redirect(302, "/to")).await;
    let client = client(LOCAL);
    let error = client.send(get(&server.url("/")).redirect(RedirectMode::Error)).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirect(RedirectError::Refused { .. })), "{error:?}");
    let incoming = client.send(get(&server.url("/")).redirect(RedirectMode::Manual)).await.unwrap();
    assert_eq!((incoming.response.status, incoming.redirected), (302, false));
    assert_eq!(incoming.response.headers.get("location"), Some(&b"/to"[..]));
    assert_eq!(incoming.response.body.collect().await.unwrap(), "moved");
}

#[tokio::test]
async fn what_is_no_redirect_is_a_response() {
    let server = Server::start(|seen| match seen.path() {
        "/nowhere" => reply("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n"),
        "/300" => redirect(300, "/to"),
        "/304" => reply("HTTP/1.1 304 Not Modified\r\nlocation: /to\r\n\r\n"),
        _ => redirect(201, "/to"),
    })
    .await;
    let client = client(LOCAL);
    for (path, status) in [("/nowhere", 302), ("/300", 300), ("/304", 304), ("/201", 201)] {
        let incoming = client.send(get(&server.url(path))).await.unwrap();
        assert_eq!((incoming.response.status, incoming.redirected), (status, false));
    }
}

#[tokio::test]
async fn locations_that_lead_nowhere_are_errors() {
    for location in
        ["ftp://127.0.0.1/", "file:///etc/passwd", "data:text/plain,x", "relative", "http://", "http://a b/"]
    {
        let server = Server::start(move |_| redirect(302, location)).await;
        let error = client("all").send(get(&server.url("/"))).await.unwrap_err();
        assert!(matches!(error, FetchError::Redirect(RedirectError::Location { .. })), "{location}: {error:?}");
    }
    let server =
        Server::start(|_| reply("HTTP/1.1 302 x\r\nlocation: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n")).await;
    // Joined as one value, it is a path that exists nowhere but is still of this server.
    let error = client(LOCAL).send(get(&server.url("/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Url { .. } | FetchError::Redirect(_)), "{error:?}");
}

#[tokio::test]
async fn a_stream_cannot_be_sent_twice() {
    let server = Server::start(|seen| match seen.path() {
        "/to" => ok("ok"),
        path => redirect(path[1..].parse().unwrap(), "/to"),
    })
    .await;
    let client = client(LOCAL);
    for status in [301, 302, 307, 308] {
        let outgoing = request("POST", &server.url(&format!("/{status}"))).body(pieces(&["x"], None));
        let error = client.send(outgoing).await.unwrap_err();
        assert!(matches!(error, FetchError::Redirect(RedirectError::Stream { .. })), "{status}: {error:?}");
    }
    let outgoing = request("POST", &server.url("/303")).body(pieces(&["x"], Some(1)));
    assert_eq!(text(&client, outgoing).await, "ok");
    assert_eq!(server.last().line, "GET /to HTTP/1.1");
    let outgoing = request("POST", &server.url("/307")).body(Body::Empty);
    assert_eq!(text(&client, outgoing).await, "ok");
}

#[tokio::test]
async fn the_body_of_a_redirect_does_not_matter() {
    let endless = "HTTP/1.1 302 x\r\nlocation: /to\r\ncontent-length: 1000000000\r\n\r\nabc";
    let mut server = Server::start(move |seen| match seen.path() {
        "/to" => ok("ok"),
        _ => Reply::Hang(endless.into()),
    })
    .await;
    assert_eq!(text(&client(LOCAL), get(&server.url("/"))).await, "ok");
    assert_eq!(server.closed.recv().await, Some(0));
}

#[tokio::test]
async fn the_policy_holds_on_every_hop() {
    for location in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://127.0.0.1:1/",
        "http://127.0.0.2/",
        "http://localhost/",
        "http://[::1]/",
        "http://[::]/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://rebinding.test/",
        "http://rebinding.test/",
        "http://0177.0.0.1/",
    ] {
        let dns = Dns::default()
            .with("localhost", &[&["::1", "127.0.0.1"]])
            .with("rebinding.test", &[&["127.0.0.1"], &["169.254.169.254"]])
            .with("0177.0.0.1", &[&["127.0.0.1"]]);
        let server = Server::start(move |_| redirect(302, location)).await;
        let client = client_with(&format!("public,{}", server.address), &dns);
        for _ in 0..2 {
            let error = client.send(get(&server.url("/"))).await.unwrap_err();
            assert!(matches!(error, FetchError::Denied(_)), "{location}: {error:?}");
        }
    }
}
