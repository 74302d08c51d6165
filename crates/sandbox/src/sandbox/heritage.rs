//! One sandbox, left to the next program and taken over there. It is left when nothing runs in it that somebody waits for;
//! jobs and interpreters go on meanwhile, and what they say waits in the stream.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Sandbox, Timestamp, Turns};
use crate::activity::Activity;
use crate::config::SandboxConfig;
use crate::driver::Drivers;
use crate::error::SandboxError;
use crate::heritage::{Bequest, KeptConfig, KeptNetwork, KeptSandbox};
use crate::jobs::Jobs;
use crate::network::NetworkPolicy;
use crate::proxy::Exits;
use crate::unit::Unit;

/// Between two looks whether it is quiet.
const MOMENT: Duration = Duration::from_millis(5);

/// What a sandbox becomes again.
pub(crate) struct Resumed {
    pub(crate) unit: Unit,
    pub(crate) config: SandboxConfig,
    pub(crate) created_at: Timestamp,
    pub(crate) age: Duration,
    pub(crate) activity: Activity,
    pub(crate) jobs: Jobs,
}

impl Sandbox {
    /// Whoever waits for news of a job is told at once from now on that there are none.
    pub(crate) fn hurry(&self) {
        self.jobs.hurry();
    }

    /// What the next program needs to go on with it. What is under way has until the deadline. From then on it is nothing but
    /// an error here; `None` if it cannot go on, and must be destroyed. Whose it is is for others to say.
    pub(crate) async fn leave(&self, deadline: Instant) -> Option<(KeptSandbox, Bequest)> {
        self.hurry();
        while !self.is_quiet() && Instant::now() < deadline {
            sleep(MOMENT).await;
        }
        let agent = self.unit.agent().leave(&self.jobs.calls()).await?;
        let mut left = self.unit.leave()?;
        if let Some(door) = self.door() {
            left.descriptors.push(door.ok()?);
        }
        let kept = KeptSandbox {
            id: self.id().to_string(),
            session: None,
            driver: self.shape().driver.to_string(),
            config: (&*self.config()).into(),
            created_at: self.created_at.0,
            age: self.age(),
            idle: self.idle(),
            agent,
            jobs: self.jobs.leave(),
            instance: std::mem::take(&mut left.note),
            descriptors: left.descriptors.len(),
            children: left.children.clone(),
        };
        self.unit.let_go();
        Some((kept, left))
    }

    /// Nothing runs but jobs, and of these none is only just being started.
    fn is_quiet(&self) -> bool {
        self.jobs.running().is_some_and(|jobs| jobs == self.activity.running())
    }

    /// On the current runtime.
    pub(crate) fn resume(resumed: Resumed, exits: Arc<Exits>) -> Result<Self, SandboxError> {
        let Resumed { unit, config, created_at, age, activity, jobs } = resumed;
        let proxy = exits.open(&config.network, unit.take_uplink())?;
        let now = Instant::now();
        Ok(Self {
            unit,
            config: Mutex::new(Arc::new(config)),
            // A clock that does not reach back so far has not run for long.
            created: now.checked_sub(age).unwrap_or(now),
            created_at,
            activity,
            jobs,
            turns: Turns::default(),
            exits,
            proxy: Mutex::new(proxy),
            updating: tokio::sync::Mutex::default(),
            killed: Arc::default(),
        })
    }
}

impl From<&SandboxConfig> for KeptConfig {
    fn from(config: &SandboxConfig) -> Self {
        Self {
            image: config.image.as_str().to_owned(),
            memory: config.memory.bytes(),
            disk: Some(config.disk.bytes()),
            cpus: config.cpus,
            env: config.env.clone(),
            network: match &config.network {
                NetworkPolicy::None => KeptNetwork::None,
                NetworkPolicy::AllowList(list) => KeptNetwork::Hosts(list.hosts().to_vec()),
                NetworkPolicy::Full => KeptNetwork::Full,
            },
            idle_timeout: config.idle_timeout,
            ttl: config.ttl,
            driver: config.driver.map(|name| name.to_string()),
        }
    }
}

impl KeptConfig {
    pub(crate) fn restored(self, drivers: &Drivers) -> Result<SandboxConfig, SandboxError> {
        let driver = |name: String| drivers.named(&name).map(|driver| driver.name());
        Ok(SandboxConfig {
            image: crate::config::ImageName::new(&self.image)?,
            memory: hearth_core::ByteSize(self.memory),
            disk: hearth_core::ByteSize(self.disk.unwrap_or(self.memory / 2)),
            cpus: self.cpus,
            env: self.env,
            network: match self.network {
                KeptNetwork::None => NetworkPolicy::None,
                KeptNetwork::Hosts(hosts) => NetworkPolicy::allow_list(hosts)?,
                KeptNetwork::Full => NetworkPolicy::Full,
            },
            idle_timeout: self.idle_timeout,
            ttl: self.ttl,
            driver: self.driver.map(driver).transpose()?,
        })
    }
}
