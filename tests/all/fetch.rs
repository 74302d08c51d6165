//! `fetch`: to another server, streaming both ways, and only where the egress policy lets it.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use crate::client::Client;
use crate::server::{Server, serve, serve_with};

/// An app that may talk to `backend`, and knows where it is.
fn client_of(case: &str, backend: &str, egress: &str) -> Server {
    serve_with(case, &["--egress", egress, "--env", &format!("BACKEND={backend}")])
}

/// A backend, and an app that calls it.
fn pair(case: &str) -> (Server, Server) {
    let backend = serve("fetch/backend");
    let client = client_of(case, &backend.url(""), "127.0.0.1");
    (backend, client)
}

/// A server that answers nothing by itself.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// An address without a listener: servers of other tests have another one, whatever their ports.
const NO_LISTENER: &str = "127.9.9.9";

fn encode(url: &str) -> String {
    url.replace(':', "%3A").replace('/', "%2F")
}

#[test]
fn a_get_is_answered() {
    pair("fetch/client").1.expect("/get", "200,true,yes,hello,true");
}

#[test]
fn bodies_and_headers_are_sent() {
    let (_backend, client) = pair("fetch/client");
    let posted = r#"{"method":"POST","type":"text/plain;charset=UTF-8","custom":"yes","body":"posted"}"#;
    client.expect("/post", posted);
    client.expect("/request", r#"{"method":"PUT","type":null,"custom":"over","body":"hi"}"#);
}

#[test]
fn forms_set_their_content_type() {
    let (_backend, client) = pair("fetch/client");
    let form =
        r#"{"method":"POST","type":"application/x-www-form-urlencoded;charset=UTF-8","custom":null,"body":"a=1+2"}"#;
    client.expect("/params", form);
    client.expect("/params_typed", r#"{"method":"POST","type":"text/x-own","custom":null,"body":"a=1"}"#);
    client.expect("/form", "true,true");
}

#[test]
fn a_stream_is_uploaded() {
    pair("fetch/client").1.expect("/upload", "54321");
}

#[test]
fn statuses_cookies_and_large_bodies_arrive() {
    let (_backend, client) = pair("fetch/client");
    client.expect("/missing", "404,Not Here,false,not here");
    client.expect("/cookies", "a=1|b=2");
    client.expect("/large", &(3 << 20).to_string());
    client.expect("/parallel", "20");
}

#[test]
fn redirects_are_followed_as_asked() {
    let (_backend, client) = pair("fetch/client");
    client.expect("/see_other", r#"true,{"method":"GET","type":null,"custom":null,"body":""}"#);
    client.expect("/keep", r#"{"method":"POST","type":"text/plain;charset=UTF-8","custom":null,"body":"kept"}"#);
    client.expect("/manual", "303,/echo");
    for way in ["/redirect_error", "/loop"] {
        let text = client.get(way);
        assert!(text.text().starts_with("TypeError: fetch failed: "), "{way}: {}", text.text());
    }
}

#[test]
fn a_fetch_can_be_aborted() {
    let (_backend, client) = pair("fetch/client");
    client.expect("/abort", "RangeError: changed my mind");
    let aborted = client.get("/aborted");
    assert!(aborted.text().starts_with("AbortError: "), "{}", aborted.text());
    let (_listener, url) = silent();
    let timeout = client.get(&format!("/timeout?to={}", encode(&url)));
    assert!(timeout.text().starts_with("TimeoutError: "), "{}", timeout.text());
}

#[test]
fn data_urls_need_no_network() {
    let client = client_of("fetch/client", "http://none.invalid", "none");
    client.expect("/data", "hello");
}

#[test]
fn what_cannot_be_fetched_is_a_type_error() {
    let (_backend, client) = pair("fetch/client");
    for way in ["/scheme", "/bad_header", "/get_with_body"] {
        let reply = client.get(way);
        assert!(reply.text().starts_with("TypeError: "), "{way}: {}", reply.text());
    }
}

#[test]
fn a_backend_that_is_not_there_is_an_error_at_once() {
    let client = client_of("fetch/client", &format!("http://{NO_LISTENER}:9"), NO_LISTENER);
    let reply = client.get("/get");
    assert!(reply.text().starts_with("TypeError: fetch failed: "), "{}", reply.text());
}

#[test]
fn a_backend_that_hangs_up_is_an_error() {
    let (listener, url) = silent();
    let client = client_of("fetch/client", &url, "127.0.0.1");
    let mut asking = client.connect();
    asking.start("GET", "/get", &[]);
    let (stream, _) = listener.accept().unwrap();
    drop(stream);
    // It may try once more, on a new connection.
    drop(listener);
    let reply = asking.reply();
    assert!(reply.text().starts_with("TypeError: fetch failed: "), "{}", reply.text());
}

// ---- egress

#[test]
fn by_default_loopback_is_refused() {
    let backend = serve("fetch/backend");
    let client = serve_with("fetch/client", &["--env", &format!("BACKEND={}", backend.url(""))]);
    let reply = client.get("/get");
    let text = reply.text();
    assert!(text.starts_with("TypeError: fetch failed: ") && text.contains("127.0.0.1"), "{text}");
    assert!(
        text.contains("public") && text.contains("egress"),
        "names the policy that refused, and the remedy: {text}"
    );
}

#[test]
fn by_default_private_addresses_are_refused_in_every_spelling() {
    let client = serve("fetch/client");
    for host in [
        "localhost",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fe80::1]",
        "[fc00::1]",
    ] {
        let reply = client.get(&format!("/url?to={}", encode(&format!("http://{host}:9/"))));
        let text = reply.text();
        assert!(text.starts_with("TypeError: fetch failed: ") && text.contains("egress"), "{host}: {text}");
    }
}

#[test]
fn none_refuses_everything() {
    let backend = serve("fetch/backend");
    let client = client_of("fetch/client", &backend.url(""), "none");
    for url in [backend.url("/hello"), "http://example.com/".to_owned()] {
        let reply = client.get(&format!("/url?to={}", encode(&url)));
        assert!(reply.text().starts_with("TypeError: fetch failed: "), "{}", reply.text());
        assert!(reply.text().contains("none"), "{}", reply.text());
    }
}

#[test]
fn a_list_allows_what_it_names() {
    let backend = serve("fetch/backend");
    let port = backend.address().rsplit_once(':').unwrap().1;
    for egress in ["127.0.0.1", "127.0.0.0/8", "10.1.2.3,127.0.0.1", &format!("127.0.0.1:{port}"), "all"] {
        client_of("fetch/client", &backend.url(""), egress).expect("/get", "200,true,yes,hello,true");
    }
    for egress in ["127.0.0.2", "10.0.0.0/8", "127.0.0.1:1", "example.com"] {
        let reply = client_of("fetch/client", &backend.url(""), egress).get("/get");
        assert!(reply.text().starts_with("TypeError: fetch failed: "), "{egress}: {}", reply.text());
    }
}

#[test]
fn a_redirect_to_a_forbidden_address_is_refused() {
    let backend = serve("fetch/backend");
    let port = backend.address().rsplit_once(':').unwrap().1;
    let client = client_of("fetch/client", &backend.url(""), &format!("127.0.0.1:{port}"));
    let (forbidden, url) = silent();
    forbidden.set_nonblocking(true).unwrap();
    let reply = client.get(&format!("/redirect_to?to={}", encode(&url)));
    assert!(reply.text().starts_with("TypeError: fetch failed: "), "{}", reply.text());
    assert!(forbidden.accept().is_err(), "no connection came");
    client.expect(&format!("/redirect_to?to={}", encode(&backend.url("/hello"))), "hello");
}

// ---- streaming through

#[test]
fn requests_are_passed_on() {
    let (_backend, proxy) = pair("fetch/proxy");
    let reply = proxy.get("/hello");
    assert_eq!((reply.status, reply.header("x-backend"), reply.text()), (200, Some("yes"), "hello"));
    let mut client = proxy.connect();
    client.start("PUT", "/echo", &[("x-custom", "through"), ("content-type", "text/x"), ("content-length", "4")]);
    client.send("body");
    assert_eq!(client.reply().text(), r#"{"method":"PUT","type":"text/x","custom":"through","body":"body"}"#);
    assert_eq!(proxy.get("/missing").status, 404);
}

#[test]
fn both_directions_flow_through_a_proxy() {
    let (_backend, proxy) = pair("fetch/proxy");
    let mut client = proxy.connect();
    client.start_chunked("/stream");
    for (index, text) in ["one", "two", "three"].into_iter().enumerate() {
        client.send_chunk(text);
        if index == 0 {
            assert_eq!(client.head().status, 200);
        }
        assert_eq!(client.text_chunk(), text);
    }
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
}

/// Answers one request by hand.
fn accept(listener: &TcpListener) -> (Client, TcpStream) {
    let (stream, _) = listener.accept().unwrap();
    let writer = stream.try_clone().unwrap();
    let mut client = Client::from(stream);
    client.until("\r\n\r\n");
    (client, writer)
}

#[test]
fn a_download_arrives_chunk_by_chunk() {
    let (listener, url) = silent();
    let server = client_of("fetch/reader", &url, "127.0.0.1");
    let mut client = server.connect();
    client.start("GET", "/", &[]);
    let (_backend, mut writer) = accept(&listener);
    writer.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    for text in ["a", "b", "c"] {
        writer.write_all(format!("1\r\n{text}\r\n").as_bytes()).unwrap();
        if text == "a" {
            assert_eq!(client.head().status, 200);
        }
        assert_eq!(client.text_chunk(), format!("[{text}]"));
    }
    writer.write_all(b"0\r\n\r\n").unwrap();
    assert_eq!(client.chunk(), None);
}

#[test]
fn a_download_that_breaks_off_breaks_off() {
    for case in ["fetch/reader", "fetch/proxy"] {
        let (listener, url) = silent();
        let server = client_of(case, &url, "127.0.0.1");
        let mut client = server.connect();
        client.start("GET", "/", &[]);
        let (backend, mut writer) = accept(&listener);
        writer.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n").unwrap();
        assert_eq!(client.head().status, 200);
        client.chunk().unwrap();
        backend.disconnect();
        assert_eq!(client.rest(), b"", "{case}: without a last chunk");
    }
}

#[test]
fn a_client_that_leaves_ends_the_download() {
    for case in ["fetch/reader", "fetch/proxy"] {
        let (listener, url) = silent();
        let server = client_of(case, &url, "127.0.0.1");
        let mut client = server.connect();
        client.start("GET", "/", &[]);
        let (mut backend, mut writer) = accept(&listener);
        writer.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n").unwrap();
        assert_eq!(client.head().status, 200);
        client.chunk().unwrap();
        client.disconnect();
        assert_eq!(backend.rest(), b"", "{case}: its connection is closed");
    }
}
