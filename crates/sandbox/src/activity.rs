//! Tracks when a sandbox was last used. It is in use while any call or job of a caller runs in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Clones share the state.
#[derive(Clone)]
pub(crate) struct Activity {
    state: Arc<Mutex<State>>,
}

struct State {
    running: usize,
    /// When the last use ended.
    last: Instant,
}

/// While it lives, the sandbox is in use.
pub(crate) struct ActivityGuard {
    activity: Activity,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State { running: 0, last: Instant::now() })) }
    }

    /// For an imported sandbox that was idle for so long.
    pub(crate) fn import(idle: Duration) -> Self {
        let now = Instant::now();
        let last = now.checked_sub(idle).unwrap_or(now);
        Self { state: Arc::new(Mutex::new(State { running: 0, last })) }
    }

    /// Uses under way.
    pub(crate) fn running(&self) -> usize {
        self.lock().running
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self) -> ActivityGuard {
        self.lock().running += 1;
        ActivityGuard { activity: self.clone() }
    }

    /// Zero while in use.
    pub(crate) fn idle(&self) -> Duration {
        let state = self.lock();
        if state.running > 0 { Duration::ZERO } else { state.last.elapsed() }
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.running -= 1;
        state.last = Instant::now();
    }
}
