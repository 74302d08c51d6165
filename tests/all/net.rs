//! Apps' own TCP connections: where the egress policy lets them, across requests, and a bounded number.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::server::{Server, serve_with};

/// Sends back what it gets. Its threads end with the connections.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let mut buffer = vec![0; 65536];
                while let Ok(read @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..read]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

fn app(egress: &str) -> Server {
    serve_with("net/sockets", &["--egress", egress])
}

#[test]
fn a_socket_is_a_pair_of_streams() {
    let (port, app) = (echo(), app("127.0.0.1"));
    app.expect(&format!("/echo?port={port}"), "true hello");
    app.expect(&format!("/half?port={port}"), "true");
}

#[test]
fn a_socket_serves_later_requests_too() {
    let (port, app) = (echo(), app("127.0.0.1"));
    for value in ["one", "two", "three"] {
        app.expect(&format!("/keep?port={port}&value={value}"), value);
    }
}

#[test]
fn a_worker_has_a_bounded_number_of_sockets() {
    let (port, app) = (echo(), app("127.0.0.1"));
    for _ in 0..2 {
        app.expect(&format!("/many?port={port}"), "256 a worker may have 256 sockets: close some");
    }
}

#[test]
fn no_spelling_of_an_inner_address_is_reached() {
    let (port, app) = (echo(), app("public"));
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "0",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        let reply = app.get(&format!("/refused?value={host}:{port}"));
        assert!(reply.text().contains("is denied by the policy"), "{host}: {}", reply.text());
    }
    app.expect("/refused?value=127.0.0.1", "the address \"127.0.0.1\" needs a port: host:port");
}
