//! TLS: certificates by name, both protocols, and clients without TLS.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{ByteSize, Request};
use hearth_gateway::{Certificates, Config, PemFile, PemPair, TlsError};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::http2::{Client2, request};
use crate::support::*;

const SHORT: Duration = Duration::from_millis(30);

struct Made2 {
    pair: PemPair,
    der: CertificateDer<'static>,
}

fn file(path: &str, text: String) -> PemFile {
    PemFile { path: PathBuf::from(path), text: text.into_bytes() }
}

fn make(names: &[&str]) -> Made2 {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let pair =
        PemPair { certificate: file("chain.pem", cert.pem()), key: file("key.pem", signing_key.serialize_pem()) };
    Made2 { pair, der: cert.der().clone() }
}

/// A handshake as a client that trusts these certificates, and no others.
async fn shake(
    server: &Running,
    trusted: &[&Made2],
    name: &str,
    alpn: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    trusted.iter().for_each(|made| roots.add(made.der.clone()).unwrap());
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    let tcp = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}

fn certificates(all: &[&Made2]) -> Arc<Certificates> {
    let pairs: Vec<PemPair> = all.iter().map(|made| made.pair.clone()).collect();
    Arc::new(Certificates::new(&pairs).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_over_tls() {
    let one = make(&["one.example"]);
    let server = start_tls(Config::default(), certificates(&[&one]), mirror).await;
    for alpn in [&[][..], &[&b"http/1.1"[..]]] {
        let mut stream = shake(&server, &[&one], "one.example", alpn).await.unwrap();
        for n in 0..3 {
            let asked = format!("POST /{n} HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
            stream.write_all(asked.as_bytes()).await.unwrap();
            let expected = format!("POST https://h/{n} hello");
            let mut all = Vec::new();
            while !all.ends_with(expected.as_bytes()) {
                assert!(stream.read_buf(&mut all).await.unwrap() > 0);
            }
        }
        // close_notify was sent, so that the end is not taken for a truncation.
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert!(rest.ends_with("GET https://localhost/ "), "{rest}");
    }
    assert_eq!(server.stop().await.served, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_over_tls_is_chosen_by_the_client() {
    let one = make(&["one.example"]);
    let server = start_tls(Config::default(), certificates(&[&one]), mirror).await;
    let stream = shake(&server, &[&one], "one.example", &[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut client = Client2::over(stream).await;
    assert_eq!(client.ask(request("/x")).await.text(), "GET https://h/x ");
    // Without the choice, the preface is no HTTP/1 request.
    let mut stream = shake(&server, &[&one], "one.example", &[]).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    assert!(all.starts_with("HTTP/1.1 505 "), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_chosen_by_name_and_can_be_replaced() {
    let first = make(&["one.example", "also-one.example"]);
    let second = make(&["*.two.example", "two.example", "one.example"]);
    let certificates = certificates(&[&first, &second]);
    let server = start_tls(Config::default(), certificates.clone(), mirror).await;
    let served = async |name: &str| {
        let stream = shake(&server, &[&first, &second], name, &[]).await.ok()?;
        stream.get_ref().1.peer_certificates().map(|chain| chain[0].clone())
    };
    for name in ["one.example", "also-one.example", "ONE.example"] {
        assert_eq!(served(name).await, Some(first.der.clone()), "{name}");
    }
    for name in ["two.example", "a.two.example"] {
        assert_eq!(served(name).await, Some(second.der.clone()), "{name}");
    }
    // Served with the first certificate, which does not match.
    for name in ["a.b.two.example", "three.example"] {
        assert_eq!(served(name).await, None, "{name}");
    }
    // Unusable certificates change nothing.
    assert!(certificates.replace(&[]).is_err());
    assert_eq!(served("one.example").await, Some(first.der.clone()));
    certificates.replace(std::slice::from_ref(&second.pair)).unwrap();
    assert_eq!(served("one.example").await, Some(second.der.clone()));
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let (one, two) = (make(&["one.example"]), make(&["two.example"]));
    let error = |certificate: PemFile, key: PemFile| {
        Certificates::new(&[PemPair { certificate, key }]).unwrap_err().to_string()
    };
    let (chain, key) = (one.pair.certificate.clone(), one.pair.key.clone());
    let mismatch = error(chain.clone(), two.pair.key.clone());
    assert_eq!(mismatch, "the private key in key.pem does not belong to the certificate in chain.pem");
    assert!(error(file("a.pem", String::new()), key.clone()).starts_with("a.pem has no certificate"));
    assert!(error(key.clone(), key.clone()).starts_with("key.pem has no certificate"));
    assert!(error(chain.clone(), file("b.pem", String::new())).starts_with("b.pem has no private key"));
    assert!(error(chain.clone(), chain.clone()).starts_with("chain.pem has no private key"));
    let cut = String::from_utf8(chain.text.clone()).unwrap().replace("-----END", "");
    assert!(error(file("c.pem", cut), key.clone()).starts_with("c.pem is no valid PEM"));
    let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
    let junk = error(file("d.pem", junk), key.clone());
    assert!(junk.starts_with("the certificate in d.pem cannot be used"), "{junk}");
    let junk = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".to_owned();
    let junk = error(chain, file("e.pem", junk));
    assert!(junk.starts_with("the private key in e.pem cannot be used"), "{junk}");
    assert!(matches!(Certificates::new(&[]), Err(TlsError::None)));
    let device = PemFile::read("/dev/zero").unwrap_err().to_string();
    assert_eq!(device, "cannot read /dev/zero: it is no regular file");
    let missing = PemFile::read("/nowhere/f.pem").unwrap_err().to_string();
    assert!(missing.starts_with("cannot read /nowhere/f.pem: "), "{missing}");
    assert!(!format!("{key:?}").contains("PRIVATE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_without_tls_are_disconnected() {
    let one = make(&["one.example"]);
    let config = Config { handshake_timeout: SHORT, ..Config::default() };
    let server = start_tls(config, certificates(&[&one]), mirror).await;
    server.connect().await.assert_closed().await;
    let mut plain = server.connect().await;
    plain.send(get("/")).await;
    assert!(!plain.rest().await.contains("HTTP/"));
    assert_eq!(server.stop().await.served, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_does_not_delay_the_shutdown() {
    let one = make(&["one.example"]);
    let config = Config { handshake_timeout: Duration::ZERO, drain_timeout: Duration::ZERO, ..Config::default() };
    let server = start_tls(config, certificates(&[&one]), mirror).await;
    let mut silent = server.connect().await;
    while server.stats.summary().connections_open == 0 {
        tokio::task::yield_now().await;
    }
    server.stop().await;
    silent.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_stream_over_tls() {
    let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let one = make(&["one.example"]);
    let server = start_tls(Config::default(), certificates(&[&one]), move |_| {
        let mut receiver = receiver.lock().unwrap().take().unwrap();
        let source = move |cx: &mut std::task::Context<'_>| receiver.poll_recv(cx).map(|p| p.map(Ok));
        async move { Ok(stream_response(Made(source, None))) }
    })
    .await;
    let mut stream = shake(&server, &[&one], "one.example", &[]).await.unwrap();
    stream.write_all(get("/").as_bytes()).await.unwrap();
    let mut all = Vec::new();
    for n in 0..20 {
        let event = format!("event {n:02}\n");
        sender.send(event.clone().into()).unwrap();
        let chunk = format!("9\r\n{event}\r\n");
        while !all.ends_with(chunk.as_bytes()) {
            assert!(stream.read_buf(&mut all).await.unwrap() > 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_echo_arrives_unchanged_over_tls() {
    const TOTAL: usize = 3_000_000;
    let one = make(&["one.example"]);
    let config = Config { max_body: ByteSize::mb(100), ..Config::default() };
    let server = start_tls(config, certificates(&[&one]), |request: Request| async move {
        Ok(hearth_core::Response { body: request.body, ..text_response("") })
    })
    .await;
    let stream = shake(&server, &[&one], "one.example", &[]).await.unwrap();
    let (mut reads, mut writes) = tokio::io::split(stream);
    let big: Vec<u8> = (0..TOTAL as u32).map(|n| (n.wrapping_mul(7) >> 3) as u8).collect();
    let all = big.clone();
    let sending = tokio::spawn(async move {
        let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {TOTAL}\r\nConnection: close\r\n\r\n");
        writes.write_all(head.as_bytes()).await.unwrap();
        writes.write_all(&all).await.unwrap();
        writes.flush().await.unwrap();
        writes
    });
    let mut answer = Vec::new();
    reads.read_to_end(&mut answer).await.unwrap();
    sending.await.unwrap();
    assert!(answer.ends_with(&big));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_handshake_is_closed_for_waiting_clients() {
    let made = make(&["example.com"]);
    let certificates = Arc::new(Certificates::new(std::slice::from_ref(&made.pair)).unwrap());
    let config = Config { max_connections: 1, evict_idle_after: SHORT, ..Config::default() };
    let server = start_tls(config, certificates, mirror).await;
    let mut silent = server.connect().await;
    assert!(shake(&server, &[&made], "example.com", &[]).await.is_ok());
    silent.assert_closed().await;
}
