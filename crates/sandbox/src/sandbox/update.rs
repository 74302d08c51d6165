//! What can be changed in a sandbox that is there: how long it lives, and which hosts it may reach.

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
    /// Changes all that is named, or nothing. Whether it is allowed is for [`crate::Ceilings`] to say.
    pub async fn update(&self, update: SandboxUpdate) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        let _turn = self.updating.lock().await;
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
            self.exits.change(proxy, wanted);
            return Ok(());
        }
        if *wanted == NetworkPolicy::None {
            return Ok(());
        }
        // The agent's own way, for drivers that have none.
        let uplink = self.unit.agent().open_tunnel().await?;
        let proxy = self.exits.open(wanted, Some(uplink))?;
        *self.proxy() = proxy;
        Ok(())
    }

    fn proxy(&self) -> MutexGuard<'_, Option<Proxy>> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Variables that lead to the proxy, and what else programs need for it.
    pub(super) fn proxy_env(&self) -> BTreeMap<String, String> {
        self.proxy().as_ref().map(Proxy::env).unwrap_or_default()
    }

    pub(super) fn refusals(&self) -> Option<Arc<Refusals>> {
        self.proxy().as_ref().map(Proxy::refusals)
    }

    /// Where the connections of its proxy come from, for the next program.
    pub(super) fn door(&self) -> Option<io::Result<OwnedFd>> {
        self.proxy().as_ref().and_then(Proxy::door).map(OwnedFd::try_clone)
    }
}
