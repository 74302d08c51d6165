//! Boots sandboxes: driver, handshake with the agent, prewarmed interpreters, all under one
//! deadline. Each boot is counted when it begins and when it ends, whether it succeeded or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth_sandbox_agent::Language;
use tokio::time::timeout;

use crate::agent::Agent;
use crate::booted_sandbox::{BootedParts, BootedSandbox};
use crate::config::{ImageName, SandboxConfig};
use crate::driver::{About, BootSpec, Driver, Drivers, NetworkReach, RootImage, Shape};
use crate::error::SandboxError;
use crate::id::SandboxId;
use crate::network::NetworkPolicy;
use crate::pool::LimitsPolicy;
use crate::pool_stats::PoolCounters;
use crate::vsock_cid::{Origin, VsockCid, VsockCids};

pub(crate) struct Booter {
    pub(crate) drivers: Drivers,
    pub(crate) images: BTreeMap<ImageName, PathBuf>,
    pub(crate) boot_timeout: Duration,
    /// Interpreters that a spare has running before it is taken.
    pub(crate) languages: Vec<Language>,
    pub(crate) limits: LimitsPolicy,
    pub(crate) counters: Arc<PoolCounters>,
    pub(crate) cids: VsockCids,
}

impl Booter {
    /// The shape of a requested sandbox; an error when there is no such driver or image.
    pub(crate) fn shape(&self, config: &SandboxConfig) -> Result<Shape, SandboxError> {
        let driver = match config.driver {
            None => self.drivers.first(),
            Some(name) => self.drivers.named(name.0)?,
        };
        self.image(&config.image)?;
        if config.network == NetworkPolicy::Full && driver.reach() == NetworkReach::Listed {
            return Err(SandboxError::Denied {
                what: "the full network".to_owned(),
                reason: format!(
                    "{} sandboxes reach listed hosts only: list them, or * for all that `egress` allows",
                    driver.name()
                ),
            });
        }
        Ok(Shape {
            driver: driver.name(),
            image: config.image.clone(),
            memory: config.memory,
            disk: config.disk,
            cpus: config.cpus,
            network: config.network.shape(),
        })
    }

    fn image(&self, name: &ImageName) -> Result<RootImage, SandboxError> {
        if *name == ImageName::host() {
            return Ok(RootImage::Host);
        }
        self.images.get(name).cloned().map(RootImage::Folder).ok_or_else(|| {
            let known: Vec<_> = ["host"].into_iter().chain(self.images.keys().map(ImageName::as_str)).collect();
            SandboxError::invalid("image", format!("{:?} is not one of {}", name.as_str(), known.join(", ")))
        })
    }

    pub(crate) async fn boot(&self, shape: &Shape, origin: Origin) -> Result<BootedSandbox, SandboxError> {
        let ticket = self.counters.begin_boot(shape.driver);
        let booted = match timeout(self.boot_timeout, self.boot_parts(shape, origin)).await {
            Ok(booted) => booted,
            Err(_) => Err(format!("it was not ready after {:?}", self.boot_timeout)),
        };
        match booted {
            Ok(parts) => {
                ticket.succeeded();
                Ok(BootedSandbox::new(parts))
            }
            Err(reason) => {
                ticket.failed(&reason);
                Err(SandboxError::Boot { reason })
            }
        }
    }

    async fn boot_parts(&self, shape: &Shape, origin: Origin) -> Result<BootedParts, String> {
        let text = |error: SandboxError| error.to_string();
        let driver = self.drivers.named(shape.driver.0).map_err(text)?;
        let image = self.image(&shape.image).map_err(text)?;
        self.check_limits(&**driver).await?;
        let cid: VsockCid = self.cids.take(origin).ok_or("every number for virtual machines is taken")?;
        let id = SandboxId::random();
        let spec = BootSpec { id, shape: shape.clone(), image, cid: cid.number() };
        let booted = driver.boot(&spec).await.map_err(|error| error.to_string())?;
        let agent = Agent::connect(booted.agent).await.map_err(text)?;
        if origin == Origin::Pool {
            let there = self.languages.iter().copied().filter(|language| agent.languages().contains(language));
            agent.warm(there.collect()).await.map_err(text)?;
        }
        let (instance, uplink) = (booted.instance, booted.uplink);
        Ok(BootedParts { id, shape: shape.clone(), agent, uplink, instance, counters: self.counters.clone(), cid })
    }

    /// Where all limits are required, a driver that cannot enforce them makes no sandboxes.
    async fn check_limits(&self, driver: &dyn Driver) -> Result<(), String> {
        if self.limits == LimitsPolicy::Available {
            return Ok(());
        }
        let probe = driver.probe().await.map_err(|error| error.to_string())?;
        match probe.notes.into_iter().find(|note| note.about == About::Limits) {
            Some(note) => {
                Err(format!("hearth.yaml says `limits: required` below `sandboxes`, and there are {}", note.text))
            }
            None => Ok(()),
        }
    }
}
