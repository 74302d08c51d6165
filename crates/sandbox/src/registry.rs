//! All acquired sandboxes by id, each with its owner. A caller that asks for a sandbox of another
//! owner gets the error that there is none.
//!
//! Invariants: `owned + being created <= limit` at any time; a reservation is made before any work
//! for a creation, so a refused one costs nothing. A session that ends during one of its creations
//! does not get the sandbox: it is destroyed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::SandboxError;
use crate::id::{Caller, SandboxId, SessionId};
use crate::sandbox::Sandbox;

pub(crate) struct Registry {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    owned: BTreeMap<SandboxId, Owned>,
    /// Creations under way, by owner.
    creating: HashMap<Caller, usize>,
    /// Sessions that ended with a creation under way.
    ended: HashSet<Caller>,
    /// No sandbox is added or found any more.
    closed: bool,
}

#[derive(Clone)]
pub(crate) struct Owned {
    pub(crate) owner: Caller,
    pub(crate) sandbox: Arc<Sandbox>,
}

/// The right to add one sandbox, released when dropped.
pub(crate) struct Reservation<'a> {
    registry: &'a Registry,
    owner: Caller,
    state: ReservationState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReservationState {
    Reserved,
    Released,
}

impl Registry {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::new(State::default()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reserve(&self, owner: &Caller) -> Result<Reservation<'_>, SandboxError> {
        let mut state = self.lock();
        if state.closed {
            return Err(SandboxError::ShuttingDown);
        }
        if state.owned.len() + state.creating.values().sum::<usize>() >= self.limit {
            return Err(SandboxError::TooManySandboxes { limit: self.limit });
        }
        *state.creating.entry(owner.clone()).or_default() += 1;
        Ok(Reservation { registry: self, owner: owner.clone(), state: ReservationState::Reserved })
    }

    pub(crate) fn get(&self, caller: &Caller, id: SandboxId) -> Result<Arc<Sandbox>, SandboxError> {
        let state = self.lock();
        if state.closed {
            return Err(SandboxError::ShuttingDown);
        }
        let owned = state.owned.get(&id).filter(|owned| caller.may_see(&owned.owner));
        owned.map(|owned| owned.sandbox.clone()).ok_or(SandboxError::NoSandbox(id))
    }

    pub(crate) fn remove(&self, caller: &Caller, id: SandboxId) -> Result<Arc<Sandbox>, SandboxError> {
        let mut state = self.lock();
        match state.owned.get(&id) {
            Some(owned) if caller.may_see(&owned.owner) => {}
            _ => return Err(SandboxError::NoSandbox(id)),
        }
        let owned = state.owned.remove(&id).expect("it was there a line ago, under the same lock");
        Ok(owned.sandbox)
    }

    /// All that a caller may see, oldest first.
    pub(crate) fn list(&self, caller: &Caller) -> Vec<Owned> {
        let mut all: Vec<Owned> =
            self.lock().owned.values().filter(|owned| caller.may_see(&owned.owner)).cloned().collect();
        all.sort_by_key(|owned| owned.sandbox.created());
        all
    }

    /// Removes and returns all of a session's. Those being created for it will be destroyed.
    pub(crate) fn end_session(&self, session: &SessionId) -> Vec<Arc<Sandbox>> {
        let owner = Caller::Session(session.clone());
        let mut state = self.lock();
        if state.creating.contains_key(&owner) {
            state.ended.insert(owner.clone());
        }
        state.take(|owned| owned.owner == owner)
    }

    /// Removes and returns everything; nothing can be added any more.
    pub(crate) fn close_and_take(&self) -> Vec<Arc<Sandbox>> {
        let mut state = self.lock();
        state.closed = true;
        state.take(|_| true)
    }

    /// Returns all. Nothing can be added or found any more.
    pub(crate) fn close(&self) -> Vec<Owned> {
        let mut state = self.lock();
        state.closed = true;
        state.owned.values().cloned().collect()
    }

    /// Adds one of the previous program, where it was within the limit.
    pub(crate) fn import(&self, owner: Caller, sandbox: Arc<Sandbox>) {
        self.lock().owned.insert(sandbox.id(), Owned { owner, sandbox });
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().owned.len()
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
}

// === impl State ===

impl State {
    fn take(&mut self, which: impl Fn(&Owned) -> bool) -> Vec<Arc<Sandbox>> {
        let ids: Vec<_> = self.owned.iter().filter(|(_, owned)| which(owned)).map(|(id, _)| *id).collect();
        ids.iter().filter_map(|id| self.owned.remove(id)).map(|owned| owned.sandbox).collect()
    }

    fn release(&mut self, owner: &Caller) {
        let count = self.creating.get_mut(owner).expect("a reservation is counted until it is released");
        *count -= 1;
        if *count == 0 {
            self.creating.remove(owner);
            self.ended.remove(owner);
        }
    }
}

// === impl Reservation ===

impl Reservation<'_> {
    /// Adds the sandbox, unless its session ended or the registry was closed meanwhile.
    pub(crate) fn insert(mut self, sandbox: Sandbox) -> Result<Arc<Sandbox>, SandboxError> {
        let sandbox = Arc::new(sandbox);
        let mut state = self.registry.lock();
        if state.closed {
            return Err(SandboxError::ShuttingDown);
        }
        if state.ended.contains(&self.owner) {
            return Err(SandboxError::SessionEnded);
        }
        let owned = Owned { owner: self.owner.clone(), sandbox: sandbox.clone() };
        state.owned.insert(sandbox.id(), owned);
        // Released under the same lock: between two locks the sandbox would count twice, or not at
        // all.
        state.release(&self.owner);
        drop(state);
        self.state = ReservationState::Released;
        Ok(sandbox)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.state == ReservationState::Reserved {
            self.registry.lock().release(&self.owner);
        }
    }
}
