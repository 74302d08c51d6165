//! A driver that needs nothing of the system: its sandboxes are tasks of this process that speak
//! the agent's protocol and simulate commands. For tests of everything above drivers; there is no
//! isolation at all.
//!
//! | line of a command | simulated effect |
//! |---|---|
//! | `echo WORDS` | the words on stdout |
//! | `warn WORDS` | the words on stderr |
//! | `exit N` | exit code N |
//! | `die N` | killed by signal N |
//! | `sleep SECONDS` | time passes |
//! | `cat` | stdin on stdout |
//! | `env NAME`, `pwd` | a variable, the folder it starts in |
//! | `flood` | output without end |
//!
//! Code prints its language and its source; in a session, before that how many runs the session had.

mod agent;
mod files;
mod running;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::driver::{
    About, BidiStream, BootError, BootSpec, Booted, BoxFuture, DestroyError, Driver, DriverName, Instance,
    NetworkReach, Probe, ProbeNote, Unavailable, Uplink, Usage,
};
use crate::id::SandboxId;

/// Clones share the driver.
#[derive(Clone)]
pub struct FakeDriver {
    shared: Arc<Shared>,
}

struct Shared {
    name: DriverName,
    boot_time: Duration,
    reach: NetworkReach,
    notes: Mutex<Vec<ProbeNote>>,
    plans: Mutex<VecDeque<FakeBoot>>,
    live: Mutex<HashMap<SandboxId, Handle>>,
    counts: Counts,
}

/// What happens to a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakeBoot {
    Succeed(Duration),
    Fail(Duration),
    /// It boots, and its agent never answers.
    Mute,
    Panic,
}

#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    booting: AtomicUsize,
    most_booting: AtomicUsize,
    destroyed: AtomicUsize,
    sweeps: AtomicUsize,
    shutdowns: AtomicUsize,
    most_live: AtomicUsize,
}

/// The driver's record of a live sandbox.
struct Handle {
    behavior: watch::Sender<FakeBehavior>,
    uplink: mpsc::Sender<Box<dyn BidiStream>>,
    cid: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FakeBehavior {
    Healthy,
    /// Reads, and never answers.
    Wedged,
    Dead,
}

struct FakeInstance {
    id: SandboxId,
    shared: Arc<Shared>,
}

// === impl FakeDriver ===

impl FakeDriver {
    /// With boots that take no time.
    pub fn new() -> Self {
        Self::named("fake", Duration::ZERO)
    }

    pub fn named(name: &'static str, boot_time: Duration) -> Self {
        Self::with_reach(DriverName(name), boot_time, NetworkReach::All)
    }

    /// Without an uplink; the agent only claims to listen.
    pub fn secluded() -> Self {
        Self::with_reach(DriverName("secluded"), Duration::ZERO, NetworkReach::Listed)
    }

    fn with_reach(name: DriverName, boot_time: Duration, reach: NetworkReach) -> Self {
        let (plans, live) = (Mutex::new(VecDeque::new()), Mutex::new(HashMap::new()));
        let notes = Mutex::default();
        Self { shared: Arc::new(Shared { name, boot_time, reach, notes, plans, live, counts: Counts::default() }) }
    }

    /// Adds a limitation about limits to its probe.
    pub fn lack(&self, limits: &str) {
        let note = ProbeNote::new(About::Limits, limits);
        self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Outcomes of the next boots; after them all succeed.
    pub fn plan(&self, boots: impl IntoIterator<Item = FakeBoot>) {
        self.shared.plans.lock().unwrap_or_else(PoisonError::into_inner).extend(boots);
    }

    /// Its agent stops answering.
    pub fn wedge(&self, id: SandboxId) {
        self.shared.set_behavior(id, FakeBehavior::Wedged);
    }

    /// Its agent is gone.
    pub fn kill(&self, id: SandboxId) {
        self.shared.set_behavior(id, FakeBehavior::Dead);
    }

    /// A connection from inside to the proxy: the program's end of it.
    pub async fn dial_out(&self, id: SandboxId) -> Option<impl BidiStream + use<>> {
        let uplink = self.shared.live().get(&id)?.uplink.clone();
        let (inside, outside) = tokio::io::duplex(64 << 10);
        uplink.send(Box::new(outside)).await.ok()?;
        Some(inside)
    }

    pub fn live(&self) -> Vec<SandboxId> {
        self.shared.live().keys().copied().collect()
    }

    /// Context ids of live sandboxes.
    pub fn cids(&self) -> Vec<u32> {
        self.shared.live().values().map(|handle| handle.cid).collect()
    }

    /// Boots that ever began.
    pub fn begun(&self) -> usize {
        self.shared.counts.begun.load(Ordering::SeqCst)
    }

    pub fn booting(&self) -> usize {
        self.shared.counts.booting.load(Ordering::SeqCst)
    }

    /// The most boots that were under way at once.
    pub fn most_booting(&self) -> usize {
        self.shared.counts.most_booting.load(Ordering::SeqCst)
    }

    /// The most sandboxes that were there at once.
    pub fn most_live(&self) -> usize {
        self.shared.counts.most_live.load(Ordering::SeqCst)
    }

    pub fn destroyed(&self) -> usize {
        self.shared.counts.destroyed.load(Ordering::SeqCst)
    }

    pub fn sweeps(&self) -> usize {
        self.shared.counts.sweeps.load(Ordering::SeqCst)
    }

    pub fn shutdowns(&self) -> usize {
        self.shared.counts.shutdowns.load(Ordering::SeqCst)
    }
}

impl Default for FakeDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver for FakeDriver {
    fn name(&self) -> DriverName {
        self.shared.name
    }

    fn reach(&self) -> NetworkReach {
        self.shared.reach
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        let notes = self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async { Ok(Probe { summary: "nothing is isolated".to_owned(), notes }) })
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.shared.boot(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        self.shared.counts.sweeps.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { 0 })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        self.shared.counts.shutdowns.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {})
    }
}

// === impl Shared ===

impl Shared {
    fn live(&self) -> MutexGuard<'_, HashMap<SandboxId, Handle>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_behavior(&self, id: SandboxId, behavior: FakeBehavior) {
        if let Some(handle) = self.live().get(&id) {
            handle.behavior.send_replace(behavior);
        }
    }

    async fn boot(self: &Arc<Self>, spec: &BootSpec) -> Result<Booted, BootError> {
        let _booting = Booting::begin(&self.counts);
        let plan = self.plans.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let (time, behavior) = match plan.unwrap_or(FakeBoot::Succeed(self.boot_time)) {
            FakeBoot::Succeed(time) => (time, FakeBehavior::Healthy),
            FakeBoot::Mute => (self.boot_time, FakeBehavior::Wedged),
            FakeBoot::Panic => panic!("this boot was to panic"),
            FakeBoot::Fail(time) => {
                tokio::time::sleep(time).await;
                return Err(BootError { reason: "it was to fail".to_owned() });
            }
        };
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let behavior = watch::Sender::new(behavior);
        tokio::spawn(agent::run(theirs, behavior.subscribe()));
        let (uplink, connections) = mpsc::channel(8);
        let mut live = self.live();
        live.insert(spec.id, Handle { behavior, uplink, cid: spec.cid });
        self.counts.most_live.fetch_max(live.len(), Ordering::SeqCst);
        drop(live);
        let inside = ([127, 0, 0, 1], 3128).into();
        Ok(Booted {
            instance: Box::new(FakeInstance { id: spec.id, shared: self.clone() }),
            agent: Box::new(ours),
            uplink: (self.reach == NetworkReach::All).then_some(Uplink { inside, connections, listener: None }),
        })
    }

    fn remove(&self, id: SandboxId) {
        if let Some(handle) = self.live().remove(&id) {
            handle.behavior.send_replace(FakeBehavior::Dead);
            self.counts.destroyed.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Counts a boot as under way while it lives.
struct Booting<'a>(&'a Counts);

impl<'a> Booting<'a> {
    fn begin(counts: &'a Counts) -> Self {
        counts.begun.fetch_add(1, Ordering::SeqCst);
        let now = counts.booting.fetch_add(1, Ordering::SeqCst) + 1;
        counts.most_booting.fetch_max(now, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for Booting<'_> {
    fn drop(&mut self) {
        self.0.booting.fetch_sub(1, Ordering::SeqCst);
    }
}

// === impl FakeInstance ===

impl Instance for FakeInstance {
    fn is_alive(&self) -> bool {
        self.shared.live().get(&self.id).is_some_and(|handle| *handle.behavior.borrow() != FakeBehavior::Dead)
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        Box::pin(async {
            // Real drivers take a moment, too, in which other tasks run.
            tokio::task::yield_now().await;
            self.shared.remove(self.id);
            Ok(())
        })
    }
}

impl Drop for FakeInstance {
    fn drop(&mut self) {
        self.shared.remove(self.id);
    }
}
