//! Watches the memory of all processes together, where no control group limits it: checked several
//! times a second while anything runs. Above the limit the largest process is killed with the exec
//! that it belongs to, as the kernel does in a control group.
//!
//! Counted are: the processes' own memory, once however many share it; data in connections of the
//! loopback; and for each Unix socket the size of its buffer, since the kernel does not say how
//! much is in it.

use std::fs;
use std::time::{Duration, Instant};

use hearth_sandbox_agent::{AgentReply, OutputStream};
use hearth_sys::procfs;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Agent;
use crate::kill_tree;

/// Between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The same when usage is near the limit.
const SHORT_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Buffer of a Unix socket.
const UNIX_SOCKET_BYTES: u64 = 212_992;

pub struct MemoryWatch {
    limit: u64,
    next: Option<Instant>,
}

struct Used {
    total: u64,
    largest: Option<(u32, u64)>,
}

impl MemoryWatch {
    pub fn new(limit: u64) -> Self {
        Self { limit, next: None }
    }

    pub fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl Agent {
    /// Checks, when it is time.
    pub(super) fn watch_memory(&mut self) {
        let is_busy = self.children.values().any(|child| child.run.is_some() || child.is_session());
        let Some(watch) = &mut self.memory else { return };
        if !is_busy {
            watch.next = None;
            return;
        }
        let now = Instant::now();
        if watch.next.is_some_and(|next| next > now) {
            return;
        }
        let limit = watch.limit;
        let mut used = memory(rss_bytes);
        if used.total > limit {
            used = memory(pss_bytes);
        }
        let sockets = in_sockets();
        let is_near = used.total.max(sockets) > limit / 2;
        watch.next = Some(now + if is_near { SHORT_CHECK_INTERVAL } else { CHECK_INTERVAL });
        let victim = match () {
            () if sockets > limit => holder_of_sockets(),
            () if used.total > limit => used.largest.map(|(pid, _)| pid),
            () => None,
        };
        if let Some(victim) = victim {
            self.end_for_memory(victim, limit);
        }
    }

    fn end_for_memory(&mut self, victim: u32, limit: u64) {
        let is_its = |key, child: &crate::child::ChildProcess| {
            child.run.is_some() && kill_tree::contains(child.pid, key, victim)
        };
        let found = self.children.iter().find(|(key, child)| is_its(**key, child)).map(|(key, _)| *key);
        let Some(key) = found else {
            // It belongs to a session that runs nothing, or to a command that has ended.
            let _ = kill(Pid::from_raw(victim as i32), Signal::SIGKILL);
            return;
        };
        if let Some(run) = self.children.get(&key).and_then(|child| child.run.as_ref()) {
            let said = format!("hearth: the sandbox's memory ({} MB) is used up: killed\n", limit >> 20);
            let bytes = said.into_bytes().into();
            self.connection.send(&AgentReply::Output { id: run.id, stream: OutputStream::Stderr, bytes });
        }
        self.kill(key);
    }
}

fn memory(measure: impl Fn(u32) -> Option<u64>) -> Used {
    let mut used = Used { total: 0, largest: None };
    for process in procfs::processes().filter(|process| process.id != std::process::id()) {
        let Some(own) = measure(process.id) else { continue };
        used.total += own;
        if used.largest.is_none_or(|(_, most)| own > most) {
            used.largest = Some((process.id, own));
        }
    }
    used
}

/// Shared memory counts fully for each process.
fn rss_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(kilobytes(&status, "RssAnon:")? + kilobytes(&status, "RssShmem:").unwrap_or(0))
}

/// Shared memory counts in equal parts.
fn pss_bytes(pid: u32) -> Option<u64> {
    let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { return rss_bytes(pid) };
    Some(kilobytes(&maps, "Pss_Anon:")? + kilobytes(&maps, "Pss_Shmem:").unwrap_or(0)).or_else(|| rss_bytes(pid))
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|count| count << 10)
}

fn in_sockets() -> u64 {
    let unix = fs::read_to_string("/proc/self/net/unix").map_or(0, |text| text.lines().skip(1).count() as u64);
    let tcp = ["tcp", "tcp6"].map(|name| {
        let text = fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default();
        text.lines().skip(1).map(queued).sum::<u64>()
    });
    unix * UNIX_SOCKET_BYTES + tcp[0] + tcp[1]
}

/// `0: 0100007F:0C38 00000000:0000 0A 00000000:00000000 …`: the bytes queued in both directions,
/// from a line of `/proc/net/tcp`.
fn queued(line: &str) -> u64 {
    let field = line.split_ascii_whitespace().nth(4).and_then(|field| field.split_once(':'));
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
    field.map_or(0, |(out, incoming)| number(out) + number(incoming))
}

fn holder_of_sockets() -> Option<u32> {
    let sockets = |pid: u32| {
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let is_socket = |entry: &fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        };
        entries.filter(is_socket).count()
    };
    let others = procfs::processes().map(|process| process.id).filter(|id| *id != std::process::id());
    others.map(|id| (sockets(id), id)).max().filter(|(count, _)| *count > 0).map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        assert_eq!(kilobytes("RssAnon:\t    1024 kB\nRssShmem:\t 8 kB\n", "RssShmem:"), Some(8 << 10));
        assert_eq!(kilobytes("Name:\tRssAnon: 5 kB\n", "RssAnon:"), None);
        assert_eq!(queued("   0: 0100007F:0C38 00000000:0000 01 00000010:000000FF 00:00000000"), 0x10f);
        assert_eq!(queued("nonsense"), 0);
    }

    #[test]
    fn memory_of_this_machine_is_counted() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep is there");
        let (rough, exact) = (rss_bytes(child.id()), pss_bytes(child.id()));
        let _ = child.kill();
        let _ = child.wait();
        assert!(rough.is_some_and(|bytes| bytes > 0) && exact.is_some(), "{rough:?} {exact:?}");
    }
}
