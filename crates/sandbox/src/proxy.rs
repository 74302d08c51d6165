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
use std::sync::Arc;

use hearth_egress::{
    CertificateDer, Client, Config, Dialer, Egress, EgressPolicy, Resolve, RootError, certificates_from_pem,
};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use crate::driver::Uplink;
use crate::error::SandboxError;
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

/// What leads out of one sandbox.
struct Exit {
    policy: EgressPolicy,
    dialer: Dialer,
    /// For packages.
    client: Client,
    mirror: Option<Arc<Mirror>>,
}

/// Ends with everything that it carries when dropped.
pub(crate) struct Proxy {
    inside: SocketAddr,
    /// Variables by which programs find registries of packages.
    packages: BTreeMap<String, String>,
    door: Option<OwnedFd>,
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

    /// The way out for one sandbox, if its policy wants one.
    pub(crate) fn open(&self, policy: &NetworkPolicy, uplink: Option<Uplink>) -> Result<Option<Proxy>, SandboxError> {
        let NetworkPolicy::AllowList(list) = policy else { return Ok(None) };
        let Some(mut uplink) = uplink else {
            return Err(SandboxError::Denied {
                what: "a list of hosts".to_owned(),
                reason: "the driver has no way out of its sandboxes".to_owned(),
            });
        };
        let policy = list.policy(&self.ceiling);
        let packages = self.mirror.as_ref().map(|mirror| mirror.registries.env(&policy)).unwrap_or_default();
        let exit = Arc::new(Exit {
            dialer: self.egress.dialer(policy.clone()),
            client: self.egress.client(policy.clone()),
            policy,
            mirror: self.mirror.clone(),
        });
        let (inside, door) = (uplink.inside, uplink.door.take());
        let task = tokio::spawn(async move {
            let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
            let mut carried = JoinSet::new();
            while let Some(connection) = uplink.connections.recv().await {
                let Ok(permit) = room.clone().acquire_owned().await else { return };
                while carried.try_join_next().is_some() {}
                let exit = exit.clone();
                carried.spawn(async move {
                    carry::carry(connection, &exit).await;
                    drop(permit);
                });
            }
            // The sandbox makes no new connections; those it has go on until it is gone.
            while carried.join_next().await.is_some() {}
        });
        Ok(Some(Proxy { inside, packages, door, task }))
    }
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
        proxies.into_iter().chain(direct).chain(node).chain(self.packages.clone()).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
