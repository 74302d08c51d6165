//! Export and import of one sandbox. It is exported when no call but its jobs runs in it; jobs and
//! interpreters go on meanwhile, and their output waits in the agent's stream.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{SavedConfig, SavedNetwork, SavedSandbox, UpgradePayload};
use crate::config::SandboxConfig;
use crate::driver::Drivers;
use crate::error::SandboxError;
use crate::network::NetworkPolicy;
use crate::proxy::EgressProxies;
use crate::sandbox::{Sandbox, SandboxParts};

/// Between two checks whether the sandbox is quiet.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Sandbox {
    /// Calls that wait for news of a job return at once from now on.
    pub(crate) fn wake_pollers(&self) {
        self.jobs.wake_pollers();
    }

    /// What the next program needs to go on with the sandbox; the owner is added by the caller. Calls
    /// under way have until the deadline. Afterwards every call here is an error. `None` if the
    /// sandbox cannot be handed over, and must be destroyed.
    pub(crate) async fn export(&self, deadline: Instant) -> Option<(SavedSandbox, UpgradePayload)> {
        self.wake_pollers();
        while !self.is_quiet() && Instant::now() < deadline {
            sleep(POLL_INTERVAL).await;
        }
        let agent = self.booted.agent().export(&self.jobs.calls()).await?;
        let mut payload = self.booted.export()?;
        if let Some(listener) = self.listener() {
            payload.descriptors.push(listener.ok()?);
        }
        let saved = SavedSandbox {
            id: self.id().to_string(),
            session: None,
            driver: self.shape().driver.to_string(),
            config: (&*self.config()).into(),
            created_at: self.created_at().0,
            age: self.age(),
            idle: self.idle(),
            agent,
            jobs: self.jobs.export(),
            instance: std::mem::take(&mut payload.note),
            descriptors: payload.descriptors.len(),
            children: payload.children.clone(),
        };
        self.booted.release();
        Some((saved, payload))
    }

    /// Nothing runs but jobs, and none of them is just being started.
    fn is_quiet(&self) -> bool {
        self.jobs.running().is_some_and(|jobs| jobs == self.activity.running())
    }

    /// A sandbox of the previous program. On the current runtime.
    pub(crate) fn import(parts: SandboxParts, proxies: Arc<EgressProxies>) -> Result<Self, SandboxError> {
        let proxy = proxies.open(&parts.config.network, parts.booted.take_uplink())?;
        Ok(Self::from_parts(parts, proxies, proxy))
    }
}

impl From<&SandboxConfig> for SavedConfig {
    fn from(config: &SandboxConfig) -> Self {
        Self {
            image: config.image.as_str().to_owned(),
            memory: config.memory.bytes(),
            disk: Some(config.disk.bytes()),
            cpus: config.cpus,
            env: config.env.clone(),
            network: match &config.network {
                NetworkPolicy::None => SavedNetwork::None,
                NetworkPolicy::AllowList(list) => SavedNetwork::Hosts(list.hosts().to_vec()),
                NetworkPolicy::Full => SavedNetwork::Full,
            },
            idle_timeout: config.idle_timeout,
            ttl: config.ttl,
            driver: config.driver.map(|name| name.to_string()),
        }
    }
}

impl SavedConfig {
    pub(crate) fn restored(self, drivers: &Drivers) -> Result<SandboxConfig, SandboxError> {
        let driver = |name: String| drivers.named(&name).map(|driver| driver.name());
        Ok(SandboxConfig {
            image: crate::config::ImageName::new(&self.image)?,
            memory: hearth_core::ByteSize(self.memory),
            disk: hearth_core::ByteSize(self.disk.unwrap_or(self.memory / 2)),
            cpus: self.cpus,
            env: self.env,
            network: match self.network {
                SavedNetwork::None => NetworkPolicy::None,
                SavedNetwork::Hosts(hosts) => NetworkPolicy::allow_list(hosts)?,
                SavedNetwork::Full => NetworkPolicy::Full,
            },
            idle_timeout: self.idle_timeout,
            ttl: self.ttl,
            driver: self.driver.map(driver).transpose()?,
        })
    }
}
