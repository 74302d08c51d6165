//! Connections that the reactor serves in batches: together, and independent of each other.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use hearth_core::Request;
use hearth_gateway::Config;

use crate::support::{get, mirror, start, text_response};

/// The limit for an answer that must come.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A client without a runtime, since the server's threads are all blocked at times.
struct Blocking(TcpStream);

impl Blocking {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    fn ask(&mut self, path: &str) {
        self.0.write_all(get(path).as_bytes()).unwrap();
    }

    fn answer(&mut self) -> String {
        let (mut text, mut buffer) = (String::new(), [0; 1024]);
        while !text.ends_with("done") {
            let count = self.0.read(&mut buffer).unwrap();
            assert!(count > 0, "{text:?}");
            text += std::str::from_utf8(&buffer[..count]).unwrap();
        }
        text
    }
}

/// Both threads are blocked. As soon as one is free, the requests that have come meanwhile are read as one batch, in the middle of
/// which the thread is blocked again. The other thread then serves the rest of the batch and sends the answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_request_does_not_block_the_rest_of_its_batch() {
    let (held, holding) = mpsc::channel();
    let release: [_; 3] = std::array::from_fn(|_| mpsc::channel::<()>());
    let (keys, doors): (Vec<_>, Vec<_>) = release.into_iter().unzip();
    let doors: Vec<_> = doors.into_iter().map(Mutex::new).collect();
    let server = start(Config::default(), move |request: Request| {
        if let Some((_, number)) = request.url.split_once("/hold/") {
            let number: usize = number.parse().unwrap();
            held.send(number).unwrap();
            // Blocks the thread, as a long turn does.
            doors[number].lock().unwrap().recv().unwrap();
        }
        async { Ok(text_response("done")) }
    })
    .await;
    let mut clients: Vec<_> = (0..6).map(|_| Blocking::connect(server.address)).collect();
    for client in &mut clients {
        client.ask("/");
        client.answer();
    }
    for (number, client) in clients.iter_mut().enumerate().take(2) {
        client.ask(&format!("/hold/{number}"));
        assert_eq!(holding.recv_timeout(ANSWER_TIMEOUT).unwrap(), number);
        if number == 0 {
            // As the standby workers do it: tokio does not notice that the thread that polls I/O is blocked.
            tokio::spawn(async {}).await.unwrap();
        }
    }
    clients[2].ask("/");
    clients[3].ask("/hold/2");
    clients[4].ask("/");
    clients[5].ask("/");
    keys[0].send(()).unwrap();
    assert_eq!(holding.recv_timeout(ANSWER_TIMEOUT).unwrap(), 2);
    keys[1].send(()).unwrap();
    for client in [0, 1, 2, 4, 5] {
        clients[client].answer();
    }
    keys[2].send(()).unwrap();
    clients[3].answer();
    drop(clients);
    assert_eq!(server.stop().await.served, 12);
}

/// Pipelined requests, cut into pieces, on many connections: none is lost, mixed up or answered in another order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_connections_get_their_own_answers_in_order() {
    let server = start(Config::default(), mirror).await;
    let clients = (0..40usize).map(|number| {
        let address = server.address;
        tokio::spawn(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            for round in 0..30usize {
                let paths: Vec<_> = (0..=round % 4).map(|n| format!("/{number}/{round}/{n}")).collect();
                let text: String = paths.iter().map(|path| get(path)).collect();
                let (first, second) = text.split_at(text.len() * (round % 7) / 6 % text.len());
                stream.write_all(first.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
                stream.write_all(second.as_bytes()).await.unwrap();
                let last = format!("GET http://h{} ", paths[paths.len() - 1]);
                let (mut seen, mut buffer) = (String::new(), [0; 4096]);
                while !seen.ends_with(&last) {
                    let count = stream.read(&mut buffer).await.unwrap();
                    assert!(count > 0, "{seen}");
                    seen += std::str::from_utf8(&buffer[..count]).unwrap();
                }
                let mut rest = seen.as_str();
                for path in &paths {
                    let answer = format!("\r\n\r\nGET http://h{path} ");
                    rest = rest.split_once(&answer).unwrap_or_else(|| panic!("{path} in {seen}")).1;
                }
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    assert_eq!(server.stop().await.aborted, 0);
}

/// Each request comes just when a driver is about to park: none is missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_race_with_parking_drivers_are_answered() {
    let server = start(Config::default(), |_| async { Ok(text_response("done")) }).await;
    let address = server.address;
    let clients = (0..2).map(|_| {
        std::thread::spawn(move || {
            let mut client = Blocking::connect(address);
            for _ in 0..5000 {
                client.ask("/");
                client.answer();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().unwrap();
    }
    assert_eq!(server.stop().await.served, 10_000);
}

/// A panic ends its connection and no other.
#[tokio::test]
async fn a_panic_ends_its_connection_alone() {
    let server = start(Config::default(), |request: Request| {
        assert!(!request.url.ends_with("/panic"), "as asked for");
        async { Ok(text_response("done")) }
    })
    .await;
    let mut other = server.connect().await;
    other.send(get("/")).await;
    assert_eq!(other.reply().await.body, b"done");
    assert_eq!(server.all(get("/panic")).await, "");
    other.send(get("/")).await;
    assert_eq!(other.reply().await.body, b"done");
}
