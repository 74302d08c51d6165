//! A drain that the admin API began. It has two parts: first new requests of apps are refused while those in flight go on, and
//! that can be undone; when none is in flight any more, or `drain_timeout` is over, the server ends as SIGTERM ends it, for good.
//!
//! States: `Off -> On -> Off`, or `On` and then an [`Ending`]. Both ways out are taken under the lock of the state, so a drain that
//! was undone never ends the server.

use std::time::Duration;

use hearth_ipc::Admission;
use tokio::sync::watch;

use super::{ActionError, Control, Ending};
use hearth_supervisor::QueryError;

/// Between two questions to cells of which one was lost.
const ASK_AGAIN: Duration = Duration::from_millis(100);

pub(super) struct Draining(watch::Sender<State>);

/// Drains have numbers, so that one is never taken for another.
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
    /// Refuses new requests from now on, and ends the server when none is in flight any more or their time is over.
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
        let patience = self.configuration().plan.front.drain_timeout;
        tracing::info!(timeout = ?patience, "Drain begun: new requests are refused");
        if self.shared.cells.admit(Admission::Closed).is_err() {
            return self.drain();
        }
        let control = self.clone();
        tokio::spawn(async move {
            let mut states = control.shared.draining.0.subscribe();
            tokio::select! {
                _ = states.wait_for(|state| *state != begun) => return,
                () = control.quiet() => {}
                () = tokio::time::sleep(patience) => {}
            }
            control.shared.draining.0.send_if_modified(|state| {
                if *state == begun {
                    control.drain();
                }
                false
            });
        });
    }

    /// Lets requests in again. Fails where the end has begun.
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
            tracing::info!("Drain undone: requests are let in again");
        }
        Ok(())
    }

    /// Ready when no request of an app is in flight.
    async fn quiet(&self) {
        loop {
            match self.shared.cells.quiet().await {
                Ok(()) => return,
                // Its requests are gone with it; those of others may go on.
                Err(QueryError::Lost | QueryError::TimedOut | QueryError::NotReplaced) => {
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                Err(QueryError::Stopped) => return,
            }
        }
    }
}
