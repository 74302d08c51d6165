//! The way out of a sandbox that may reach some hosts: an HTTP proxy on the host's side, one per sandbox. Programs inside
//! find it by the usual variables (`HTTPS_PROXY` and the like). It carries `CONNECT` tunnels and plain HTTP requests to hosts
//! on the sandbox's list, and looks names up itself: a name is allowed before it is looked up, an address after, by the
//! rules of `hearth-egress`. Nothing else leads out.
//!
//! | file | |
//! |---|---|
//! | `proxy/head.rs` | what a program asks of a proxy |
//! | `proxy/carry.rs` | one connection |

mod carry;
mod head;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hearth_egress::{Config, Egress, EgressPolicy, Resolve};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use crate::driver::Uplink;
use crate::error::SandboxError;
use crate::network::NetworkPolicy;

/// Connections of one sandbox at once; others wait.
const MOST_CONNECTIONS: usize = 64;

/// What leads out of sandboxes.
pub(crate) struct Exits {
    egress: Egress,
    ceiling: EgressPolicy,
}

/// Ends with everything that it carries when dropped.
pub(crate) struct Proxy {
    inside: SocketAddr,
    task: JoinHandle<()>,
}

impl Exits {
    pub(crate) fn new(dns: Arc<dyn Resolve>, ceiling: EgressPolicy) -> Self {
        // Redirects are the matter of the programs inside.
        let config = Config { dns, ..Config::new(|_: &str, _: &str| None) };
        Self { egress: config.build().expect("there are no extra roots that could be wrong"), ceiling }
    }

    /// The way out for one sandbox, if its policy wants one.
    pub(crate) fn open(&self, policy: &NetworkPolicy, uplink: Option<Uplink>) -> Result<Option<Proxy>, SandboxError> {
        let NetworkPolicy::AllowList(list) = policy else { return Ok(None) };
        let Some(mut uplink) = uplink else {
            return Err(SandboxError::Denied {
                what: "a list of hosts".to_owned(),
                reason: "the driver has no way out of its sandboxes".to_owned(),
            });
        };
        let dialer = Arc::new(self.egress.dialer(list.policy(&self.ceiling)));
        let inside = uplink.inside;
        let task = tokio::spawn(async move {
            let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
            let mut carried = JoinSet::new();
            while let Some(connection) = uplink.connections.recv().await {
                let Ok(permit) = room.clone().acquire_owned().await else { return };
                while carried.try_join_next().is_some() {}
                let dialer = dialer.clone();
                carried.spawn(async move {
                    carry::carry(connection, &dialer).await;
                    drop(permit);
                });
            }
            // The sandbox makes no new connections; those it has go on until it is gone.
            while carried.join_next().await.is_some() {}
        });
        Ok(Some(Proxy { inside, task }))
    }
}

// === impl Proxy ===

impl Proxy {
    /// The variables by which programs find it.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let url = format!("http://{}", self.inside);
        let here = "localhost,127.0.0.1,::1".to_owned();
        let proxies =
            ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name.to_owned(), url.clone()));
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), here.clone()));
        // Without it node's own fetch looks at none of them.
        let node = [("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())];
        proxies.into_iter().chain(direct).chain(node).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
