//! What leads out of a sandbox over its agent's connection: listed hosts, and nothing else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use hearth_sandbox::{ExecRequest, JobState, Language, NetworkPolicy, Sandbox, SandboxConfig, SandboxPool, Seen};

use crate::{sh, text};

/// Answers `GET /N` with N bytes, and `POST` with how many came, and their sum.
pub fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that closes the connection has what it wanted.
            std::thread::spawn(move || drop(serve(&stream)));
        }
    });
    port
}

fn serve(stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let body = if head.starts_with("POST") {
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        let mut sent = vec![0; length.trim().parse().unwrap()];
        reader.read_exact(&mut sent)?;
        format!("{} {}", sent.len(), sum(&sent)).into_bytes()
    } else {
        pattern(head.split(['/', ' ']).nth(2).unwrap().parse().unwrap())
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + n / 300) as u8).collect()
}

/// What zlib calls adler32: quick in any language.
fn sum(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
}

pub async fn with_hosts(pool: &SandboxPool, config: SandboxConfig, hosts: &[&str]) -> Sandbox {
    let network = NetworkPolicy::allow_list(hosts.iter().copied()).unwrap();
    pool.acquire(&SandboxConfig { network, ..config }).await.unwrap()
}

async fn python(sandbox: &Sandbox, code: String) -> String {
    let request = ExecRequest { timeout: Some(Duration::from_secs(300)), ..ExecRequest::code(Language::Python, code) };
    let result = sandbox.exec(request).await.unwrap();
    text(&result.stdout).to_owned() + text(&result.stderr)
}

/// The status of an answer to a request for a URL.
async fn status(sandbox: &Sandbox, url: &str) -> String {
    let code = format!(
        "import urllib.request, urllib.error\ntry:\n  print(urllib.request.urlopen('{url}').status)\n\
         except urllib.error.HTTPError as error:\n  print(error.code)\nexcept OSError as error:\n  print('nothing')"
    );
    python(sandbox, code).await.trim().to_owned()
}

const LARGE: usize = 3_000_000;

/// One has a list with `allowed.test` on it. All names are this machine, where `port` is a server.
pub async fn leads_to_listed_hosts_only(pool: &SandboxPool, config: &SandboxConfig, port: u16) {
    let one = with_hosts(pool, config.clone(), &["allowed.test"]).await;
    let other = with_hosts(pool, config.clone(), &["elsewhere.test"]).await;
    let url = format!("http://allowed.test:{port}/10");
    assert_eq!(status(&one, &url).await, "200");
    assert_eq!(status(&other, &url).await, "403", "each has the list that it was created with");
    assert_eq!(status(&one, &format!("http://unlisted.test:{port}/10")).await, "403");
    assert_eq!(status(&one, &format!("http://127.0.0.1:{port}/10")).await, "nothing", "its loopback is its own");
    let tunnel = format!(
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', 3128)\nc.set_tunnel('allowed.test', {port})\n\
         c.request('GET', '/12')\nprint(len(c.getresponse().read()))"
    );
    assert_eq!(python(&one, tunnel).await, "12\n");
    // A program that does not read delays no other.
    let idle = format!(
        "import socket, time\ns = socket.create_connection(('127.0.0.1', 3128))\n\
         s.sendall(b'GET http://allowed.test:{port}/50000000 HTTP/1.1\\r\\n\\r\\n')\nprint(s.recv(9).decode(), flush=True)\ntime.sleep(1000)"
    );
    let idle = one.start_job(ExecRequest::code(Language::Python, idle)).await.unwrap();
    loop {
        let seen = one.poll_job(idle, Seen::default(), Duration::from_secs(60)).await.unwrap();
        if text(&seen.stdout) == "HTTP/1.1 \n" {
            break;
        }
        assert_eq!(seen.state, JobState::Running, "{}", text(&seen.stderr));
    }
    let large = format!(
        "import urllib.request, zlib\nread = urllib.request.urlopen('http://allowed.test:{port}/{LARGE}').read()\n\
         print(len(read), zlib.adler32(read))\nback = urllib.request.urlopen('http://allowed.test:{port}/', read)\n\
         print(back.read().decode())"
    );
    let (loaded, ()) = tokio::join!(python(&one, large), async {
        for _ in 0..5 {
            assert_eq!(sh(&one, "echo here").await, "here\n");
        }
    });
    let line = format!("{LARGE} {}\n", sum(&pattern(LARGE)));
    assert_eq!(loaded, format!("{line}{line}"), "large things come and go whole");
    let none = pool.acquire(config).await.unwrap();
    let closed = "import socket\ntry:\n  socket.create_connection(('127.0.0.1', 3128))\nexcept OSError as error:\n  print(error.errno)";
    assert_eq!(python(&none, closed.to_owned()).await, "111\n", "without a list there is no way out");
    for sandbox in [one, other, none] {
        sandbox.destroy().await;
    }
}
