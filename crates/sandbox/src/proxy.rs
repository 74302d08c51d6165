//! The way out of a sandbox that may reach some hosts: an HTTP proxy on the host's side, one per sandbox. Programs inside
//! find it by the usual variables (`HTTPS_PROXY` and the like). It carries `CONNECT` tunnels and plain HTTP requests to hosts
//! on the sandbox's list, and looks names up itself: a name is allowed before it is looked up, an address after, by the
//! rules of `hearth-egress`. Nothing else leads out.
//!
//! | file | |
//! |---|---|
//! | `proxy/head.rs` | what a program asks of a proxy |
//! | `proxy/carry.rs` | one connection |
//! | `proxy/registry.rs` | registries of packages, which the proxy stands in for |
//! | `proxy/mirror.rs` | what is asked of them |
//! | `proxy/shelf.rs` | files of packages that are kept for all sandboxes |

mod carry;
mod head;
mod mirror;
mod registry;
mod shelf;
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

use self::mirror::Mirror;
use self::shelf::Shelf;

pub use self::mirror::PackageConfig;
pub use self::registry::Registries;

/// Connections of one sandbox at once; others wait.
const MOST_CONNECTIONS: usize = 64;
/// Where systems keep the certificates of those whom they trust.
pub(crate) const AUTHORITIES: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// What leads out of sandboxes.
pub(crate) struct Exits {
    egress: Egress,
    ceiling: EgressPolicy,
    mirror: Option<Arc<Mirror>>,
}

/// What leads out of one sandbox, for as long as its policy stays the same.
struct Exit {
    reach: Reachable,
    policy: EgressPolicy,
    dialer: Dialer,
    /// For packages.
    client: Client,
    mirror: Option<Arc<Mirror>>,
    refusals: Arc<Refusals>,
    /// Variables by which programs find registries of packages.
    packages: BTreeMap<String, String>,
}

/// What the proxy has refused.
#[derive(Default)]
pub(crate) struct Refusals {
    state: Mutex<Refused>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) count: u64,
    /// The host that was asked for last, and what could be reached then.
    pub(crate) last: String,
    pub(crate) reach: Option<Reachable>,
}

/// Ends with everything that it carries when dropped.
pub(crate) struct Proxy {
    inside: SocketAddr,
    door: Option<OwnedFd>,
    exit: watch::Sender<Arc<Exit>>,
    task: JoinHandle<()>,
}

impl Exits {
    pub(crate) fn new(dns: Arc<dyn Resolve>, ceiling: EgressPolicy, packages: &PackageConfig) -> Self {
        // Redirects are the matter of the programs inside.
        let mut config = Config { dns, ..Config::new(|_: &str, _: &str| None) };
        let mirror = open_mirror(packages);
        if mirror.is_some() {
            config.extra_roots = authorities();
        }
        // Some machines trust what is no longer trusted elsewhere; that is left out.
        while let Err(RootError::Unusable { number, .. }) = config.clone().build() {
            config.extra_roots.remove(number - 1);
        }
        Self { egress: config.build().expect("there are no roots left that could be wrong"), ceiling, mirror }
    }

    /// The way out for one sandbox, if its policy wants one. Where nothing may be reached, a way that is there all the same
    /// refuses everything, and says so: programs then fail at once.
    pub(crate) fn open(&self, policy: &NetworkPolicy, uplink: Option<Uplink>) -> Result<Option<Proxy>, SandboxError> {
        let Some(exit) = self.exit(policy, Arc::default()) else { return Ok(None) };
        let Some(mut uplink) = uplink else {
            return match policy {
                NetworkPolicy::AllowList(_) => Err(SandboxError::Denied {
                    what: "a list of hosts".to_owned(),
                    reason: "the driver has no way out of its sandboxes".to_owned(),
                }),
                NetworkPolicy::None | NetworkPolicy::Full => Ok(None),
            };
        };
        let (inside, door) = (uplink.inside, uplink.door.take());
        let (exit, exits) = watch::channel(Arc::new(exit));
        let task = tokio::spawn(carry_all(uplink, exits));
        Ok(Some(Proxy { inside, door, exit, task }))
    }

    fn exit(&self, policy: &NetworkPolicy, refusals: Arc<Refusals>) -> Option<Exit> {
        let (reach, policy) = match policy {
            NetworkPolicy::None => (Reachable::Nothing, EgressPolicy::none()),
            NetworkPolicy::AllowList(list) => (Reachable::Listed, list.policy(&self.ceiling)),
            NetworkPolicy::Full => return None,
        };
        let packages = match reach {
            Reachable::Nothing => registry::without_network(self.mirror.is_some()),
            Reachable::Listed => self.mirror.as_ref().map(|mirror| mirror.registries.env(&policy)).unwrap_or_default(),
        };
        let (dialer, client) = (self.egress.dialer(policy.clone()), self.egress.client(policy.clone()));
        Some(Exit { reach, policy, dialer, client, mirror: self.mirror.clone(), refusals, packages })
    }

    /// From now on another policy counts. Connections under the one before are cut.
    pub(crate) fn change(&self, proxy: &Proxy, policy: &NetworkPolicy) {
        let refusals = proxy.exit.borrow().refusals.clone();
        if let Some(exit) = self.exit(policy, refusals) {
            proxy.exit.send_replace(Arc::new(exit));
        }
    }
}

async fn carry_all(mut uplink: Uplink, mut exits: watch::Receiver<Arc<Exit>>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut carried = JoinSet::new();
    loop {
        let connection = tokio::select! {
            biased;
            // Closed only with this task.
            Ok(()) = exits.changed() => {
                carried.abort_all();
                continue;
            }
            connection = uplink.connections.recv() => connection,
        };
        let Some(connection) = connection else { break };
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        while carried.try_join_next().is_some() {}
        let exit = exits.borrow().clone();
        carried.spawn(async move {
            carry::carry(connection, &exit).await;
            drop(permit);
        });
    }
    // The sandbox makes no new connections; those it has go on until it is gone.
    while carried.join_next().await.is_some() {}
}

/// Who the machine trusts, as programs in its sandboxes do when they speak to a registry themselves.
fn authorities() -> Vec<CertificateDer<'static>> {
    let found = AUTHORITIES.iter().find_map(|path| certificates_from_pem(&std::fs::read(path).ok()?).ok());
    found.unwrap_or_default()
}

/// Without it packages come as everything else does.
fn open_mirror(packages: &PackageConfig) -> Option<Arc<Mirror>> {
    let folder = packages.folder.clone()?;
    match Shelf::open(folder.clone(), packages.size) {
        Ok(shelf) => Some(Arc::new(Mirror::new(packages.registries.clone(), shelf))),
        Err(error) => {
            tracing::warn!(folder = %folder.display(), %error, "No packages are kept for sandboxes");
            None
        }
    }
}

// === impl Proxy ===

impl Proxy {
    /// Where its connections come from, for who goes on with it.
    pub(crate) fn door(&self) -> Option<&OwnedFd> {
        self.door.as_ref()
    }

    /// The variables by which programs find it.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let url = format!("http://{}", self.inside);
        let here = "localhost,127.0.0.1,::1".to_owned();
        let proxies =
            ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name.to_owned(), url.clone()));
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), here.clone()));
        // Without it node's own fetch looks at none of them.
        let node = [("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())];
        let packages = self.exit.borrow().packages.clone();
        proxies.into_iter().chain(direct).chain(node).chain(packages).collect()
    }

    pub(crate) fn refusals(&self) -> Arc<Refusals> {
        self.exit.borrow().refusals.clone()
    }
}

// === impl Refusals ===

impl Refusals {
    fn note(&self, host: &str, reach: Reachable) {
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
