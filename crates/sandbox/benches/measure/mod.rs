//! What the benches of sandboxes measure with: times and how they are spread, the first output of a program, memory.

use std::future::Future;
use std::time::{Duration, Instant};

use hearth_sandbox::{ExecEvent, ExecRequest, Sandbox};

pub fn print_head() {
    println!("{:40} {:>9} {:>9} {:>9} {:>9} {:>6}", "", "least", "p50", "p99", "most", "n");
}

pub async fn first_output(sandbox: &Sandbox, request: ExecRequest) -> Duration {
    let start = Instant::now();
    let mut stream = sandbox.stream(request).await.expect("it starts");
    let mut first = None;
    loop {
        match stream.next().await.expect("it runs") {
            ExecEvent::Stdout(_) => first = first.or_else(|| Some(start.elapsed())),
            ExecEvent::Stderr(_) => {}
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

    pub fn report(mut self, what: &str) {
        self.0.sort_unstable();
        let at = |share: f64| self.0[((self.0.len() - 1) as f64 * share).round() as usize];
        let [least, median, late, most] = [0.0, 0.5, 0.99, 1.0].map(at);
        println!("{what:40} {least:>9.2?} {median:>9.2?} {late:>9.2?} {most:>9.2?} {:>6}", self.0.len());
    }
}
