//! One booted sandbox: the driver's instance, its agent, and its place in the books. Destroyed exactly once: when somebody
//! says so, or when nobody has it any more.
//!
//! States: `Alive -> Destroying -> Gone`, or `Alive -> Gone` where another program goes on with it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hearth_core::ByteSize;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::agent::{Agent, Closed, Pulse};
use crate::cid::Cid;
use crate::driver::{Instance, Shape, Uplink, Usage};
use crate::heritage::Bequest;
use crate::id::SandboxId;
use crate::ledger::Ledger;

/// Nobody waits longer for a driver to destroy something.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Unit {
    id: SandboxId,
    shape: Shape,
    agent: Agent,
    uplink: Mutex<Option<Uplink>>,
    instance: Arc<dyn Instance>,
    ledger: Arc<Ledger>,
    cid: Arc<Cid>,
    /// Where it is destroyed: it may be dropped on a thread that belongs to no runtime.
    runtime: Handle,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive,
    Destroying,
    Gone,
}

/// What a unit is made of.
pub(crate) struct Parts {
    pub(crate) id: SandboxId,
    pub(crate) shape: Shape,
    pub(crate) agent: Agent,
    pub(crate) uplink: Option<Uplink>,
    pub(crate) instance: Box<dyn Instance>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) cid: Cid,
}

impl Unit {
    /// On the current runtime.
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { id, shape, agent, uplink, instance, ledger, cid } = parts;
        Self {
            id,
            shape,
            agent,
            uplink: Mutex::new(uplink),
            instance: instance.into(),
            ledger,
            cid: Arc::new(cid),
            runtime: Handle::current(),
            state: watch::Sender::new(State::Alive),
        }
    }

    pub(crate) fn id(&self) -> SandboxId {
        self.id
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(crate) fn usage(&self) -> Usage {
        self.instance.usage()
    }

    pub(crate) fn instance(&self) -> Weak<dyn Instance> {
        Arc::downgrade(&self.instance)
    }

    /// For its files.
    pub(crate) fn disk(&self) -> ByteSize {
        let in_memory = || ByteSize(self.shape.memory.bytes() / 2).min(self.shape.disk);
        self.instance.disk().unwrap_or_else(in_memory)
    }

    /// The way out, for the first who asks.
    pub(crate) fn take_uplink(&self) -> Option<Uplink> {
        self.uplink.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the next program needs to go on with it, if it can.
    pub(crate) fn leave(&self) -> Option<Bequest> {
        self.instance.leave()
    }

    /// It is another program's from now on: it lives, and is of no use here any more.
    pub(crate) fn let_go(&self) {
        self.agent.close(Closed::Moved);
        self.state.send_replace(State::Gone);
    }

    /// As far as can be said without waiting.
    pub(crate) fn pulse(&self, patience: Duration) -> Pulse {
        match self.instance.is_alive() {
            true => self.agent.pulse(patience),
            false => Pulse::Stopped,
        }
    }

    /// Resolves when nothing is left of it. Who asks second waits for the same end. Goes on if this is dropped.
    pub(crate) async fn destroy(&self) {
        self.begin_destroying();
        let mut state = self.state.subscribe();
        // The sender is ours: it cannot go before this.
        let _gone = state.wait_for(|state| *state == State::Gone).await;
    }

    /// The same without waiting.
    pub(crate) fn begin_destroying(&self) {
        let first = self.state.send_if_modified(|state| {
            let first = *state == State::Alive;
            if first {
                *state = State::Destroying;
            }
            first
        });
        if !first {
            return;
        }
        self.agent.close(Closed::Destroyed);
        let (id, instance, ledger, state) = (self.id, self.instance.clone(), self.ledger.clone(), self.state.clone());
        let cid = self.cid.clone();
        self.runtime.spawn(async move {
            let settled = Settled { ledger, state, _cid: cid };
            match timeout(PATIENCE, instance.destroy()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(sandbox = %id, %error, "A sandbox left something behind"),
                Err(_) => tracing::error!(sandbox = %id, "A sandbox could not be destroyed in time"),
            }
            drop(settled);
        });
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        self.begin_destroying();
    }
}

/// Says that a unit is gone, also when destroying it panicked or the runtime went away.
struct Settled {
    ledger: Arc<Ledger>,
    state: watch::Sender<State>,
    _cid: Arc<Cid>,
}

impl Drop for Settled {
    fn drop(&mut self) {
        self.ledger.destroyed();
        self.state.send_replace(State::Gone);
    }
}
