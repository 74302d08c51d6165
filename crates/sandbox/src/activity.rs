//! When a sandbox was used last. It is in use while anything runs in it that somebody asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Clones are the same.
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
pub(crate) struct Use {
    activity: Activity,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State { running: 0, last: Instant::now() })) }
    }

    /// Of a sandbox that was not used for so long, in another program.
    pub(crate) fn resume(idle: Duration) -> Self {
        let now = Instant::now();
        let last = now.checked_sub(idle).unwrap_or(now);
        Self { state: Arc::new(Mutex::new(State { running: 0, last })) }
    }

    /// Uses that go on.
    pub(crate) fn running(&self) -> usize {
        self.lock().running
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self) -> Use {
        self.lock().running += 1;
        Use { activity: self.clone() }
    }

    /// Zero while it is in use.
    pub(crate) fn idle(&self) -> Duration {
        let state = self.lock();
        if state.running > 0 { Duration::ZERO } else { state.last.elapsed() }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.running -= 1;
        state.last = Instant::now();
    }
}
