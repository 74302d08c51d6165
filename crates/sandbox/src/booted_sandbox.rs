//! One booted sandbox: the driver's instance, its agent, and its place in the pool's counters.
//! Destroyed exactly once: on request, or when it is dropped.
//!
//! States: `Alive -> Destroying -> Gone`, or `Alive -> Gone` for one that was exported.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hearth_core::ByteSize;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::agent::{Agent, Closed, Liveness};
use crate::driver::{Instance, Shape, Uplink, Usage};
use crate::id::SandboxId;
use crate::pool_stats::PoolCounters;
use crate::upgrade::UpgradePayload;
use crate::vsock_cid::VsockCid;

/// Time for a driver to destroy an instance.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct BootedSandbox {
    id: SandboxId,
    shape: Shape,
    agent: Agent,
    uplink: Mutex<Option<Uplink>>,
    instance: Arc<dyn Instance>,
    counters: Arc<PoolCounters>,
    cid: Arc<VsockCid>,
    /// Runs the destruction: the sandbox may be dropped on a thread that belongs to no runtime.
    runtime: Handle,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive,
    Destroying,
    Gone,
}

/// What a booted sandbox is made of.
pub(crate) struct BootedParts {
    pub(crate) id: SandboxId,
    pub(crate) shape: Shape,
    pub(crate) agent: Agent,
    pub(crate) uplink: Option<Uplink>,
    pub(crate) instance: Box<dyn Instance>,
    pub(crate) counters: Arc<PoolCounters>,
    pub(crate) cid: VsockCid,
}

impl BootedSandbox {
    /// On the current runtime.
    pub(crate) fn new(parts: BootedParts) -> Self {
        let BootedParts { id, shape, agent, uplink, instance, counters, cid } = parts;
        Self {
            id,
            shape,
            agent,
            uplink: Mutex::new(uplink),
            instance: instance.into(),
            counters,
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

    /// Disk space for its files.
    pub(crate) fn disk(&self) -> ByteSize {
        let in_memory = || ByteSize(self.shape.memory.bytes() / 2).min(self.shape.disk);
        self.instance.disk().unwrap_or_else(in_memory)
    }

    /// The uplink; taken by the first caller.
    pub(crate) fn take_uplink(&self) -> Option<Uplink> {
        self.uplink.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the next program needs to go on with it, if it can.
    pub(crate) fn export(&self) -> Option<UpgradePayload> {
        self.instance.export()
    }

    /// The sandbox is exported: it stays alive, and every call here is an error.
    pub(crate) fn release(&self) {
        self.agent.close(Closed::Moved);
        self.state.send_replace(State::Gone);
    }

    /// Without waiting.
    pub(crate) fn liveness(&self, timeout_after: Duration) -> Liveness {
        match self.instance.is_alive() {
            true => self.agent.liveness(timeout_after),
            false => Liveness::Unresponsive,
        }
    }

    /// Resolves when nothing is left of it. A second caller waits for the same end. Goes on if this
    /// is dropped.
    pub(crate) async fn destroy(&self) {
        self.begin_destroying();
        let mut state = self.state.subscribe();
        // The sender is a field of `self`, so it cannot be gone.
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
        let (id, instance, counters, state) =
            (self.id, self.instance.clone(), self.counters.clone(), self.state.clone());
        let cid = self.cid.clone();
        self.runtime.spawn(async move {
            let gone = GoneOnDrop { counters, state, _cid: cid };
            match timeout(DESTROY_TIMEOUT, instance.destroy()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(sandbox = %id, %error, "sandbox not fully removed"),
                Err(_) => tracing::error!(sandbox = %id, "sandbox not destroyed in time"),
            }
            drop(gone);
        });
    }
}

impl Drop for BootedSandbox {
    fn drop(&mut self) {
        self.begin_destroying();
    }
}

/// Marks the sandbox as gone when dropped, also when destroying it panicked or the runtime went
/// away.
struct GoneOnDrop {
    counters: Arc<PoolCounters>,
    state: watch::Sender<State>,
    _cid: Arc<VsockCid>,
}

impl Drop for GoneOnDrop {
    fn drop(&mut self) {
        self.counters.destroyed();
        self.state.send_replace(State::Gone);
    }
}
