//! The newest log records in memory. Limits in total and per app keep an app that logs much from evicting the records of
//! others. Records are numbered, so that a reader can continue where it stopped.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::LogRecord;

#[derive(Debug)]
pub struct Ring {
    capacity: usize,
    per_app: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    lines: VecDeque<(u64, LogRecord)>,
    by_app: HashMap<String, usize>,
    next: u64,
}

impl Ring {
    pub fn new(capacity: usize, per_app: usize) -> Self {
        Self { capacity: capacity.max(1), per_app: per_app.max(1), inner: Mutex::default() }
    }

    /// Appends a record and returns its number.
    pub fn push(&self, line: LogRecord) -> u64 {
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        if let Some(app) = &line.app {
            let count = inner.by_app.get(app).copied().unwrap_or_default();
            if count >= self.per_app {
                let oldest = inner.lines.iter().position(|(_, old)| old.app.as_ref() == Some(app));
                if let Some(at) = oldest {
                    inner.remove(at);
                }
            }
            *inner.by_app.entry(app.clone()).or_default() += 1;
        }
        inner.lines.push_back((number, line));
        while inner.lines.len() > self.capacity {
            inner.remove(0);
        }
        number
    }

    /// The last `max` records that `wanted` accepts, from `number` on.
    pub fn since(&self, number: u64, max: usize, wanted: impl Fn(&LogRecord) -> bool) -> Vec<(u64, LogRecord)> {
        let inner = self.lock();
        let mut found: Vec<_> = inner
            .lines
            .iter()
            .rev()
            .take_while(|(n, _)| *n >= number)
            .filter(|(_, line)| wanted(line))
            .take(max)
            .cloned()
            .collect();
        found.reverse();
        found
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No code under this lock panics.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
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
    use crate::record::Level;

    fn line(app: &str, message: &str) -> LogRecord {
        LogRecord {
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
    fn an_app_that_logs_much_does_not_evict_the_records_of_others() {
        let ring = Ring::new(10, 3);
        ring.push(line("quiet", "1"));
        for n in 0..100 {
            ring.push(line("loud", &n.to_string()));
        }
        let all = ring.since(0, 100, |_| true);
        assert_eq!(all.iter().map(|(_, line)| &*line.message).collect::<Vec<_>>(), ["1", "97", "98", "99"]);
        let later = ring.since(100, 100, |line| line.app.as_deref() == Some("loud"));
        assert_eq!(later.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [100]);
        assert_eq!(ring.since(0, 2, |_| true).len(), 2, "the last ones are returned");
    }
}
