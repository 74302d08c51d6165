//! What the benches of sandboxes measure with: times and how they are spread, the first output of a program, memory.

use std::future::Future;
use std::time::{Duration, Instant};

use hearth_sandbox::{ExecEvent, ExecRequest, Sandbox};
use hearth_sys::sched::{ChildSlice, set_short_slice};
use tokio::runtime::Runtime;

/// What a row should be at most, in milliseconds: half of its times, and ninety-nine of a hundred.
#[derive(Clone, Copy)]
pub struct Marks {
    pub p50: f64,
    pub p99: f64,
}

/// Threads like those of a server's control.
pub fn runtime() -> Runtime {
    let start = || set_short_slice(ChildSlice::Default);
    tokio::runtime::Builder::new_multi_thread().on_thread_start(start).enable_all().build().expect("a runtime")
}

pub fn print_head() {
    println!("{:40} {:>9} {:>9} {:>9} {:>9} {:>6}  marks", "", "least", "p50", "p99", "most", "n");
}

/// How often, unless `ROUNDS` in the environment says so.
pub fn rounds(usual: usize) -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

pub async fn first_output(sandbox: &Sandbox, request: ExecRequest) -> Duration {
    let start = Instant::now();
    let mut stream = sandbox.stream(request).await.expect("it starts");
    let mut first = None;
    loop {
        match stream.next().await.expect("it runs") {
            ExecEvent::Stdout(_) => first = first.or_else(|| Some(start.elapsed())),
            ExecEvent::Stderr(_) | ExecEvent::Omitted(..) | ExecEvent::SessionLost => {}
            ExecEvent::Ended(_) => return first.expect("it prints"),
        }
    }
}

/// Kilobytes that are free on this machine.
pub fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("MemAvailable:")).expect("Linux");
    line.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

#[derive(Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub async fn of<T>(&mut self, work: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let done = work.await;
        self.push(start.elapsed());
        done
    }

    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub fn report(self, what: &str) {
        println!("{}", self.row(what));
    }

    /// With the marks beside it, and whether they are met.
    pub fn report_against(self, marks: Marks, what: &str) {
        let Marks { p50, p99 } = marks;
        let is_met = self.at(0.5) <= milliseconds(p50) && self.at(0.99) <= milliseconds(p99);
        println!("{}  {p50} / {p99} ms: {}", self.row(what), if is_met { "met" } else { "NOT MET" });
    }

    fn row(&self, what: &str) -> String {
        let [least, median, late, most] = [0.0, 0.5, 0.99, 1.0].map(|share| self.at(share));
        format!("{what:40} {least:>9.2?} {median:>9.2?} {late:>9.2?} {most:>9.2?} {:>6}", self.0.len())
    }

    /// The time that this share of all is not above.
    fn at(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * share).round() as usize]
    }
}

fn milliseconds(count: f64) -> Duration {
    Duration::from_secs_f64(count / 1e3)
}
