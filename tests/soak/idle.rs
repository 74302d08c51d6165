//! Conditions of an idle server: every isolate is accounted for, no lease or permit is held or waited for, and the process
//! is as large as before.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{PATIENCE, Server};
use crate::tally::Faults;

/// The modes; `auto` and `pooled` are reported as one.
pub const MODES: [&str; 5] = ["auto", "pooled", "pinned", "oneshot", "shared"];

const MB: u64 = 1 << 20;
/// Interval of checks, long enough not to load the server.
const POLL: Duration = Duration::from_millis(20);

/// Resources of the process.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    resident: u64,
    /// Memory of isolates, as reported. It may include garbage that V8 has not collected yet.
    held: u64,
    threads: usize,
    files: usize,
}

/// Maximum values that were seen.
#[derive(Debug, Default)]
pub struct Peaks {
    live: u64,
    running: u64,
    queued: u64,
    memory: u64,
    threads: usize,
}

/// Waits until the report fulfils all conditions, and returns it.
pub fn wait_until_idle(server: &Server, faults: &mut Faults) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let report = server.report();
        let wrong = discrepancies(&report);
        if wrong.is_empty() {
            return report;
        }
        if Instant::now() > deadline {
            wrong.into_iter().for_each(|what| faults.push(format!("the report is not balanced: {what}")));
            return report;
        }
        std::thread::sleep(POLL);
    }
}

fn discrepancies(report: &Value) -> Vec<String> {
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in the report: {report}"))
    };
    let mut wrong = Vec::new();
    let mut equal = |what: String, one: u64, other: u64| {
        if one != other {
            wrong.push(format!("{what}: {one} is not {other}"));
        }
    };
    let live = number("/live");
    let kept = number("/cached") + number("/modes/shared/cached") + number("/spares/ready");
    equal("created - destroyed = live".into(), number("/created") - number("/destroyed"), live);
    equal("live = cached + shared cached + spares".into(), live, kept);
    for what in ["running", "queued", "spares/booting"] {
        equal(what.into(), number(&format!("/{what}")), 0);
    }
    for mode in MODES.into_iter().filter(|mode| *mode != "auto") {
        let of = |what: &str| number(&format!("/modes/{mode}/{what}"));
        equal(format!("{mode}: created - destroyed = cached"), of("created") - of("destroyed"), of("cached"));
        equal(format!("{mode}: leased"), of("leased"), 0);
        equal(format!("{mode}: waiting"), of("waiting"), 0);
    }
    for (owner, report) in report["owners"].as_object().into_iter().flatten() {
        for what in ["running", "queued"] {
            equal(format!("{what} of {owner}"), report[what].as_u64().unwrap_or(u64::MAX), 0);
        }
    }
    equal(format!("stuck {}", report["stuck"]), report["stuck"].as_array().map_or(1, Vec::len) as u64, 0);
    wrong
}

/// One line about a report.
pub fn outline(report: &Value) -> String {
    let at = |path: &str| report.pointer(path).cloned().unwrap_or_default();
    format!(
        "isolates: {} created, {} destroyed, {} live = {} cached + {} shared + {} spares; {} evicted, hit rate {}",
        at("/created"),
        at("/destroyed"),
        at("/live"),
        at("/cached"),
        at("/modes/shared/cached"),
        at("/spares/ready"),
        at("/evictions"),
        at("/hit_rate"),
    )
}

// === impl Peaks ===

impl Peaks {
    pub fn update(&mut self, server: &Server) {
        let report = server.report();
        let size = Size::measure(server);
        for (peak, path) in [(&mut self.live, "live"), (&mut self.running, "running"), (&mut self.queued, "queued")] {
            *peak = report[path].as_u64().unwrap_or(u64::MAX).max(*peak);
        }
        self.memory = self.memory.max(size.resident);
        self.threads = self.threads.max(size.threads);
    }
}

impl fmt::Display for Peaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { live, running, queued, memory, threads } = self;
        let memory = memory / MB;
        write!(f, "up to {live} isolates, {running} running, {queued} queued, {memory} MB, {threads} threads")
    }
}

// === impl Size ===

impl Size {
    pub fn measure(server: &Server) -> Self {
        let report = server.report();
        let held = ["heaps", "buffers"].map(|what| report["memory"][what].as_u64().unwrap_or(0));
        Self { resident: server.memory(), held: held.iter().sum(), threads: server.threads(), files: server.files() }
    }

    /// Memory outside of isolates.
    fn beyond(self) -> u64 {
        self.resident.saturating_sub(self.held)
    }

    /// Describes growth to `now` beyond the tolerance for allocators and idle threads.
    fn growth(self, now: Self) -> Option<String> {
        let most = self.beyond() / 2 * 3 + 64 * MB;
        let grown = now.beyond() > most || now.threads > self.threads + 8 || now.files > self.files + 8;
        grown.then(|| format!("the process has grown: it may have {} MB beyond isolates", most / MB))
    }

    /// Waits until the process is about as large as before; returns a description of both sizes.
    pub fn back_to(self, server: &Server, faults: &mut Faults) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut now = Self::of(server);
        while self.growth(now).is_some() && Instant::now() < deadline {
            std::thread::sleep(POLL);
            now = Self::of(server);
        }
        let text = format!("{self}; then {now}");
        if let Some(growth) = self.growth(now) {
            faults.push(format!("{growth}: {text}"));
        }
        text
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resident, threads, files, .. } = self;
        let (resident, beyond) = (resident / MB, self.beyond() / MB);
        write!(f, "{resident} MB, {beyond} beyond isolates, {threads} threads, {files} files")
    }
}
