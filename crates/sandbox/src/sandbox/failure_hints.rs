//! Finds the limits of the sandbox that a failed command ran into: scans its output as it comes,
//! and reads the counters of the kernel and the proxy at its end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hearth_core::ByteSize;

use super::Sandbox;
use crate::driver::Instance;
use crate::exec::{ExecEnd, ExecEvent};
use crate::hint::{Hint, Symptoms};
use crate::proxy::Refusals;

/// State of one command.
pub(super) struct FailureHints {
    symptoms: Symptoms,
    memory: ByteSize,
    disk: ByteSize,
    instance: Weak<dyn Instance>,
    /// The sandbox's count of OOM kills that were already reported.
    reported_oom_kills: Arc<AtomicU64>,
    refusals: Option<Arc<Refusals>>,
    refused_before: u64,
    hints: Vec<Hint>,
}

impl Sandbox {
    pub(super) fn watch_failures(&self) -> FailureHints {
        let (shape, refusals) = (self.shape(), self.refusals());
        FailureHints {
            symptoms: Symptoms::default(),
            memory: shape.memory,
            disk: self.booted.disk(),
            instance: self.booted.instance(),
            reported_oom_kills: self.reported_oom_kills.clone(),
            refused_before: refusals.as_ref().map_or(0, |refusals| refusals.read().count),
            refusals,
            hints: Vec::new(),
        }
    }
}

impl FailureHints {
    pub(super) fn record(&mut self, event: &ExecEvent) {
        match event {
            ExecEvent::Stdout(bytes) => self.symptoms.record(0, bytes),
            ExecEvent::Stderr(bytes) => self.symptoms.record(1, bytes),
            ExecEvent::Omitted(..) | ExecEvent::SessionLost => {}
            ExecEvent::Ended(end) => self.finish(end),
        }
    }

    pub(super) fn hints(&self) -> Vec<Hint> {
        self.hints.clone()
    }

    fn finish(&mut self, end: &ExecEnd) {
        let failed = end.exit_code != Some(0);
        let killed = (failed || self.symptoms.killed) && self.has_new_oom_kills();
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

    /// Whether the kernel has killed processes for lack of memory that were not reported yet.
    fn has_new_oom_kills(&self) -> bool {
        let now = self.instance.upgrade().and_then(|instance| instance.killed_for_memory());
        now.is_some_and(|now| self.reported_oom_kills.swap(now, Ordering::Relaxed) < now)
    }
}
