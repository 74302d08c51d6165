//! What one owner can do to another: the latency of a quick app, alone and beside each kind of hog, on the real program.
//!
//!     cargo bench -p hearth --bench fairness [-- SECONDS [FLAGS OF hearth serve]]
//!
//! The quick app is asked at a fifth of the rate that it reaches alone, by an open loop: a request that could not be sent in
//! time because the one before was late counts from when it should have been sent. Hogs ask again as soon as they are
//! answered. The quick app's clients stand for other machines: they have real-time priority (`chrt`, which takes root), so
//! that what is late is the server, not a client that waits for a core.
//!
//! Read "typical", the median of the p99s of all quarter seconds, and its ratio to "alone": a virtual machine's host takes the
//! cores away for milliseconds, some times a second, which is most of a p99 over some seconds, alone or not. And read it beside
//! "busy": as many loops in processes that have nothing to do with Hearth, at the lowest priority there is. "machine" is how late
//! a thread came at most that does nothing but sleep, at the highest priority: what no server could have helped.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "../../../tests/all/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../../../tests/all/server.rs"]
mod server;

use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hearth_sys::sched::{ChildSlice, set_short_slice};

use crate::server::{Server, apps, serve_folder};

/// Connections of the quick app's clients.
const CLIENTS: u32 = 4;
const HOGS: usize = 4;
/// By then the hog is known for what it is.
const KNOWN_AFTER: Duration = Duration::from_secs(3);
/// What a typical p99 is the median of.
const WINDOW: Duration = Duration::from_millis(250);
/// Until then all clients are connected.
const GET_READY: Duration = Duration::from_millis(200);
/// How long the thread sleeps that looks after the machine.
const NAP: Duration = Duration::from_micros(500);
/// Below this a late start is the client's own sleep, above it the server's doing.
const OWN_DELAY: Duration = Duration::from_millis(1);

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let seconds =
        arguments.next().map_or(5, |seconds| seconds.parse().expect("the first argument is a number of seconds"));
    let length = Duration::from_secs(seconds);
    let flags: Vec<String> = arguments.collect();
    let start = |memory| {
        let mut all: Vec<&str> = vec!["--cpu", "1s", "--wall", "5s", "--memory", memory];
        all.extend(flags.iter().map(String::as_str));
        serve_folder(&apps().join("pools/many"), &all)
    };

    let server = start("128mb");
    let rate = f64::from(closed_loop(&server, Duration::from_secs(2))) / 2.0;
    let pace = Duration::from_secs_f64(f64::from(CLIENTS) * 5.0 / rate);
    println!("flags: {flags:?}; alone {rate:.0} requests/s, asked for {:.0}/s", rate / 5.0);
    println!(
        "{:<18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}   {:>13} {:>11}",
        "beside", "p50 µs", "typical", "p99", "p99.9", "max", "machine", "typical:alone", "p99:alone"
    );
    drop(server);

    let server = start("128mb");
    open_loop(&server, pace, Duration::from_secs(1));
    let alone = open_loop(&server, pace, length);
    print("busy", "alone", &alone, None);
    let mut loops: Vec<Child> = (0..HOGS).map(|_| idle_loop()).collect();
    print("busy", "busy", &open_loop(&server, pace, length), Some(&alone));
    for child in &mut loops {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    drop(server);

    // The built-in needs room: near its limit V8 collects garbage for minutes, which cannot be stopped either.
    for (what, memory) in
        [("loop", "128mb"), ("memory", "128mb"), ("storm", "128mb"), ("never", "128mb"), ("builtin", "1gb")]
    {
        let server = start(memory);
        open_loop(&server, pace, Duration::from_secs(1));
        let alone = open_loop(&server, pace, length);
        print(what, "alone", &alone, None);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..HOGS {
                scope.spawn(|| hog(&server, what, &stop));
            }
            // An app's first long turns have the weight of quick ones, until it is known.
            print(what, "at first", &open_loop(&server, pace, KNOWN_AFTER), Some(&alone));
            print(what, what, &open_loop(&server, pace, length), Some(&alone));
            // A hog may be in a turn of ten seconds, and its answer is of no interest.
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Requests answered in `length`, as fast as they go.
fn closed_loop(server: &Server, length: Duration) -> u32 {
    let end = Instant::now() + length;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.connect();
                    let mut count = 0;
                    while Instant::now() < end {
                        assert_eq!(client.get("/good/").status, 200);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    })
}

/// When a request was due, since the beginning, and how long it took.
struct Answered {
    due: Duration,
    took: Duration,
}

/// Requests that each client sends once every `pace`.
fn open_loop(server: &Server, pace: Duration, length: Duration) -> Latencies {
    let begin = Instant::now() + GET_READY;
    let (all, machine) = std::thread::scope(|scope| {
        let machine = scope.spawn(move || lateness(begin, length));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|index| {
                scope.spawn(move || {
                    come_first();
                    let mut client = server.connect();
                    let mut answered = Vec::new();
                    let mut due = begin + pace * index / CLIENTS;
                    while due < begin + length {
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        let sent = Instant::now();
                        let from = if sent - due > OWN_DELAY { due } else { sent };
                        assert_eq!(client.get("/good/").status, 200);
                        answered.push(Answered { due: due - begin, took: from.elapsed() });
                        due += pace;
                    }
                    answered
                })
            })
            .collect();
        let all = clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>();
        (all, machine.join().unwrap())
    });
    Latencies { machine, ..Latencies::of(&all, length) }
}

/// How late a thread wakes up at most that has nothing to do and comes before all others.
fn lateness(begin: Instant, length: Duration) -> Duration {
    come_first();
    std::thread::sleep(begin.saturating_duration_since(Instant::now()));
    let mut most = Duration::ZERO;
    while begin.elapsed() < length {
        let asleep = Instant::now();
        std::thread::sleep(NAP);
        most = most.max(asleep.elapsed() - NAP);
    }
    most
}

/// Gives this thread real-time priority, or says once that it cannot be had.
fn come_first() {
    static SAID: Once = Once::new();
    let thread = std::fs::read_link("/proc/thread-self").unwrap();
    let thread = thread.file_name().unwrap();
    let done = Command::new("chrt").args(["--fifo", "--pid", "10"]).arg(thread).stderr(Stdio::null()).status();
    if !done.is_ok_and(|status| status.success()) {
        SAID.call_once(|| println!("clients have normal priority (real-time takes root): they wait for cores, too"));
        set_short_slice(ChildSlice::Inherit);
    }
}

/// Sorted, and the p99s of all windows, sorted; and what the machine did meanwhile.
struct Latencies {
    all: Vec<Duration>,
    windows: Vec<Duration>,
    machine: Duration,
}

impl Latencies {
    fn of(answered: &[Answered], length: Duration) -> Self {
        let sorted = |part: &mut dyn Iterator<Item = &Answered>| {
            let mut list: Vec<Duration> = part.map(|one| one.took).collect();
            list.sort_unstable();
            list
        };
        let count = (length.as_secs_f64() / WINDOW.as_secs_f64()) as u32;
        let mut windows: Vec<Duration> = (0..count)
            .map(|index| WINDOW * index..WINDOW * (index + 1))
            .map(|window| sorted(&mut answered.iter().filter(|one| window.contains(&one.due))))
            .map(|list| at(&list, 0.99))
            .collect();
        windows.sort_unstable();
        Self { all: sorted(&mut answered.iter()), windows, machine: Duration::ZERO }
    }

    fn typical(&self) -> f64 {
        at(&self.windows, 0.5).as_secs_f64() * 1e6
    }

    fn at(&self, part: f64) -> f64 {
        at(&self.all, part).as_secs_f64() * 1e6
    }
}

fn at(sorted: &[Duration], part: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}

fn idle_loop() -> Child {
    Command::new("chrt").args(["--idle", "0", "sh", "-c", "while :; do :; done"]).spawn().unwrap()
}

fn hog(server: &Server, what: &str, stop: &AtomicBool) {
    let path = format!("/hog/{what}");
    while !stop.load(Ordering::Relaxed) {
        let reply = server.get(&path);
        if reply.status == 503 {
            // Refused at once while it is stuck: as a client that heeds Retry-After, only less patient.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn print(what: &str, row: &str, latencies: &Latencies, alone: Option<&Latencies>) {
    let ratio =
        |of: fn(&Latencies) -> f64| alone.map_or(String::new(), |alone| format!("{:.2}", of(latencies) / of(alone)));
    let name = if row == what { what.to_owned() } else { format!("({what}) {row}") };
    println!(
        "{name:<18} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0}   {:>13} {:>11}",
        latencies.at(0.5),
        latencies.typical(),
        latencies.at(0.99),
        latencies.at(0.999),
        latencies.at(1.0),
        latencies.machine.as_secs_f64() * 1e6,
        ratio(Latencies::typical),
        ratio(|latencies| latencies.at(0.99)),
    );
}
