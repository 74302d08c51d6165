//! Changes to a live sandbox: its lifetime, and the hosts that it may reach.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::Sandbox;
use crate::config::{SandboxConfig, SandboxUpdate};
use crate::error::SandboxError;
use crate::network::{NetworkPolicy, NetworkShape};
use crate::proxy::{Proxy, Refusals};

impl Sandbox {
    /// Applies every given field, or none. Whether the change is allowed is checked by
    /// [`crate::SandboxCeilings`].
    pub async fn update(&self, update: SandboxUpdate) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        let _exclusive = self.updating.lock().await;
        if let Some(network) = &update.network {
            self.change_network(network).await?;
        }
        let mut config = SandboxConfig::clone(&self.config());
        let SandboxUpdate { ttl, idle_timeout, network } = update;
        config.ttl = ttl.map(|left| self.age().saturating_add(left)).or(config.ttl);
        config.idle_timeout = idle_timeout.or(config.idle_timeout);
        config.network = network.unwrap_or(config.network);
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        Ok(())
    }

    async fn change_network(&self, wanted: &NetworkPolicy) -> Result<(), SandboxError> {
        let shape = self.shape().network;
        if wanted.shape() != shape {
            let reason = match shape {
                NetworkShape::Isolated => "it has a network of its own for good: create another for the machine's",
                NetworkShape::Host => "it has the machine's network for good: create another for a list of hosts",
            };
            return Err(SandboxError::invalid("network", reason));
        }
        if *wanted == NetworkPolicy::Full {
            return Ok(());
        }
        if let Some(proxy) = self.proxy().as_ref() {
            self.proxies.change_policy(proxy, wanted);
            return Ok(());
        }
        if *wanted == NetworkPolicy::None {
            return Ok(());
        }
        // For drivers without an uplink of their own: a tunnel through the agent.
        let uplink = self.booted.agent().open_tunnel().await?;
        let proxy = self.proxies.open(wanted, Some(uplink))?;
        *self.proxy() = proxy;
        Ok(())
    }

    fn proxy(&self) -> MutexGuard<'_, Option<Proxy>> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The environment variables that programs need to use the proxy.
    pub(super) fn proxy_env(&self) -> BTreeMap<String, String> {
        self.proxy().as_ref().map(Proxy::env).unwrap_or_default()
    }

    pub(super) fn refusals(&self) -> Option<Arc<Refusals>> {
        self.proxy().as_ref().map(Proxy::refusals)
    }

    /// The listener of its proxy's connections, for the next program.
    pub(crate) fn listener(&self) -> Option<io::Result<OwnedFd>> {
        self.proxy().as_ref().and_then(Proxy::listener).map(OwnedFd::try_clone)
    }
}
