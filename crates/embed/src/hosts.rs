//! Scripts that a pool has been asked for, by name: each is served until another text, other operations or a newer name takes its place.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_cell::AppHost;
use hearth_runtime::Operations;

use crate::script::Script;

/// Whose, and which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) owner: Arc<str>,
    pub(crate) worker: Arc<str>,
}

/// A script in one state, and what it may do.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) number: Arc<str>,
    pub(crate) script: Script,
    pub(crate) operations: Arc<dyn Operations>,
}

struct Hosted {
    version: Version,
    host: Arc<Host>,
    used: u64,
}

/// A script as it is served. When no caller is about to use it any more, it is retired: its workers finish what they have.
pub(crate) struct Host(AppHost);

pub(crate) struct Hosts {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    hosts: HashMap<Name, Hosted>,
    clock: u64,
}

// === impl Hosts ===

impl Hosts {
    /// The least recently used go beyond `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), inner: Mutex::default() }
    }

    /// The host of that version, made by `make` if there is none.
    pub(crate) fn host(&self, name: Name, version: Version, make: impl FnOnce() -> AppHost) -> Arc<Host> {
        let mut inner = self.lock();
        inner.clock += 1;
        let used = inner.clock;
        if let Some(hosted) = inner.hosts.get_mut(&name).filter(|hosted| hosted.version.is_same(&version)) {
            hosted.used = used;
            return hosted.host.clone();
        }
        let mut gone: Vec<Hosted> = inner.hosts.remove(&name).into_iter().collect();
        if inner.hosts.len() >= self.most {
            gone.extend(inner.remove_oldest());
        }
        let host = Arc::new(Host(make()));
        inner.hosts.insert(name, Hosted { version, host: host.clone(), used });
        // Retired without the lock.
        drop(inner);
        drop(gone);
        host
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn remove_oldest(&mut self) -> Option<Hosted> {
        let oldest = self.hosts.iter().min_by_key(|(_, hosted)| hosted.used);
        let oldest = oldest.map(|(name, _)| name.clone())?;
        self.hosts.remove(&oldest)
    }
}

// === impl Host ===

impl Deref for Host {
    type Target = AppHost;

    fn deref(&self) -> &AppHost {
        &self.0
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.0.retire();
    }
}

// === impl Version ===

impl Version {
    fn is_same(&self, other: &Self) -> bool {
        self.number == other.number
            && self.script == other.script
            && std::ptr::addr_eq(Arc::as_ptr(&self.operations), Arc::as_ptr(&other.operations))
    }
}
