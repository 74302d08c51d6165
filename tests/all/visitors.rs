//! Clients that ask one thing again and again while a test does something to the server, and count what becomes of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::server::{PATIENCE, Server};

/// Between two requests of one client: the machine has other tests to run.
const PAUSE: Duration = Duration::from_millis(5);

pub struct Visitors {
    seen: Arc<Seen>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    over: AtomicBool,
    served: AtomicU64,
    /// Connections that ended before their answer.
    lost: AtomicU64,
    /// Connections that could not be made, and answers that were not those that were wanted.
    wrong: Mutex<Vec<String>>,
}

enum Answer {
    Kept,
    Closing,
}

impl Visitors {
    /// So many clients that keep their connections, each asking `path` and expecting `text`.
    pub fn come(server: &Server, count: usize, path: &'static str, text: &'static str) -> Self {
        let seen = Arc::new(Seen::default());
        let visitor = |_| {
            let (seen, address) = (seen.clone(), server.address().to_owned());
            thread::spawn(move || visit(&seen, &address, path, text))
        };
        Self { threads: (0..count).map(visitor).collect(), seen }
    }

    pub fn lost(&self) -> u64 {
        self.seen.lost.load(Ordering::SeqCst)
    }

    /// So many more requests have been answered.
    #[track_caller]
    pub fn await_more(&self, server: &Server, count: u64) {
        let wanted = self.seen.served.load(Ordering::SeqCst) + count;
        let deadline = Instant::now() + PATIENCE;
        while self.seen.served.load(Ordering::SeqCst) < wanted {
            assert!(Instant::now() < deadline, "no request is answered any more:\n{}", server.log());
            thread::sleep(PAUSE);
        }
    }

    /// Ends them. No request was refused, and all answers were right. Returns how many were lost.
    #[track_caller]
    pub fn go(mut self, server: &Server) -> u64 {
        self.seen.over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        let wrong = self.seen.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{wrong:?}; the log:\n{}", server.log());
        self.lost()
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.seen.over.store(true, Ordering::SeqCst);
    }
}

fn visit(seen: &Seen, address: &str, path: &str, text: &str) {
    let wrong = |what: String| seen.wrong.lock().unwrap().push(what);
    while !seen.over.load(Ordering::SeqCst) {
        let mut stream = match TcpStream::connect(address) {
            Ok(stream) => stream,
            Err(error) => return wrong(format!("refused: {error}")),
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        while !seen.over.load(Ordering::SeqCst) {
            match ask(&mut stream, path) {
                Ok((status, body, then)) => {
                    if (status, body.as_str()) != (200, text) {
                        return wrong(format!("{status} {body}"));
                    }
                    seen.served.fetch_add(1, Ordering::SeqCst);
                    if let Answer::Closing = then {
                        break;
                    }
                }
                Err(_) => {
                    seen.lost.fetch_add(1, Ordering::SeqCst);
                    break;
                }
            }
            thread::sleep(PAUSE);
        }
    }
}

fn ask(stream: &mut TcpStream, path: &str) -> std::io::Result<(u16, String, Answer)> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").as_bytes())?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let length: usize = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if body.len() < length {
            continue;
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let then = if field("connection") == Some("close") { Answer::Closing } else { Answer::Kept };
        return Ok((status, body.to_owned(), then));
    }
}
