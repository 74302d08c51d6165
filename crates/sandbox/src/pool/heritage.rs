//! The pool's part in what goes to the next program: its numbers, and how something that was left becomes a sandbox again.
//! What was ready and nobody's does not go over: it is destroyed, and the next program makes its own.

use std::os::fd::OwnedFd;

use super::SandboxPool;
use crate::activity::Activity;
use crate::agent::{Agent, ResumeError};
use crate::cid::Origin;
use crate::driver::{BootError, Shape};
use crate::error::SandboxError;
use crate::heritage::{Bequest, KeptCounts, KeptSandbox};
use crate::id::{Caller, SandboxId, SessionId};
use crate::jobs::Jobs;
use crate::sandbox::{Resumed, Sandbox, Timestamp};
use crate::unit::{Parts, Unit};

/// Why a sandbox of the program before does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdoptError {
    /// What is said of it makes no sense here, or its way out cannot be opened.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Driver(#[from] BootError),
    #[error(transparent)]
    Agent(#[from] ResumeError),
    #[error("every number for virtual machines is taken")]
    NoNumber,
}

impl SandboxPool {
    /// As [`shutdown`](Self::shutdown), where so many sandboxes go on without us.
    pub(crate) async fn leave(&self, staying: usize) -> KeptCounts {
        let before = self.stop().await;
        self.shared.plant.ledger.down_to(staying).await;
        self.end_drivers(&before).await;
        let stats = self.stats();
        KeptCounts {
            warm_hits: stats.warm_hits,
            cold_misses: stats.cold_misses,
            created: stats.created,
            destroyed: stats.destroyed,
            failed: stats.failed,
            unhealthy: stats.unhealthy,
        }
    }

    /// What the program before counted is counted here, too; what it left lives until it is taken over, or cannot be.
    pub(crate) fn count_on(&self, counts: &KeptCounts) {
        self.shared.plant.ledger.count_on(counts);
    }

    /// A sandbox of the program before. On the current runtime.
    pub(crate) fn adopt(&self, kept: KeptSandbox, descriptors: Vec<OwnedFd>) -> Result<(Caller, Sandbox), AdoptError> {
        let ledger = &self.shared.plant.ledger;
        let owner = kept.session.clone().map_or(Caller::Admin, |name| Caller::Session(SessionId::new(name)));
        // Until there is a unit, nobody else counts its end.
        let resumed = self.resumed(kept, descriptors).inspect_err(|_| ledger.destroyed())?;
        Ok((owner, Sandbox::resume(resumed, self.shared.exits.clone())?))
    }

    fn resumed(&self, kept: KeptSandbox, descriptors: Vec<OwnedFd>) -> Result<Resumed, AdoptError> {
        let plant = &self.shared.plant;
        let id: SandboxId = kept.id.parse()?;
        let driver = plant.drivers.named(&kept.driver)?;
        let config = kept.config.restored(&plant.drivers)?;
        let left = Bequest { note: kept.instance, descriptors, children: kept.children };
        let booted = driver.adopt(id, left)?;
        let activity = Activity::resume(kept.idle);
        let (jobs, calls) = Jobs::resume(kept.jobs, &activity)?;
        let agent = Agent::resume(booted.agent, kept.agent, calls)?;
        let shape = Shape {
            driver: driver.name(),
            image: config.image.clone(),
            memory: config.memory,
            disk: config.disk,
            cpus: config.cpus,
            network: config.network.shape(),
        };
        let cid = plant.cids.take(Origin::Caller).ok_or(AdoptError::NoNumber)?;
        let (instance, uplink) = (booted.instance, booted.uplink);
        let unit = Unit::new(Parts { id, shape, agent, uplink, instance, ledger: plant.ledger.clone(), cid });
        Ok(Resumed { unit, config, created_at: Timestamp(kept.created_at), age: kept.age, activity, jobs })
    }
}
