//! All sandboxes that somebody has, by id, each with its owner. Who asks for one that is not its own is told that there is
//! none.
//!
//! Invariants: `held + being created <= limit`, whatever happens at the same time; a place is taken before anything is done
//! for a creation, so one that is refused costs nothing. A session that ends while a creation of its own is under way does
//! not get the sandbox: it is destroyed.

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
    held: BTreeMap<SandboxId, Held>,
    /// Creations under way, and whom they are for.
    creating: HashMap<Caller, usize>,
    /// Sessions that ended with a creation under way.
    ended: HashSet<Caller>,
    door: Door,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Door {
    #[default]
    Open,
    Shut,
}

#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) owner: Caller,
    pub(crate) sandbox: Arc<Sandbox>,
}

/// The right to add one sandbox, given back when dropped.
pub(crate) struct Place<'a> {
    registry: &'a Registry,
    owner: Caller,
    state: PlaceState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaceState {
    Reserved,
    GivenBack,
}

impl Registry {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::new(State::default()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reserve(&self, owner: &Caller) -> Result<Place<'_>, SandboxError> {
        let mut state = self.lock();
        if state.door == Door::Shut {
            return Err(SandboxError::ShuttingDown);
        }
        if state.held.len() + state.creating.values().sum::<usize>() >= self.limit {
            return Err(SandboxError::TooManySandboxes { limit: self.limit });
        }
        *state.creating.entry(owner.clone()).or_default() += 1;
        Ok(Place { registry: self, owner: owner.clone(), state: PlaceState::Reserved })
    }

    pub(crate) fn get(&self, caller: &Caller, id: SandboxId) -> Result<Arc<Sandbox>, SandboxError> {
        let state = self.lock();
        if state.door == Door::Shut {
            return Err(SandboxError::ShuttingDown);
        }
        let held = state.held.get(&id).filter(|held| caller.may_see(&held.owner));
        held.map(|held| held.sandbox.clone()).ok_or(SandboxError::NoSandbox(id))
    }

    pub(crate) fn remove(&self, caller: &Caller, id: SandboxId) -> Result<Arc<Sandbox>, SandboxError> {
        let mut state = self.lock();
        match state.held.get(&id) {
            Some(held) if caller.may_see(&held.owner) => {}
            _ => return Err(SandboxError::NoSandbox(id)),
        }
        let held = state.held.remove(&id).expect("it was there a line ago, under the same lock");
        Ok(held.sandbox)
    }

    /// What a caller may see; the oldest first.
    pub(crate) fn list(&self, caller: &Caller) -> Vec<Held> {
        let mut all: Vec<Held> =
            self.lock().held.values().filter(|held| caller.may_see(&held.owner)).cloned().collect();
        all.sort_by_key(|held| held.sandbox.created());
        all
    }

    /// Takes out all of a session's. What is being created for it will be destroyed.
    pub(crate) fn end_session(&self, session: &SessionId) -> Vec<Arc<Sandbox>> {
        let owner = Caller::Session(session.clone());
        let mut state = self.lock();
        if state.creating.contains_key(&owner) {
            state.ended.insert(owner.clone());
        }
        state.take(|held| held.owner == owner)
    }

    /// Takes out everything; nothing can be added any more.
    pub(crate) fn shut(&self) -> Vec<Arc<Sandbox>> {
        let mut state = self.lock();
        state.door = Door::Shut;
        state.take(|_| true)
    }

    /// All that there are. Nothing can be added or found any more.
    pub(crate) fn close(&self) -> Vec<Held> {
        let mut state = self.lock();
        state.door = Door::Shut;
        state.held.values().cloned().collect()
    }

    /// One of the program before. It was within a limit there.
    pub(crate) fn adopt(&self, owner: Caller, sandbox: Arc<Sandbox>) {
        self.lock().held.insert(sandbox.id(), Held { owner, sandbox });
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().held.len()
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
}

// === impl State ===

impl State {
    fn take(&mut self, which: impl Fn(&Held) -> bool) -> Vec<Arc<Sandbox>> {
        let ids: Vec<_> = self.held.iter().filter(|(_, held)| which(held)).map(|(id, _)| *id).collect();
        ids.iter().filter_map(|id| self.held.remove(id)).map(|held| held.sandbox).collect()
    }

    fn give_back(&mut self, owner: &Caller) {
        let count = self.creating.get_mut(owner).expect("a place is counted until it is given back");
        *count -= 1;
        if *count == 0 {
            self.creating.remove(owner);
            self.ended.remove(owner);
        }
    }
}

// === impl Place ===

impl Place<'_> {
    /// Puts the sandbox there, unless its session ended or the door was shut meanwhile.
    pub(crate) fn fill(mut self, sandbox: Sandbox) -> Result<Arc<Sandbox>, SandboxError> {
        let sandbox = Arc::new(sandbox);
        let mut state = self.registry.lock();
        if state.door == Door::Shut {
            return Err(SandboxError::ShuttingDown);
        }
        if state.ended.contains(&self.owner) {
            return Err(SandboxError::SessionEnded);
        }
        let held = Held { owner: self.owner.clone(), sandbox: sandbox.clone() };
        state.held.insert(sandbox.id(), held);
        // Given back under the same lock: between the two it would count twice, or not at all.
        state.give_back(&self.owner);
        drop(state);
        self.state = PlaceState::GivenBack;
        Ok(sandbox)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.state == PlaceState::Reserved {
            self.registry.lock().give_back(&self.owner);
        }
    }
}
