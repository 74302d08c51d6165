//! A drain that the admin API has begun, in two parts. First, new requests to apps are refused while those in flight go on;
//! this part can be undone. When none is in flight any more, or after `drain_timeout`, the server ends as after SIGTERM.
//!
//! States: `Off -> On -> Off`, or `On` and then an [`Ending`]. Both transitions happen under the lock of the state, so a drain
//! that was undone never ends the server.

use std::time::Duration;

use hearth_ipc::Admission;
use tokio::sync::watch;

use super::{ActionError, Control, Ending};
use hearth_supervisor::QueryError;

/// Between two queries to cells of which one was lost.
const RETRY_DELAY: Duration = Duration::from_millis(100);

pub(super) struct Draining(watch::Sender<State>);

/// Drains are numbered, so that the end of one is not taken for the end of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    number: u64,
    is_on: bool,
}

impl Default for Draining {
    fn default() -> Self {
        Self(watch::Sender::new(State::default()))
    }
}

impl Draining {
    pub(super) fn is_on(&self) -> bool {
        self.0.borrow().is_on
    }
}

impl Control {
    /// Refuses new requests, and ends the server when none is in flight any more or the timeout is over.
    pub(super) fn begin_drain(&self) {
        if !self.shared.cells.is_serving() {
            return self.drain();
        }
        let mut begun = None;
        self.shared.draining.0.send_if_modified(|state| {
            let begins = !state.is_on && self.ending().is_none();
            if begins {
                *state = State { number: state.number + 1, is_on: true };
                begun = Some(*state);
            }
            begins
        });
        let Some(begun) = begun else { return };
        let drain_timeout = self.configuration().plan.front.drain_timeout;
        tracing::info!(timeout = ?drain_timeout, "drain begun: new requests are refused");
        if self.shared.cells.admit(Admission::Closed).is_err() {
            return self.drain();
        }
        let control = self.clone();
        tokio::spawn(async move {
            let mut states = control.shared.draining.0.subscribe();
            tokio::select! {
                _ = states.wait_for(|state| *state != begun) => return,
                () = control.quiet() => {}
                () = tokio::time::sleep(drain_timeout) => {}
            }
            control.shared.draining.0.send_if_modified(|state| {
                if *state == begun {
                    control.drain();
                }
                false
            });
        });
    }

    /// Admits requests again. Fails once the server has begun to end.
    pub(super) fn undo_drain(&self) -> Result<(), ActionError> {
        let mut undone = Ok(false);
        self.shared.draining.0.send_if_modified(|state| {
            if self.ending() == Some(Ending::Drain) {
                undone = Err(ActionError::Ending);
                return false;
            }
            undone = Ok(state.is_on);
            std::mem::replace(&mut state.is_on, false)
        });
        if undone? {
            self.shared.cells.admit(Admission::Open)?;
            tracing::info!("drain undone: requests are admitted again");
        }
        Ok(())
    }

    /// Completes when no request to an app is in flight.
    async fn quiet(&self) {
        loop {
            match self.shared.cells.quiet().await {
                Ok(()) => return,
                // The requests of a lost cell are gone; others may be in flight in other cells.
                Err(QueryError::Lost | QueryError::TimedOut | QueryError::NotReplaced) => {
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Err(QueryError::Stopped) => return,
            }
        }
    }
}
