//! The scripts that a pool serves, by name: each until another text, other operations or a newer
//! name replaces it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_cell::AppHost;
use hearth_runtime::Operations;

use crate::script::Script;

/// The name of a script, and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) owner: Arc<str>,
    pub(crate) worker: Arc<str>,
}

/// One version of a script, and its operations.
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

/// A script that is served. It is retired when no caller uses it any more: its workers finish their
/// requests.
pub(crate) struct Host(AppHost);

pub(crate) struct Hosts {
    max: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    hosts: HashMap<Name, Hosted>,
    clock: u64,
}

// === impl Hosts ===

impl Hosts {
    /// Keeps up to `max` hosts; the least recently used are removed.
    pub(crate) fn new(max: usize) -> Self {
        Self { max: max.max(1), inner: Mutex::default() }
    }

    /// The host of that version, created by `create` if there is none.
    pub(crate) fn host(&self, name: Name, version: Version, create: impl FnOnce() -> AppHost) -> Arc<Host> {
        let mut inner = self.lock();
        inner.clock += 1;
        let used = inner.clock;
        if let Some(hosted) = inner.hosts.get_mut(&name).filter(|hosted| hosted.version.is_same(&version)) {
            hosted.used = used;
            return hosted.host.clone();
        }
        let mut gone: Vec<Hosted> = inner.hosts.remove(&name).into_iter().collect();
        if inner.hosts.len() >= self.max {
            gone.extend(inner.remove_oldest());
        }
        let host = Arc::new(Host(create()));
        inner.hosts.insert(name, Hosted { version, host: host.clone(), used });
        // Retired outside of the lock.
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
