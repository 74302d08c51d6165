//! The last lines, kept: so many in all, and so many of each app, so that one that prints a lot does not push out what
//! the others said. Each line has a number, by which a reader goes on where it stopped.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::line::LogLine;

#[derive(Debug)]
pub struct Ring {
    capacity: usize,
    per_app: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<(u64, LogLine)>,
    by_app: HashMap<String, usize>,
    next: u64,
}

impl Ring {
    pub fn new(capacity: usize, per_app: usize) -> Self {
        Self { capacity: capacity.max(1), per_app: per_app.max(1), kept: Mutex::default() }
    }

    /// Keeps a line; says its number.
    pub fn push(&self, line: LogLine) -> u64 {
        let mut kept = self.lock();
        let number = kept.next;
        kept.next += 1;
        if let Some(app) = &line.app {
            let count = kept.by_app.get(app).copied().unwrap_or_default();
            if count >= self.per_app {
                let oldest = kept.lines.iter().position(|(_, old)| old.app.as_ref() == Some(app));
                if let Some(at) = oldest {
                    kept.remove(at);
                }
            }
            *kept.by_app.entry(app.clone()).or_default() += 1;
        }
        kept.lines.push_back((number, line));
        while kept.lines.len() > self.capacity {
            kept.remove(0);
        }
        number
    }

    /// Lines from that number on which `wanted` lets through, the last `most` of them.
    pub fn since(&self, number: u64, most: usize, wanted: impl Fn(&LogLine) -> bool) -> Vec<(u64, LogLine)> {
        let kept = self.lock();
        let mut found: Vec<_> = kept
            .lines
            .iter()
            .rev()
            .take_while(|(n, _)| *n >= number)
            .filter(|(_, line)| wanted(line))
            .take(most)
            .cloned()
            .collect();
        found.reverse();
        found
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing that can panic runs under this lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, at: usize) {
        let Some((_, line)) = self.lines.remove(at) else { return };
        let Some(app) = line.app else { return };
        if let Some(count) = self.by_app.get_mut(&app) {
            *count -= 1;
            if *count == 0 {
                self.by_app.remove(&app);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Level;

    fn line(app: &str, message: &str) -> LogLine {
        LogLine {
            time: 0,
            level: Level::Info,
            target: String::new(),
            message: message.into(),
            app: Some(app.into()),
            version: None,
            request: None,
            fields: Default::default(),
        }
    }

    #[test]
    fn one_that_prints_a_lot_does_not_push_out_the_others() {
        let ring = Ring::new(10, 3);
        ring.push(line("quiet", "1"));
        for n in 0..100 {
            ring.push(line("loud", &n.to_string()));
        }
        let all = ring.since(0, 100, |_| true);
        assert_eq!(all.iter().map(|(_, line)| &*line.message).collect::<Vec<_>>(), ["1", "97", "98", "99"]);
        let later = ring.since(100, 100, |line| line.app.as_deref() == Some("loud"));
        assert_eq!(later.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [100]);
        assert_eq!(ring.since(0, 2, |_| true).len(), 2, "the last ones count");
    }
}
