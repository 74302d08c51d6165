//! How much memory there is for us: the machine's, or what our control group may have.

use std::fs;

/// The newer way of saying it, and the older.
const GROUP: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// In bytes; `None` where nobody says.
pub fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = GROUP.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    machine.into_iter().chain(group).min()
}

/// `MemTotal:       24588612 kB`
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory_is_read() {
        assert_eq!(total("MemTotal:       24588612 kB\nMemFree: 1 kB\n"), Some(24588612 << 10));
        assert_eq!(total("nothing"), None);
    }
}
