//! From a catalogue to a routing table: opens new versions, keeps unchanged ones, and drops removed ones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hearth_apps::AppModules;
use hearth_apps::routes::{self, Paths, RouteEntry, RouteProblem, RouteTable};
use hearth_core::{AppName, VersionName};
use hearth_gateway::Hop;
use hearth_ipc::{Active, CellRole, Kind, LoadError, Placement, VersionSpec};
use hearth_runtime::App;

use super::access::AccessControl;
use super::asset_binding;
use super::cordon_proxy::OtherCell;
use super::counters::{VersionCounterRegistry, VersionCounters};
use super::files::{self, FilesError};
use super::router::AppRouter;
use super::routing_table::RoutingTable;
use super::version::{Backend, ServedVersion};
use crate::app_limits::{ServerLimits, engine_limits};
use crate::app_pools::AppPools;
use crate::shared_services::{AppParts, SharedServices};

/// How apps are reached, besides the hosts of their own.
#[derive(Clone, Debug, Default)]
pub struct AppAddresses {
    /// Every app has a host below each of these.
    pub domains: Vec<String>,
    pub paths: Paths,
}

/// Loads versions, with all that they share.
pub struct VersionLoader {
    pub pools: AppPools,
    pub services: SharedServices,
    pub addresses: AppAddresses,
    pub limits: ServerLimits,
    pub registry: Arc<VersionCounterRegistry>,
    pub router: AppRouter,
    /// Catalogues are applied one after the other.
    pub(super) serve_lock: Mutex<()>,
    /// Apps that were opened and not read yet.
    pending_warmups: Mutex<Vec<PendingWarmup>>,
    /// Connections to cordons, by socket: all versions of an owner share one.
    hops: Mutex<HashMap<PathBuf, Weak<Hop>>>,
}

/// An app to read and compile, if it is still served by then.
struct PendingWarmup {
    modules: Weak<AppModules>,
    app: Weak<App>,
}

#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error(transparent)]
    Module(#[from] hearth_core::module::ModuleError),
    #[error(transparent)]
    Files(#[from] FilesError),
}

// === impl VersionLoader ===

impl VersionLoader {
    pub fn new(
        pools: AppPools,
        services: SharedServices,
        addresses: AppAddresses,
        limits: ServerLimits,
        role: CellRole,
    ) -> Self {
        Self {
            pools,
            services,
            addresses,
            limits,
            registry: Arc::default(),
            router: AppRouter::new(role),
            serve_lock: Mutex::default(),
            pending_warmups: Mutex::default(),
            hops: Mutex::default(),
        }
    }

    /// Serves these versions from now on. Opens new ones, which blocks: must not run on threads that serve requests. Returns the
    /// versions that cannot be served.
    pub fn serve(&self, versions: &[VersionSpec]) -> Vec<LoadError> {
        let _guard = self.serve_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = self.router.table();
        let mut problems = Vec::new();
        let (mut entries, mut installing) = (Vec::new(), Vec::new());
        let mut by_version = HashMap::new();
        for spec in versions.iter().cloned() {
            if spec.placement == Placement::Installing {
                installing.extend(entry(&spec, ()));
                continue;
            }
            let key = (spec.app.clone(), spec.version.clone());
            let served = match self.keep_or_open(previous.by_version.get(&key), spec) {
                Ok(served) => served,
                Err(error) => {
                    let (app, version) = key;
                    tracing::error!(app = app.as_str(), version = version.as_str(), "app cannot be served: {error}");
                    problems.push(LoadError { app, version, message: error.to_string() });
                    continue;
                }
            };
            entries.extend(entry(&served.spec, served.clone()));
            by_version.insert(key, served);
        }
        let (routes, faults) = RouteTable::build(entries, &self.addresses.domains);
        // Conflicts between apps were logged by control, which builds the same table, but without domains.
        for problem in faults.iter().filter(|problem| matches!(problem, RouteProblem::BadDomain(_))) {
            tracing::warn!("{problem}");
        }
        let (installing, _) = RouteTable::build(installing, &self.addresses.domains);
        let paths = self.addresses.paths;
        self.router.swap(RoutingTable::new(routes.with_paths(paths), by_version, installing.with_paths(paths)));
        problems
    }

    /// Reads, transpiles and compiles opened apps, so that first requests do not wait for it. The apps are served meanwhile. An
    /// error occurs again, and is reported, when the first worker starts.
    pub async fn warm_up(self: Arc<Self>) {
        let pending = std::mem::take(&mut *self.pending_warmups.lock().unwrap_or_else(PoisonError::into_inner));
        for PendingWarmup { modules, app } in pending {
            let Some(modules) = modules.upgrade() else { continue };
            let read = tokio::task::spawn_blocking(move || modules.preload()).await;
            if let (Ok(Ok(_)), Some(app)) = (read, app.upgrade()) {
                self.pools.compile(app).await;
            }
        }
    }

    /// A version, for events that are no requests. The handle keeps its workers from being retired.
    pub fn version(&self, app: &AppName, version: &VersionName) -> Option<Arc<ServedVersion>> {
        self.router.table().get(app, version)
    }

    /// An unchanged version is kept. If only its routes or tokens changed, its workers are kept.
    fn keep_or_open(
        &self,
        previous: Option<&Arc<ServedVersion>>,
        spec: VersionSpec,
    ) -> Result<Arc<ServedVersion>, OpenError> {
        let counters = self.registry.for_version(&spec.app, &spec.version);
        let backend = match previous {
            Some(served) if served.spec == spec => return Ok(served.clone()),
            Some(served) if has_same_backend(&served.spec, &spec) => served.backend.clone(),
            _ => Arc::new(self.open(&spec, &counters)?),
        };
        Ok(Arc::new(ServedVersion {
            body_limit: spec.settings.max_body_size,
            access: match backend.as_ref() {
                // Its own cell checks access.
                Backend::OtherCell(_) => None,
                Backend::Worker { .. } | Backend::StaticSite(_) => AccessControl::new(&spec.settings, &spec.tokens),
            },
            backend,
            counters,
            registry: self.registry.clone(),
            spec,
        }))
    }

    fn open(&self, spec: &VersionSpec, counters: &VersionCounters) -> Result<Backend, OpenError> {
        match &spec.placement {
            Placement::Here | Placement::Installing => self.open_here(spec, counters),
            Placement::Cordon(socket) => {
                let hop = self.hop(socket);
                Ok(Backend::OtherCell(OtherCell::cordon(hop, spec, self.limits.queue_timeout)))
            }
            Placement::Shut { until } => Ok(Backend::OtherCell(OtherCell::shut(*until))),
        }
    }

    fn hop(&self, socket: &Path) -> Arc<Hop> {
        let mut hops = self.hops.lock().unwrap_or_else(PoisonError::into_inner);
        hops.retain(|_, hop| hop.strong_count() > 0);
        if let Some(hop) = hops.get(socket).and_then(Weak::upgrade) {
            return hop;
        }
        let hop = Arc::new(Hop::new(socket));
        hops.insert(socket.to_owned(), Arc::downgrade(&hop));
        hop
    }

    fn open_here(&self, spec: &VersionSpec, counters: &VersionCounters) -> Result<Backend, OpenError> {
        let entry = match &spec.kind {
            Kind::Site { index } => return Ok(Backend::StaticSite(files::page(spec, index)?)),
            Kind::Worker { entry } => entry,
        };
        let modules = Arc::new(AppModules::open(&spec.folder, entry)?);
        let assets = spec.settings.static_folder.as_deref().map(|folder| files::assets(spec, folder)).transpose()?;
        let app = self.services.app(AppParts {
            name: spec.app.clone(),
            version: spec.version.clone(),
            owner: spec.owner.clone(),
            loader: modules.clone(),
            limits: engine_limits(&spec.settings),
            env: spec.env.clone(),
            egress: spec.settings.egress.clone(),
            assets: asset_binding::open(spec)?,
        });
        let warmup = PendingWarmup { modules: Arc::downgrade(&modules), app: Arc::downgrade(&app) };
        self.pending_warmups.lock().unwrap_or_else(PoisonError::into_inner).push(warmup);
        Ok(Backend::Worker {
            host: self.pools.host(app, &self.limits.app_rules(&spec.settings, counters.timings.clone())),
            assets,
        })
    }
}

/// `None` if the version's name cannot be parsed; control accepts no such name.
fn entry<T>(spec: &VersionSpec, value: T) -> Option<RouteEntry<T>> {
    let version = spec.version.as_str().parse().ok()?;
    Some(RouteEntry {
        name: spec.app.clone(),
        version,
        hosts: spec.hosts.clone(),
        active: match spec.active {
            Active::Yes => routes::RouteActivation::Yes,
            Active::No => routes::RouteActivation::No,
        },
        value,
    })
}

/// Whether two versions differ in nothing but routes and tokens.
fn has_same_backend(one: &VersionSpec, other: &VersionSpec) -> bool {
    let VersionSpec { active, hosts, tokens, .. } = other.clone();
    VersionSpec { active, hosts, tokens, ..one.clone() } == *other
}
