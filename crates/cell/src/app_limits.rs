//! From an app's settings to the limits with which it is served.

use std::sync::Arc;
use std::time::Duration;

use hearth_config::{Lifetime, Settings};
use hearth_core::{ByteSize, Footprint, Limits};
use hearth_pool::ItemLifetime;

use crate::host::AppRules;
use crate::timings::Timings;
use hearth_core::execution::Execution;

/// What the server gives to every app.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    pub threads: usize,
    /// Requests of an app at once that each have an isolate or context of their own, unless the app says how many workers.
    pub max_fresh: usize,
    /// Requests of one owner that may wait.
    pub queue: usize,
    /// How long they may wait.
    pub queue_timeout: Duration,
}

impl ServerLimits {
    pub fn app_rules(&self, settings: &Settings, timings: Arc<Timings>) -> AppRules {
        let execution = execution(settings);
        AppRules {
            execution,
            workers: self.workers(execution, settings),
            queue: self.queue,
            queue_timeout: self.queue_timeout,
            weight: 1,
            lifetime: ItemLifetime {
                uses: settings.max_requests,
                ttl: match settings.lifetime {
                    Lifetime::Limited(ttl) => Some(ttl),
                    Lifetime::Unlimited | Lifetime::Ephemeral => None,
                },
                idle: Some(settings.idle_timeout).filter(|idle| !idle.is_zero()),
            },
            timings,
        }
    }

    fn workers(&self, execution: Execution, settings: &Settings) -> usize {
        let threads = u16::try_from(self.threads).unwrap_or(u16::MAX);
        match execution {
            // A worker for each request, which mostly waits for I/O: threads are no bound.
            Execution::Oneshot | Execution::Shared => {
                let own = settings.max_workers.or(settings.workers_ceiling);
                own.map_or(self.max_fresh, |_| usize::from(settings.workers(u16::MAX)))
            }
            // With `low_memory` an app has one worker unless it asks for more: each has a heap of its own.
            Execution::Auto | Execution::Pooled | Execution::Pinned => {
                usize::from(settings.workers(if settings.low_memory { 1 } else { threads }))
            }
        }
    }
}

/// The limits that the engine enforces. `cpu` and `timeout` also hold for waitUntil; module evaluation has at least its default.
/// An app with `low_memory` has half the heap, and returns unused memory at the cost of time.
pub fn engine_limits(settings: &Settings) -> Limits {
    let (limits, defaults) = (settings.limits(), Limits::default());
    let at_least = |own: Duration, default: Duration| if own.is_zero() { own } else { own.max(default) };
    Limits {
        heap: if settings.low_memory { ByteSize(limits.heap.bytes() / 2) } else { limits.heap },
        footprint: if settings.low_memory { Footprint::Small } else { Footprint::Usual },
        module_cpu: at_least(limits.cpu, defaults.module_cpu),
        module_wall: at_least(limits.wall, defaults.module_wall),
        wait_until_cpu: limits.cpu,
        wait_until_wall: limits.wall,
        ..limits
    }
}

fn execution(settings: &Settings) -> Execution {
    match (settings.execution, settings.lifetime) {
        // A fresh context for each request.
        (Execution::Auto | Execution::Pooled | Execution::Pinned, Lifetime::Ephemeral) => Execution::Shared,
        (execution, _) => execution,
    }
}
