//! The pool's part: its counters, and how a saved sandbox becomes a sandbox again. Spares are not
//! exported: they are destroyed, and the next program boots its own.

use std::os::fd::OwnedFd;

use tokio::time::Instant;

use super::{SavedCounts, SavedSandbox, UpgradePayload};
use crate::activity::Activity;
use crate::agent::{Agent, ImportError};
use crate::booted_sandbox::{BootedParts, BootedSandbox};
use crate::driver::{BootError, Shape};
use crate::error::SandboxError;
use crate::id::{Caller, SandboxId, SessionId};
use crate::jobs::Jobs;
use crate::pool::SandboxPool;
use crate::sandbox::{Sandbox, SandboxParts, Timestamp};
use crate::vsock_cid::Origin;

/// Why a sandbox of the previous program does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxImportError {
    /// Its saved form makes no sense here, or its way out cannot be opened.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Driver(#[from] BootError),
    #[error(transparent)]
    Agent(#[from] ImportError),
    #[error("every number for virtual machines is taken")]
    NoNumber,
}

impl SandboxPool {
    /// As [`shutdown`](Self::shutdown), except that `exported` sandboxes stay alive.
    pub(crate) async fn export(&self, exported: usize) -> SavedCounts {
        let before = self.stop().await;
        self.shared.booter.counters.wait_until_at_most(exported).await;
        self.end_drivers(&before).await;
        let stats = self.stats();
        SavedCounts {
            warm_hits: stats.warm_hits,
            cold_misses: stats.cold_misses,
            created: stats.created,
            destroyed: stats.destroyed,
            failed: stats.failed,
            unhealthy: stats.unhealthy,
        }
    }

    /// Adds the counts of the previous program to this pool's. Its sandboxes count as live until each
    /// is imported and destroyed, or cannot be imported.
    pub(crate) fn merge_counts(&self, counts: &SavedCounts) {
        self.shared.booter.counters.merge(counts);
    }

    /// A sandbox of the previous program. On the current runtime.
    pub(crate) fn import(
        &self,
        saved: SavedSandbox,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(Caller, Sandbox), SandboxImportError> {
        let counters = &self.shared.booter.counters;
        let owner = saved.session.clone().map_or(Caller::Admin, |name| Caller::Session(SessionId::new(name)));
        // Before there is a `BootedSandbox`, which counts its own end, a failure is counted here.
        let parts = self.import_parts(saved, descriptors).inspect_err(|_| counters.destroyed())?;
        Ok((owner, Sandbox::import(parts, self.shared.proxies.clone())?))
    }

    fn import_parts(&self, saved: SavedSandbox, descriptors: Vec<OwnedFd>) -> Result<SandboxParts, SandboxImportError> {
        let booter = &self.shared.booter;
        let id: SandboxId = saved.id.parse()?;
        let driver = booter.drivers.named(&saved.driver)?;
        let config = saved.config.restored(&booter.drivers)?;
        let payload = UpgradePayload { note: saved.instance, descriptors, children: saved.children };
        let booted = driver.import(id, payload)?;
        let activity = Activity::import(saved.idle);
        let (jobs, calls) = Jobs::import(saved.jobs, &activity)?;
        let agent = Agent::import(booted.agent, saved.agent, calls)?;
        let shape = Shape {
            driver: driver.name(),
            image: config.image.clone(),
            memory: config.memory,
            disk: config.disk,
            cpus: config.cpus,
            network: config.network.shape(),
        };
        let cid = booter.cids.take(Origin::Caller).ok_or(SandboxImportError::NoNumber)?;
        let (instance, uplink) = (booted.instance, booted.uplink);
        let parts = BootedParts { id, shape, agent, uplink, instance, counters: booter.counters.clone(), cid };
        let now = Instant::now();
        Ok(SandboxParts {
            booted: BootedSandbox::new(parts),
            config,
            // A monotonic clock that does not reach back so far has not run for long.
            created: now.checked_sub(saved.age).unwrap_or(now),
            created_at: Timestamp(saved.created_at),
            activity,
            jobs,
        })
    }
}
