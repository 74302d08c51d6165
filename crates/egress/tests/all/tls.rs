use std::sync::Arc;

use hearth_core::BodyError;
use hearth_egress::{CertificateDer, Client, Config, FetchError, certificates_from_pem};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::support::*;

/// A server with a certificate of its own for `secure.test` and 127.0.0.1.
async fn secure(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> (Server, CertificateDer<'static>) {
    let names = vec!["secure.test".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    (Server::start_with(Arc::new(move |stream| Box::pin(acceptor.accept(stream))), handler).await, certificate)
}

fn trusting(roots: Vec<CertificateDer<'static>>) -> Client {
    let dns = Dns::default()
        .with("secure.test", &[&["127.0.0.1"]])
        .with("secure.test.", &[&["127.0.0.1"]])
        .with("other.test", &[&["127.0.0.1"]]);
    let config = Config { extra_roots: roots, dns: Arc::new(dns), ..config() };
    config.build().unwrap().client(LOCAL.parse().unwrap())
}

#[tokio::test]
async fn a_trusted_server_is_spoken_to() {
    let (server, root) = secure(|seen| ok(seen.path())).await;
    let client = trusting(vec![root]);
    for host in ["secure.test", "secure.test.", "127.0.0.1"] {
        for path in ["/1", "/2"] {
            assert_eq!(text(&client, get(&server.named("https", host, path))).await, path);
        }
    }
    assert_eq!(server.count(), 3, "one connection per host");
    let seen = server.last();
    assert_eq!(seen.header("host"), Some(server.address.to_string().as_str()));
}

#[tokio::test]
async fn an_untrusted_or_wrong_server_is_not() {
    let (server, root) = secure(|_| ok("")).await;
    let error = trusting(Vec::new()).send(get(&server.named("https", "secure.test", "/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
    let error = trusting(vec![root]).send(get(&server.named("https", "other.test", "/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
    assert!(error.to_string().contains("other.test"), "{error}");
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", plain.local_addr().unwrap());
    let greeting = tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"220 this is not TLS\r\n").await.unwrap();
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.ok();
    });
    let error = trusting(Vec::new()).send(get(&url)).await.unwrap_err();
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
    greeting.await.unwrap();
    assert_eq!(server.lines(), Vec::<String>::new());
}

/// Without TLS's close_notify the body may have been truncated on the way.
#[tokio::test]
async fn a_body_without_a_length_that_is_cut_off_is_truncated() {
    let (server, root) = secure(|_| Reply::Close(b"HTTP/1.1 200 OK\r\n\r\npart of".to_vec())).await;
    let response = trusting(vec![root]).send(get(&server.named("https", "secure.test", "/"))).await.unwrap().response;
    assert_eq!(response.body.collect().await, Err(BodyError::Truncated));
}

#[tokio::test]
async fn dropping_a_secure_body_closes_the_connection() {
    let (mut server, root) =
        secure(|_| Reply::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_vec())).await;
    let client = trusting(vec![root]);
    let mut body = client.send(get(&server.named("https", "secure.test", "/"))).await.unwrap().response.body;
    assert_eq!(body.next().await.unwrap().unwrap(), "abc");
    drop(body);
    assert_eq!(server.closed.recv().await, Some(0));
}

#[tokio::test]
async fn redirects_from_secure_to_plain_lose_secrets() {
    let plain = Server::start(|_| ok("plain")).await;
    let to = plain.named("http", "secure.test", "/");
    let (server, root) = secure(move |_| redirect(302, &to)).await;
    let outgoing = get(&server.named("https", "secure.test", "/")).header("authorization", "secret");
    assert_eq!(text(&trusting(vec![root]), outgoing).await, "plain");
    assert_eq!(plain.last().header("authorization"), None);
}

#[test]
fn roots_are_read_from_pem() {
    let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
    let der = made.cert.der().clone();
    let base64 = base64(&der);
    let pem = format!("# a comment\n-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n");
    assert_eq!(certificates_from_pem(format!("{pem}{pem}").as_bytes()).unwrap(), [der.clone(), der]);
    assert!(certificates_from_pem(b"").is_err());
    assert!(certificates_from_pem(b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n").is_err());
    let config = Config { extra_roots: vec![CertificateDer::from(vec![1, 2, 3])], ..config() };
    let error = config.build().map(|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("extra root certificate 1 cannot be used"), "{error}");
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}
