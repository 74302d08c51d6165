use std::io;
use std::sync::Arc;
use std::time::Duration;

use hearth_egress::{Addresses, Config, Denied, EgressPolicy, FetchError, Resolve};
use tokio::io::AsyncWriteExt;

use crate::support::*;

fn denied<T>(result: Result<T, FetchError>) -> Denied {
    match result {
        Err(FetchError::Denied(denied)) => denied,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it was let through"),
    }
}

#[tokio::test]
async fn public_refuses_loopback_in_every_form() {
    let server = Server::start(|_| ok("")).await;
    let dns = Dns::default()
        .with("plain.test", &[&["127.0.0.1"]])
        .with("mapped.test", &[&["::ffff:127.0.0.1"]])
        .with("both.test", &[&["::1", "127.0.0.1"]])
        .with("unspecified.test", &[&["0.0.0.0"]]);
    let client = client_with("public", &dns);
    for host in [
        "127.0.0.1",
        "[::ffff:7f00:1]",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "plain.test",
        "mapped.test",
        "both.test",
        "unspecified.test",
    ] {
        let denied = denied(client.send(get(&server.named("http", host, "/"))).await);
        assert!(denied.address.is_some() && denied.policy == "public", "{denied}");
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_connected_where_it_was_checked() {
    let server = Server::start(|_| {
        Reply::Close(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok".to_vec())
    })
    .await;
    // First where the policy lets it, then where a rebinding attacker wants it.
    let dns = Dns::default().with("rebinding.test", &[&["127.0.0.1"], &["169.254.169.254"], &["127.0.0.2"]]);
    let client = client_with(LOCAL, &dns);
    let url = server.named("http", "rebinding.test", "/");
    assert_eq!(text(&client, get(&url)).await, "ok");
    assert_eq!(dns.count(), 1);
    for address in ["169.254.169.254", "127.0.0.2"] {
        let denied = denied(client.send(get(&url)).await);
        assert_eq!(denied.address, Some(address.parse().unwrap()));
        assert_eq!(denied.host, "rebinding.test");
    }
    assert_eq!((dns.count(), server.count()), (3, 1));
}

#[tokio::test]
async fn of_several_addresses_only_the_allowed_are_tried() {
    let server = Server::start(|_| ok("ok")).await;
    let dns = Dns::default().with("mixed.test", &[&["10.0.0.1", "169.254.169.254", "::1", "127.0.0.1"]]);
    assert_eq!(text(&client_with(LOCAL, &dns), get(&server.named("http", "mixed.test", "/"))).await, "ok");
}

#[tokio::test]
async fn what_cannot_be_allowed_is_not_even_looked_up() {
    let dns = Dns::default().with("secret-data.attacker.test", &[&["127.0.0.1"]]);
    for policy in ["none", "example.com", "127.0.0.1:81", "*.test:81"] {
        let denied = denied(client_with(policy, &dns).send(get("http://secret-data.attacker.test/")).await);
        assert_eq!((denied.address, denied.policy.as_str()), (None, policy));
    }
    denied(client_with("none", &dns).send(get("http://127.0.0.1/")).await);
    assert_eq!(dns.count(), 0);
}

#[tokio::test]
async fn a_listed_name_may_be_anywhere() {
    let server = Server::start(|_| ok("ok")).await;
    let dns = Dns::default().with("api.internal.test", &[&["127.0.0.1"]]);
    let url = server.named("http", "api.internal.test", "/");
    for policy in ["api.internal.test", "*.internal.test", "all", "public,api.internal.test", "127.0.0.0/8"] {
        assert_eq!(text(&client_with(policy, &dns), get(&url)).await, "ok", "{policy}");
    }
    let ceiling = "public".parse().unwrap();
    let policy = "api.internal.test".parse::<EgressPolicy>().unwrap().within(&ceiling);
    let config = Config { dns: Arc::new(dns), ..config() };
    let denied = denied(config.build().unwrap().client(policy).send(get(&url)).await);
    assert!(denied.to_string().contains("ceiling"), "{denied}");
}

#[tokio::test]
async fn an_ipv6_address_is_reached_where_it_is_listed() {
    // Machines without IPv6 have no such address.
    let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else { return };
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
    });
    let url = format!("http://{address}/");
    denied(client("public,127.0.0.1").send(get(&url)).await);
    assert_eq!(text(&client(&address.to_string()), get(&url)).await, "ok");
}

#[tokio::test]
async fn what_cannot_be_reached_says_why() {
    let dns = Dns::default().with("empty.test", &[&[]]).with("dead.test", &[&["127.0.0.1", "127.0.0.1"]]);
    let client = client_with("all", &dns);
    let error = client.send(get("http://unknown.test/")).await.unwrap_err();
    assert_eq!(error.to_string(), "the look-up of unknown.test failed: no such name");
    let error = client.send(get("http://empty.test/")).await.unwrap_err();
    assert_eq!(error.to_string(), "the look-up of empty.test failed: it has no address");
    // Bound, so that no other socket gets the port, and not listening.
    let bound = tokio::net::TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = bound.local_addr().unwrap().port();
    let error = client.send(get(&format!("http://dead.test:{port}/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Connect { .. }), "{error:?}");
    assert!(error.to_string().starts_with(&format!("cannot connect to dead.test at 127.0.0.1:{port}: ")), "{error}");
    let error = client.send(get("gopher://x/")).await.unwrap_err();
    assert!(matches!(error, FetchError::Url { .. }), "{error:?}");
}

/// A DNS that never answers.
struct Silence;

impl Resolve for Silence {
    fn resolve<'a>(&'a self, _: &'a str) -> Addresses<'a> {
        Box::pin(std::future::pending::<io::Result<_>>())
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_has_a_limit() {
    let client = Config { dns: Arc::new(Silence), ..config() }.build().unwrap().client(EgressPolicy::public());
    let error = client.send(get("http://example.com/")).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot connect to example.com within 10s");
}

/// Look-ups that go on in the background count, so that cancelling does not pile them up.
#[tokio::test(start_paused = true)]
async fn cancelled_lookups_still_count() {
    let config = Config { dns: Arc::new(Silence), max_lookups: 2, ..config() };
    let client = config.build().unwrap().client(EgressPolicy::public());
    for _ in 0..5 {
        let sending = client.send(get("http://example.com/"));
        tokio::time::timeout(Duration::from_secs(1), sending).await.unwrap_err();
    }
    let other = client.send(get("http://other.example/")).await.unwrap_err();
    assert!(matches!(other, FetchError::ConnectTimedOut { .. }), "{other:?}");
}
