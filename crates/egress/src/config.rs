//! What all clients of a process share: roots, DNS, the URL parser, and how much one client may hold open.

use std::sync::Arc;
use std::time::Duration;

use crate::CertificateDer;
use crate::client::Client;
use crate::connect::{Resolve, SystemDns};
use crate::dialer::Dialer;
use crate::tls::{RootError, Tls};
use hearth_egress_policy::EgressPolicy;

/// How requests are made. The counts are per [`Client`], that is per app.
#[derive(Clone)]
pub struct Config {
    /// Turns a redirect's `location` into a URL.
    pub urls: Arc<dyn ResolveUrl>,
    /// Looks names up. The system's, unless a test brings its own.
    pub dns: Arc<dyn Resolve>,
    /// Certificate authorities that are trusted beside the built-in ones.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// The `user-agent` header where the app sets none.
    pub user_agent: String,
    /// For look-up, dial and TLS together. Default 10 s. There is no limit on the rest of a request: it is the caller's.
    pub connect_timeout: Duration,
    /// How long a connection is kept for the next request. Default 30 s. Longer saves handshakes and costs a socket and about
    /// 20 KB each; servers close at a minute or less anyway.
    pub idle_timeout: Duration,
    /// Connections kept for one origin. Default 8.
    pub max_idle_per_origin: usize,
    /// Connections kept in all. Default 64.
    pub max_idle: usize,
    /// Requests in flight at once; others wait for one to end. Default 128. Each holds a socket, and up to 16 MB where a
    /// server answers with the largest brotli window.
    pub max_requests: usize,
    /// Name look-ups in flight at once; others wait. Default 8. Each may block a thread of tokio's blocking pool until the
    /// system gives up, also after its request was cancelled.
    pub max_lookups: usize,
}

/// The URL parser of the runtime.
pub trait ResolveUrl: Send + Sync {
    /// The serialised URL that `location` means when it is read relative to `base`.
    fn resolve(&self, location: &str, base: &str) -> Option<String>;
}

/// What clients are made from.
#[derive(Clone)]
pub struct Egress {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) tls: Tls,
}

// === impl Config ===

impl Config {
    pub fn new(urls: impl ResolveUrl + 'static) -> Self {
        Self {
            urls: Arc::new(urls),
            dns: Arc::new(SystemDns),
            extra_roots: Vec::new(),
            user_agent: concat!("hearth/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            max_idle_per_origin: 8,
            max_idle: 64,
            max_requests: 128,
            max_lookups: 8,
        }
    }

    pub fn build(self) -> Result<Egress, RootError> {
        let tls = Tls::new(&self.extra_roots)?;
        Ok(Egress { shared: Arc::new(Shared { config: self, tls }) })
    }
}

// === impl Egress ===

impl Egress {
    /// A client for one app: its policy, and connections of its own.
    pub fn client(&self, policy: EgressPolicy) -> Client {
        Client::new(self.shared.clone(), policy)
    }

    /// Plain connections under one policy.
    pub fn dialer(&self, policy: EgressPolicy) -> Dialer {
        Dialer::new(self.shared.clone(), policy)
    }
}

// === impl ResolveUrl ===

impl<F: Fn(&str, &str) -> Option<String> + Send + Sync> ResolveUrl for F {
    fn resolve(&self, location: &str, base: &str) -> Option<String> {
        self(location, base)
    }
}
