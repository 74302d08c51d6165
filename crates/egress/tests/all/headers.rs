use hearth_core::Headers;
use hearth_egress::{FetchError, RedirectMode};

use crate::support::*;

#[tokio::test]
async fn a_plain_request_says_what_it_must_and_no_more() {
    let server = Server::start(|_| ok("")).await;
    let client = client(LOCAL);
    text(&client, get(&server.url("/a/b?c=d#e"))).await;
    let seen = server.last();
    assert_eq!(seen.line, "GET /a/b?c=d HTTP/1.1");
    let expected = [
        ("host", server.address.to_string()),
        ("accept", "*/*".into()),
        ("accept-encoding", "gzip, br, deflate".into()),
        ("user-agent", concat!("hearth/", env!("CARGO_PKG_VERSION")).into()),
    ];
    assert_eq!(seen.headers, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[tokio::test]
async fn what_the_app_says_counts_unless_it_is_ours_to_say() {
    let server = Server::start(|_| ok("")).await;
    let client = client(LOCAL);
    let outgoing = request("PUT", &server.url("/"))
        .header("Accept", "text/html")
        .header("accept-encoding", "identity")
        .header("User-Agent", "me")
        .header("x-two", "1")
        .header("x-two", "2")
        .header("x-empty", "")
        .header("Host", "metadata.internal")
        .header("content-length", "999")
        .header("transfer-encoding", "gzip")
        .header("connection", "upgrade, x-two")
        .header("upgrade", "h2c")
        .header("keep-alive", "1")
        .header("te", "trailers")
        .header("trailer", "x")
        .header("proxy-connection", "close")
        .header("expect", "100-continue")
        .body(bytes::Bytes::from_static(b"abc"));
    text(&client, outgoing).await;
    let seen = server.last();
    let value = |name: &str| seen.header(name).map(str::to_owned);
    assert_eq!(value("host"), Some(server.address.to_string()));
    assert_eq!(value("accept").as_deref(), Some("text/html"));
    assert_eq!(value("accept-encoding").as_deref(), Some("identity"));
    assert_eq!(value("user-agent").as_deref(), Some("me"));
    assert_eq!(value("content-length").as_deref(), Some("3"));
    assert_eq!(value("x-empty").as_deref(), Some(""));
    assert_eq!(seen.headers.iter().filter(|(name, _)| name == "x-two").count(), 2);
    for name in
        ["transfer-encoding", "connection", "upgrade", "keep-alive", "te", "trailer", "proxy-connection", "expect"]
    {
        assert_eq!(value(name), None, "{name}");
    }
    assert_eq!(seen.body, b"abc");
}

#[tokio::test]
async fn a_part_is_asked_for_without_compression() {
    let server = Server::start(|_| ok("")).await;
    text(&client(LOCAL), get(&server.url("/")).header("range", "bytes=0-1")).await;
    assert_eq!(server.last().header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn methods_without_a_body_say_so_where_they_should() {
    let server = Server::start(|_| ok("")).await;
    let client = client(LOCAL);
    for (method, length) in [
        ("POST", Some("0")),
        ("PUT", Some("0")),
        ("GET", None),
        ("DELETE", None),
        ("OPTIONS", None),
        ("HEAD", None),
        ("chicken", None),
    ] {
        client.send(request(method, &server.url("/"))).await.unwrap();
        let seen = server.last();
        assert_eq!(seen.line, format!("{method} / HTTP/1.1"));
        assert_eq!(seen.header("content-length"), length, "{method}");
        assert_eq!(seen.header("transfer-encoding"), None, "{method}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_is() {
    let server = Server::start(|_| ok("")).await;
    let client = client(LOCAL);
    for method in ["CONNECT", "trace", "TRACK", "", "A B", "GET\r\nx: y"] {
        let error = client.send(request(method, &server.url("/"))).await.unwrap_err();
        assert!(matches!(error, FetchError::Method { .. }), "{method:?}: {error}");
    }
    for (name, value) in [
        ("", "x"),
        ("a b", "x"),
        ("a\r\nb", "x"),
        ("a:", "x"),
        ("a", "b\r\nc: d"),
        ("a", "\0"),
        ("a", "\n"),
        ("a", "\x7f"),
    ] {
        let error = client.send(get(&server.url("/")).header(name, value)).await.unwrap_err();
        assert!(matches!(error, FetchError::Header { .. }), "{name:?}: {value:?}: {error}");
    }
    let mut many = get(&server.url("/"));
    for at in 0..40_000 {
        many.headers.push(format!("x-{at}").as_bytes(), b"1");
    }
    assert!(matches!(client.send(many).await, Err(FetchError::Header { .. })));
    let long = server.url(&format!("/{}", "a".repeat(70_000)));
    assert!(matches!(client.send(get(&long)).await, Err(FetchError::Url { .. })));
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn response_headers_come_as_they_were_less_those_of_the_connection() {
    let server = Server::start(|_| {
        Reply::Close(
            b"HTTP/1.1 299 Quite Fine\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX-Bytes: \xff\xfe\r\nx-empty:\r\n\
              keep-alive: timeout=5\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi"
                .to_vec(),
        )
    })
    .await;
    let response = client(LOCAL).send(get(&server.url("/"))).await.unwrap().response;
    assert_eq!((response.status, response.reason.as_deref()), (299, Some("Quite Fine")));
    let headers: &Headers = &response.headers;
    assert_eq!(headers.get_all("set-cookie").collect::<Vec<_>>(), [b"a=1", b"b=2"]);
    assert_eq!(headers.get("x-bytes"), Some(&b"\xff\xfe"[..]));
    assert_eq!(headers.get("x-empty"), Some(&b""[..]));
    assert_eq!(headers.get("content-length"), Some(&b"2"[..]));
    assert!(!headers.contains("connection") && !headers.contains("keep-alive"));
    assert_eq!(response.body.length(), Some(2));
}

#[tokio::test]
async fn reasons_are_the_servers_also_when_they_are_usual_or_empty() {
    let server = Server::start(|seen| match seen.path() {
        "/usual" => reply("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
        _ => reply("HTTP/1.1 404 \r\ncontent-length: 0\r\n\r\n"),
    })
    .await;
    let client = client(LOCAL);
    let usual = client.send(get(&server.url("/usual"))).await.unwrap().response;
    assert_eq!((usual.status, usual.reason.as_deref()), (404, Some("Not Found")));
    let empty = client.send(get(&server.url("/empty"))).await.unwrap().response;
    assert_eq!(empty.reason.as_deref(), Some(""));
}

#[tokio::test]
async fn answers_that_are_none_are_errors() {
    for (answer, protocol) in [
        ("", false),
        ("HTTP/1.1 200", false),
        ("HTTP/1.1 200 OK\r\nx: y\r\n", false),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", true),
        ("HTTP/1.1 abc OK\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nbad header\r\n\r\n", true),
    ] {
        let server = Server::start(|_| Reply::Close(answer.into())).await;
        let error = client(LOCAL).send(get(&server.url("/"))).await.unwrap_err();
        let right = match error {
            FetchError::Protocol { .. } => protocol,
            FetchError::Closed { .. } => !protocol,
            _ => false,
        };
        assert!(right, "{answer:?}: {error:?}");
        assert_eq!(error.js_class(), "TypeError");
    }
    let server =
        Server::start(|_| reply("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")).await;
    let error = client(LOCAL).send(get(&server.url("/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Upgrade { .. }), "{error:?}");
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    let server = Server::start(move |_| Reply::Close(long.clone().into())).await;
    assert!(matches!(client(LOCAL).send(get(&server.url("/"))).await, Err(FetchError::Protocol { .. })));
}

#[tokio::test]
async fn informational_answers_are_passed_over() {
    let server = Server::start(|_| {
        reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
    })
    .await;
    assert_eq!(text(&client(LOCAL), get(&server.url("/"))).await, "hi");
}

#[tokio::test]
async fn an_exact_request_has_its_own_headers_and_its_response_is_as_it_came() {
    let answer = "HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc";
    let server = Server::start(|_| reply(answer)).await;
    let client = client(LOCAL);
    let outgoing = get(&server.url("/")).header("x-own", "1").redirect(RedirectMode::Exact);
    let incoming = client.send(outgoing).await.unwrap().response;
    let expected = [("host", server.address.to_string()), ("x-own", "1".into())];
    assert_eq!(server.last().headers, expected.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(incoming.status, 302);
    assert_eq!(incoming.headers.get("content-encoding"), Some(&b"gzip"[..]));
    assert_eq!(incoming.headers.get("content-length"), Some(&b"3"[..]));
}
