//! All sessions over HTTP, by the id that their clients send.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::line::Line;

/// How often idle sessions are looked for, at least.
const SLOWEST_LOOK: Duration = Duration::from_secs(10);

pub(super) struct Table {
    state: Mutex<State>,
    most: usize,
}

#[derive(Default)]
struct State {
    lines: HashMap<String, Arc<Line>>,
    /// No more begin.
    closed: bool,
}

/// Why no session can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRoom {
    #[error("there are {limit} sessions already, and no more are allowed: end one with DELETE")]
    Full { limit: usize },
    #[error("the server is shutting down")]
    Closed,
}

impl Table {
    /// Sessions of which nothing was open for `idle` are ended, for as long as the table is there.
    pub(super) fn new(most: usize, idle: Duration) -> Arc<Self> {
        let table = Arc::new(Self { state: Mutex::default(), most });
        tokio::spawn(sweep(Arc::downgrade(&table), idle));
        table
    }

    /// `open` is not called where there is no room.
    pub(super) fn add(&self, id: String, open: impl FnOnce() -> Arc<Line>) -> Result<Arc<Line>, NoRoom> {
        let mut state = self.lock();
        if state.closed {
            return Err(NoRoom::Closed);
        }
        if state.lines.len() >= self.most {
            return Err(NoRoom::Full { limit: self.most });
        }
        let line = open();
        state.lines.insert(id, line.clone());
        Ok(line)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Line>> {
        self.lock().lines.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Line>> {
        self.lock().lines.values().cloned().collect()
    }

    /// Nobody finds it any more; whoever gets it ends it.
    pub(super) fn remove(&self, id: &str) -> Option<Arc<Line>> {
        self.lock().lines.remove(id)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().lines.len()
    }

    /// No more begin. All that are there, which nobody finds any more.
    pub(super) fn close(&self) -> Vec<Arc<Line>> {
        let mut state = self.lock();
        state.closed = true;
        state.lines.drain().map(|(_, line)| line).collect()
    }

    fn take_idle(&self, idle: Duration) -> Vec<Arc<Line>> {
        let lines = &mut self.lock().lines;
        let tired = |line: &Line| line.idle().is_some_and(|time| time >= idle);
        let ids: Vec<String> = lines.iter().filter(|(_, line)| tired(line)).map(|(id, _)| id.clone()).collect();
        ids.iter().filter_map(|id| lines.remove(id)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A line that cannot be opened leaves the table as it was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sweep(table: Weak<Table>, idle: Duration) {
    let pause = (idle / 4).clamp(Duration::from_millis(50), SLOWEST_LOOK);
    loop {
        tokio::time::sleep(pause).await;
        let Some(table) = table.upgrade() else { return };
        for line in table.take_idle(idle) {
            tracing::info!("A session was idle for {idle:?} and ends");
            line.end().await;
        }
    }
}
