//! The way out of a sandbox that may reach some hosts: an HTTP proxy on the host's side, one per
//! sandbox. Programs inside find it by the usual variables (`HTTPS_PROXY` and the like). The proxy
//! carries `CONNECT` tunnels and plain HTTP requests to hosts on the sandbox's list, and resolves
//! names itself: a name is checked before it is resolved, an address after, by the rules of
//! `hearth-egress`. There is no other way out.
//!
//! | file | |
//! |---|---|
//! | `proxy/head.rs` | request heads that programs send to a proxy |
//! | `proxy/connection.rs` | one connection |
//! | `proxy/registry.rs` | package registries that the proxy mirrors: names and paths |
//! | `proxy/registry_mirror.rs` | requests to a mirrored registry |
//! | `proxy/package_cache.rs` | package files, cached for all sandboxes |

mod connection;
mod head;
mod package_cache;
mod registry;
mod registry_mirror;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_egress::{
    CertificateDer, Client, Config, Dialer, Egress, EgressPolicy, Resolve, RootError, certificates_from_pem,
};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::driver::Uplink;
use crate::error::SandboxError;
use crate::hint::Reachable;
use crate::network::NetworkPolicy;

use self::package_cache::PackageCache;
use self::registry_mirror::RegistryMirror;

pub use self::registry::Registries;
pub use self::registry_mirror::PackageConfig;

/// Connections of one sandbox at once; further ones wait.
const MAX_CONNECTIONS: usize = 64;
/// Where systems keep the certificates of the authorities that they trust.
pub(crate) const AUTHORITIES: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// Makes the proxies of all sandboxes.
pub(crate) struct EgressProxies {
    egress: Egress,
    ceiling: EgressPolicy,
    mirror: Option<Arc<RegistryMirror>>,
}

/// What the proxy of one sandbox allows. Replaced as a whole when the sandbox's network policy
/// changes.
struct ProxyPolicy {
    reach: Reachable,
    egress: EgressPolicy,
    dialer: Dialer,
    /// For requests to package registries.
    client: Client,
    mirror: Option<Arc<RegistryMirror>>,
    refusals: Arc<Refusals>,
    /// Variables by which programs find registries of packages.
    packages: BTreeMap<String, String>,
}

/// Counts what the proxy refused.
#[derive(Default)]
pub(crate) struct Refusals {
    state: Mutex<Refused>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) count: u64,
    /// The host of the last refused request, and what could be reached then.
    pub(crate) last: String,
    pub(crate) reach: Option<Reachable>,
}

/// Dropping it ends the proxy and all its connections.
pub(crate) struct Proxy {
    inside: SocketAddr,
    listener: Option<OwnedFd>,
    policy: watch::Sender<Arc<ProxyPolicy>>,
    task: JoinHandle<()>,
}

impl EgressProxies {
    pub(crate) fn new(dns: Arc<dyn Resolve>, ceiling: EgressPolicy, packages: &PackageConfig) -> Self {
        // Redirects are followed by the programs inside, not here.
        let mut config = Config { dns, ..Config::new(|_: &str, _: &str| None) };
        let mirror = open_mirror(packages);
        if mirror.is_some() {
            config.extra_roots = authorities();
        }
        // Some machines still trust certificates that cannot be used any more; these are left out.
        while let Err(RootError::Unusable { number, .. }) = config.clone().build() {
            config.extra_roots.remove(number - 1);
        }
        Self { egress: config.build().expect("there are no roots left that could be wrong"), ceiling, mirror }
    }

    /// The proxy of one sandbox, if its network policy has one. A sandbox that may reach nothing
    /// but has an uplink gets a proxy that refuses everything with a reason, so that programs fail
    /// at once.
    pub(crate) fn open(&self, network: &NetworkPolicy, uplink: Option<Uplink>) -> Result<Option<Proxy>, SandboxError> {
        let Some(policy) = self.policy_for(network, Arc::default()) else { return Ok(None) };
        let Some(mut uplink) = uplink else {
            return match network {
                NetworkPolicy::AllowList(_) => Err(SandboxError::Denied {
                    what: "a list of hosts".to_owned(),
                    reason: "the driver has no way out of its sandboxes".to_owned(),
                }),
                NetworkPolicy::None | NetworkPolicy::Full => Ok(None),
            };
        };
        let (inside, listener) = (uplink.inside, uplink.listener.take());
        let (policy, policies) = watch::channel(Arc::new(policy));
        let task = tokio::spawn(serve_all(uplink, policies));
        Ok(Some(Proxy { inside, listener, policy, task }))
    }

    fn policy_for(&self, network: &NetworkPolicy, refusals: Arc<Refusals>) -> Option<ProxyPolicy> {
        let (reach, egress) = match network {
            NetworkPolicy::None => (Reachable::Nothing, EgressPolicy::none()),
            NetworkPolicy::AllowList(list) => (Reachable::Listed, list.policy(&self.ceiling)),
            NetworkPolicy::Full => return None,
        };
        let packages = match reach {
            Reachable::Nothing => registry::without_network(self.mirror.is_some()),
            Reachable::Listed => self.mirror.as_ref().map(|mirror| mirror.registries.env(&egress)).unwrap_or_default(),
        };
        let (dialer, client) = (self.egress.dialer(egress.clone()), self.egress.client(egress.clone()));
        Some(ProxyPolicy { reach, egress, dialer, client, mirror: self.mirror.clone(), refusals, packages })
    }

    /// Replaces the policy. Connections under the previous one are cut.
    pub(crate) fn change_policy(&self, proxy: &Proxy, network: &NetworkPolicy) {
        let refusals = proxy.policy.borrow().refusals.clone();
        if let Some(policy) = self.policy_for(network, refusals) {
            proxy.policy.send_replace(Arc::new(policy));
        }
    }
}

async fn serve_all(mut uplink: Uplink, mut policies: watch::Receiver<Arc<ProxyPolicy>>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut served = JoinSet::new();
    loop {
        let connection = tokio::select! {
            biased;
            // Closed only with this task.
            Ok(()) = policies.changed() => {
                served.abort_all();
                continue;
            }
            connection = uplink.connections.recv() => connection,
        };
        let Some(connection) = connection else { break };
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        while served.try_join_next().is_some() {}
        let policy = policies.borrow().clone();
        served.spawn(async move {
            connection::serve_connection(connection, &policy).await;
            drop(permit);
        });
    }
    // The uplink is closed: no new connections come, and those under way run until the sandbox is
    // gone.
    while served.join_next().await.is_some() {}
}

/// The authorities that the machine trusts, for requests that the proxy makes to registries in the
/// place of programs.
fn authorities() -> Vec<CertificateDer<'static>> {
    let found = AUTHORITIES.iter().find_map(|path| certificates_from_pem(&std::fs::read(path).ok()?).ok());
    found.unwrap_or_default()
}

/// `None`: packages are fetched through the proxy like everything else.
fn open_mirror(packages: &PackageConfig) -> Option<Arc<RegistryMirror>> {
    let folder = packages.folder.clone()?;
    match PackageCache::open(folder.clone(), packages.size) {
        Ok(cache) => Some(Arc::new(RegistryMirror::new(packages.registries.clone(), cache))),
        Err(error) => {
            tracing::warn!(folder = %folder.display(), %error, "package cache unavailable");
            None
        }
    }
}

// === impl Proxy ===

impl Proxy {
    /// The listener that its connections come from, for the next program.
    pub(crate) fn listener(&self) -> Option<&OwnedFd> {
        self.listener.as_ref()
    }

    /// The environment variables by which programs find it.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let url = format!("http://{}", self.inside);
        let here = "localhost,127.0.0.1,::1".to_owned();
        let proxies =
            ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name.to_owned(), url.clone()));
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), here.clone()));
        // Without it node's own fetch ignores the other variables.
        let node = [("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())];
        let packages = self.policy.borrow().packages.clone();
        proxies.into_iter().chain(direct).chain(node).chain(packages).collect()
    }

    pub(crate) fn refusals(&self) -> Arc<Refusals> {
        self.policy.borrow().refusals.clone()
    }
}

// === impl Refusals ===

impl Refusals {
    fn record(&self, host: &str, reach: Reachable) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        host.clone_into(&mut state.last);
        state.reach = Some(reach);
    }

    pub(crate) fn read(&self) -> Refused {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
