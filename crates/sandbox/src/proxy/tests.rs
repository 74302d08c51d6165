//! The proxy, with the fake driver and servers on this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use hearth_egress::Addresses;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::SandboxConfig;
use crate::driver::Drivers;
use crate::exec::ExecRequest;
use crate::fake::FakeDriver;
use crate::pool::{PoolConfig, Pooling, SandboxPool};
use crate::sandbox::Sandbox;

/// Resolves every name to this machine, and records the names.
#[derive(Default)]
struct Dns {
    asked: std::sync::Mutex<Vec<String>>,
}

impl Resolve for Dns {
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        self.asked.lock().unwrap().push(host.to_owned());
        Box::pin(async { io::Result::Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
    }
}

struct Scene {
    driver: FakeDriver,
    pool: SandboxPool,
    sandbox: Sandbox,
    dns: Arc<Dns>,
}

async fn scene(hosts: &[&str], ceiling: EgressPolicy) -> Scene {
    let (driver, dns) = (FakeDriver::new(), Arc::new(Dns::default()));
    let drivers = Drivers::new(Arc::new(driver.clone()), []);
    let config = PoolConfig { pooling: Pooling::Off, egress: ceiling, dns: dns.clone(), ..PoolConfig::new(drivers) };
    let pool = SandboxPool::new(config);
    let network = NetworkPolicy::allow_list(hosts.iter().copied()).unwrap();
    let config = SandboxConfig::builder().network(network).build().unwrap();
    let sandbox = pool.acquire(&config).await.unwrap();
    Scene { driver, pool, sandbox, dns }
}

impl Scene {
    /// Sends a request to the proxy from inside, and reads until it closes the connection.
    async fn say(&self, request: &str) -> String {
        let mut connection = self.driver.dial_out(self.sandbox.id()).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    async fn end(self) {
        self.sandbox.destroy().await;
        assert!(self.driver.dial_out(self.sandbox.id()).await.is_none());
        drop(self.sandbox);
        assert_eq!(self.pool.shutdown().await.live, 0);
    }
}

/// Answers one request with the request itself.
async fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut heard = vec![0; 4096];
            let count = stream.read(&mut heard).await.unwrap_or(0);
            let _hung_up = stream.write_all(&[b"heard ", &heard[..count]].concat()).await;
        }
    });
    port
}

#[tokio::test]
async fn listed_hosts_are_reached_by_tunnel_and_by_request() {
    let port = server().await;
    let scene = scene(&["allowed.test"], EgressPolicy::all()).await;
    let mut tunnel = scene.driver.dial_out(scene.sandbox.id()).await.unwrap();
    tunnel.write_all(format!("CONNECT allowed.test:{port} HTTP/1.1\r\n\r\nearly").as_bytes()).await.unwrap();
    let mut answer = String::new();
    tunnel.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nheard early");
    let answer = scene.say(&format!("GET http://allowed.test:{port}/x HTTP/1.1\r\nhost: other\r\n\r\n")).await;
    assert_eq!(answer, format!("heard GET /x HTTP/1.1\r\nhost: allowed.test:{port}\r\nconnection: close\r\n\r\n"));
    scene.end().await;
}

#[tokio::test]
async fn other_hosts_are_refused_before_they_are_resolved() {
    let scene = scene(&["allowed.test", "*.sub.test:443"], EgressPolicy::all()).await;
    for target in ["evil.test:443", "xallowed.test:443", "sub.test:443", "a.sub.test:80", "127.0.0.1:80", "[::1]:80"] {
        let answer = scene.say(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{target}: {answer}");
    }
    assert_eq!(*scene.dns.asked.lock().unwrap(), [""; 0]);
    for nonsense in
        ["GET / HTTP/1.1\r\n\r\n", "CONNECT a/b:1 HTTP/1.1\r\n\r\n", "CONNECT allowed.test:0 HTTP/1.1\r\n\r\n"]
    {
        let answer = scene.say(nonsense).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{nonsense}: {answer}");
    }
    scene.end().await;
}

#[tokio::test]
async fn a_listed_name_does_not_lead_to_this_machine_or_network() {
    let port = server().await;
    let scene = scene(&["allowed.test", "127.0.0.1", "10.0.0.0/8"], EgressPolicy::public()).await;
    for target in ["allowed.test", "127.0.0.1", "10.1.2.3"] {
        let answer = scene.say(&format!("CONNECT {target}:{port} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{target}: {answer}");
    }
    scene.end().await;
}

#[tokio::test]
async fn programs_inside_are_told_where_the_proxy_is() {
    let scene = scene(&["allowed.test"], EgressPolicy::public()).await;
    for name in ["HTTPS_PROXY", "http_proxy"] {
        let result = scene.sandbox.exec(ExecRequest::shell(format!("env {name}"))).await.unwrap();
        assert_eq!(result.stdout, "http://127.0.0.1:3128\n");
    }
    scene.end().await;
}

#[tokio::test]
async fn without_a_list_the_proxy_refuses_everything() {
    let driver = FakeDriver::new();
    let drivers = Drivers::new(Arc::new(driver.clone()), []);
    let pool = SandboxPool::new(PoolConfig { pooling: Pooling::Off, ..PoolConfig::new(drivers) });
    let sandbox = pool.acquire(&SandboxConfig::default()).await.unwrap();
    let mut connection = driver.dial_out(sandbox.id()).await.unwrap();
    connection.write_all(b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("no network"), "{answer}");
    // Installers try once.
    assert_eq!(sandbox.exec(ExecRequest::shell("env PIP_RETRIES")).await.unwrap().stdout, "0\n");
}

#[tokio::test]
async fn a_driver_without_uplink_uses_the_tunnel_and_refuses_the_hosts_network() {
    let driver = FakeDriver::secluded();
    let pool = SandboxPool::new(PoolConfig::new(Drivers::new(Arc::new(driver.clone()), [])));
    let with = |network| SandboxConfig::builder().network(network).build().unwrap();
    let error = pool.acquire(&with(NetworkPolicy::Full)).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "the full network is not allowed here: secluded sandboxes reach listed hosts only: list them, or * for all that \
         `egress` allows"
    );
    assert_eq!(driver.begun(), 0);
    let sandbox = pool.acquire(&with(NetworkPolicy::allow_list(["allowed.test"]).unwrap())).await.unwrap();
    assert_eq!(
        sandbox.exec(ExecRequest::shell("env HTTPS_PROXY")).await.unwrap().stdout,
        "http://127.0.0.1:3128\n",
        "it is opened when it is asked for"
    );
    let without = pool.acquire(&with(NetworkPolicy::None)).await.unwrap();
    assert_eq!(without.exec(ExecRequest::shell("env HTTPS_PROXY")).await.unwrap().stdout, "\n");
}

#[tokio::test]
async fn a_star_is_every_host_that_the_ceiling_allows() {
    let port = server().await;
    let scene = scene(&["*"], EgressPolicy::all()).await;
    let answer = scene.say(&format!("GET http://any.test:{port}/x HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("heard GET /x"), "{answer}");
    scene.end().await;
    let scene = self::scene(&["*"], EgressPolicy::public()).await;
    for target in ["any.test", "127.0.0.1"] {
        let answer = scene.say(&format!("CONNECT {target}:{port} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{target}: {answer}");
    }
    scene.end().await;
}

#[test]
fn lists_are_lists_of_hosts() {
    for hosts in
        [&[][..], &["all"], &["public"], &["none"], &["a.test,all"], &["http://a.test/"], &["a b"], &["*", "a.test"]]
    {
        let error = NetworkPolicy::allow_list(hosts.iter().copied()).unwrap_err();
        assert!(error.to_string().starts_with("network: "), "{hosts:?}: {error}");
    }
}
