//! Tables for people, and what the kernel knows about this process.

use std::fs;
use std::time::Duration;

use hearth_sys::procfs::ProcStat;

/// Of /proc's clocks: the kernel's interface to programs has always been 100 a second.
const TICKS: f64 = 100.0;

/// A table of times.
pub fn times(title: &str) {
    println!("\n{title:<62} {:>10} {:>10} {:>10} {:>8}", "p50", "p99", "max", "count");
}

pub fn time_row(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!("  {name:<60} {:>10} {:>10} {:>10} {:>8}", unit(at(0.5)), unit(at(0.99)), unit(at(1.0)), times.len());
}

/// A table of other things.
pub fn facts(title: &str) {
    println!("\n{title}");
}

pub fn fact_row(name: &str, value: impl std::fmt::Display) {
    println!("  {name:<60} {value}");
}

fn unit(time: Duration) -> String {
    match time.as_nanos() {
        nanos @ 0..1000 => format!("{nanos} ns"),
        nanos @ 1000..10_000_000 => format!("{:.2} µs", nanos as f64 / 1e3),
        nanos => format!("{:.1} ms", nanos as f64 / 1e6),
    }
}

/// Resident memory, in KiB.
pub fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// CPU seconds of all threads so far.
pub fn cpu() -> f64 {
    ProcStat::read(std::process::id()).unwrap().ticks as f64 / TICKS
}
