//! What a command's end has to do with its sandbox's limits: what it prints is looked at as it comes, and the kernel and the
//! proxy are asked at its end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hearth_core::ByteSize;

use super::Sandbox;
use crate::driver::Instance;
use crate::exec::{ExecEnd, ExecEvent};
use crate::hint::{Hint, Symptoms};
use crate::proxy::Refusals;

/// Of one command.
pub(super) struct Watch {
    symptoms: Symptoms,
    memory: ByteSize,
    disk: ByteSize,
    instance: Weak<dyn Instance>,
    /// Of the sandbox: so many were told of already.
    killed: Arc<AtomicU64>,
    refusals: Option<Arc<Refusals>>,
    refused_before: u64,
    hints: Vec<Hint>,
}

impl Sandbox {
    pub(super) fn watch_end(&self) -> Watch {
        let (shape, refusals) = (self.shape(), self.refusals());
        Watch {
            symptoms: Symptoms::default(),
            memory: shape.memory,
            disk: self.unit.disk(),
            instance: self.unit.instance(),
            killed: self.killed.clone(),
            refused_before: refusals.as_ref().map_or(0, |refusals| refusals.read().count),
            refusals,
            hints: Vec::new(),
        }
    }
}

impl Watch {
    pub(super) fn see(&mut self, event: &ExecEvent) {
        match event {
            ExecEvent::Stdout(bytes) => self.symptoms.see(0, bytes),
            ExecEvent::Stderr(bytes) => self.symptoms.see(1, bytes),
            ExecEvent::Omitted(..) | ExecEvent::SessionLost => {}
            ExecEvent::Ended(end) => self.conclude(end),
        }
    }

    pub(super) fn hints(&self) -> Vec<Hint> {
        self.hints.clone()
    }

    fn conclude(&mut self, end: &ExecEnd) {
        let failed = end.exit_code != Some(0);
        let killed = (failed || self.symptoms.killed) && self.has_killed();
        if killed || (failed && self.symptoms.memory) {
            self.hints.push(Hint::OutOfMemory { limit: self.memory });
        }
        if failed && self.symptoms.disk {
            self.hints.push(Hint::DiskFull { limit: self.disk });
        }
        let refused = self.refusals.as_ref().map(|refusals| refusals.read());
        if let Some(refused) = refused.filter(|refused| refused.count > self.refused_before)
            && let Some(reach) = refused.reach
        {
            self.hints.push(Hint::Refused { host: refused.last, reach });
        }
    }

    /// Whether the kernel has killed for want of memory since somebody was told.
    fn has_killed(&self) -> bool {
        let now = self.instance.upgrade().and_then(|instance| instance.killed_for_memory());
        now.is_some_and(|now| self.killed.swap(now, Ordering::Relaxed) < now)
    }
}
