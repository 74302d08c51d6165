//! From a catalogue to a table: opens what is new, keeps what is the same, and lets go of what is gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hearth_apps::AppModules;
use hearth_apps::routes::{self, Paths, Resolution, RouteEntry, RouteProblem, RouteTable};
use hearth_core::{AppName, VersionName};
use hearth_gateway::Hop;
use hearth_ipc::{Active, Kind, LoadError, Placement, Role, VersionSpec};
use hearth_runtime::App;

use super::address::Address;
use super::counters::{Counters, Registry};
use super::files::{self, FilesError};
use super::front::Front;
use super::guard::Guard;
use super::hop::Elsewhere;
use super::recent::TableNumber;
use super::served::{Content, Served};
use crate::cell::Cell;
use crate::commons::{Commons, Parts};
use crate::terms::{Terms, limits};

/// What is served now.
pub(super) struct Table {
    pub(super) number: TableNumber,
    pub(super) routes: RouteTable<Arc<Served>>,
    by_version: HashMap<(AppName, VersionName), Arc<Served>>,
    /// What is not there yet. Asked only where nothing else answers, so that an older version goes on until then.
    coming: RouteTable<()>,
}

/// How apps are reached, beside the hosts of their own.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// Below which every app has a host.
    pub domains: Vec<String>,
    pub paths: Paths,
}

/// What all versions are served with.
pub struct Workshop {
    pub cell: Cell,
    pub commons: Commons,
    pub addresses: Addresses,
    pub terms: Terms,
    pub registry: Arc<Registry>,
    pub front: Front,
    /// One catalogue after the other.
    pub(super) at_work: Mutex<()>,
    /// What was opened, and not read yet.
    cold: Mutex<Vec<Cold>>,
    /// The ways to cells of owners' own, by socket: all versions of an owner's share one.
    hops: Mutex<HashMap<PathBuf, Weak<Hop>>>,
}

/// An app as long as it is served.
struct Cold {
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

// === impl Table ===

impl Table {
    pub(super) fn empty() -> Self {
        let (routes, _) = RouteTable::build(Vec::new(), &[]);
        let (coming, _) = RouteTable::build(Vec::new(), &[]);
        Self::new(routes, HashMap::new(), coming)
    }

    fn new(
        routes: RouteTable<Arc<Served>>,
        by_version: HashMap<(AppName, VersionName), Arc<Served>>,
        coming: RouteTable<()>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: TableNumber(NEXT.fetch_add(1, Ordering::Relaxed)), routes, by_version, coming }
    }

    pub(super) fn get(&self, app: &AppName, version: &VersionName) -> Option<Arc<Served>> {
        self.by_version.get(&(app.clone(), version.clone())).cloned()
    }

    /// Whether what is asked for is on its way.
    pub(super) fn comes(&self, url: &str) -> bool {
        let Address { host, path, .. } = Address::of(url);
        matches!(self.coming.resolve(host, path), Resolution::App { .. } | Resolution::AddSlash)
    }
}

// === impl Workshop ===

impl Workshop {
    pub fn new(cell: Cell, commons: Commons, addresses: Addresses, terms: Terms, role: Role) -> Self {
        Self {
            cell,
            commons,
            addresses,
            terms,
            registry: Arc::default(),
            front: Front::new(role),
            at_work: Mutex::default(),
            cold: Mutex::default(),
            hops: Mutex::default(),
        }
    }

    /// Serves these versions from now on. Opens what is new: takes its time, and must not run where requests are served. Says
    /// what cannot be served; of that, nothing is.
    pub fn serve(&self, versions: &[VersionSpec]) -> Vec<LoadError> {
        let _one = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.front.table();
        let mut problems = Vec::new();
        let (mut entries, mut coming) = (Vec::new(), Vec::new());
        let mut by_version = HashMap::new();
        for spec in versions.iter().cloned() {
            if spec.placement == Placement::Installing {
                coming.extend(entry(&spec, ()));
                continue;
            }
            let key = (spec.app.clone(), spec.version.clone());
            let served = match self.keep_or_open(before.by_version.get(&key), spec) {
                Ok(served) => served,
                Err(error) => {
                    let (app, version) = key;
                    tracing::error!(
                        app = app.as_str(),
                        version = version.as_str(),
                        "The app cannot be served: {error}"
                    );
                    problems.push(LoadError { app, version, message: error.to_string() });
                    continue;
                }
            };
            entries.extend(entry(&served.spec, served.clone()));
            by_version.insert(key, served);
        }
        let (routes, faults) = RouteTable::build(entries, &self.addresses.domains);
        // What two apps claim was told by control, which makes the same table, but without domains.
        for problem in faults.iter().filter(|problem| matches!(problem, RouteProblem::BadDomain(_))) {
            tracing::warn!("{problem}");
        }
        let (coming, _) = RouteTable::build(coming, &self.addresses.domains);
        let paths = self.addresses.paths;
        self.front.swap(Table::new(routes.with_paths(paths), by_version, coming.with_paths(paths)));
        problems
    }

    /// Reads, transpiles and compiles what was opened, so that a first request need not wait for it. It is served meanwhile. A fault
    /// in there is met again, and reported, when the first worker starts.
    pub async fn warm(self: Arc<Self>) {
        let cold = std::mem::take(&mut *self.cold.lock().unwrap_or_else(PoisonError::into_inner));
        for Cold { modules, app } in cold {
            let Some(modules) = modules.upgrade() else { continue };
            let read = tokio::task::spawn_blocking(move || modules.preload()).await;
            if let (Ok(Ok(_)), Some(app)) = (read, app.upgrade()) {
                self.cell.compile(app).await;
            }
        }
    }

    /// A version, for events that are no requests. Who holds it keeps its workers from being retired.
    pub fn served(&self, app: &AppName, version: &VersionName) -> Option<Arc<Served>> {
        self.front.table().get(app, version)
    }

    /// What is the same stays as it is. Where only the way to it is another, its workers stay.
    fn keep_or_open(&self, before: Option<&Arc<Served>>, spec: VersionSpec) -> Result<Arc<Served>, OpenError> {
        let counters = self.registry.of(&spec.app, &spec.version);
        let content = match before {
            Some(served) if served.spec == spec => return Ok(served.clone()),
            Some(served) if runs_the_same(&served.spec, &spec) => served.content.clone(),
            _ => Arc::new(self.open(&spec, &counters)?),
        };
        Ok(Arc::new(Served {
            body_limit: spec.settings.max_body_size,
            guard: match content.as_ref() {
                // Its own cell has one.
                Content::Elsewhere(_) => None,
                Content::Worker { .. } | Content::Site(_) => Guard::new(&spec.settings, &spec.tokens),
            },
            content,
            counters,
            registry: self.registry.clone(),
            spec,
        }))
    }

    fn open(&self, spec: &VersionSpec, counters: &Counters) -> Result<Content, OpenError> {
        match &spec.placement {
            Placement::Here | Placement::Installing => self.open_here(spec, counters),
            Placement::Cordon(socket) => {
                let hop = self.hop(socket);
                Ok(Content::Elsewhere(Elsewhere::cordon(hop, spec, self.terms.queue_timeout)))
            }
            Placement::Shut { until } => Ok(Content::Elsewhere(Elsewhere::shut(*until))),
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

    fn open_here(&self, spec: &VersionSpec, counters: &Counters) -> Result<Content, OpenError> {
        let entry = match &spec.kind {
            Kind::Site { index } => return Ok(Content::Site(files::page(spec, index)?)),
            Kind::Worker { entry } => entry,
        };
        let modules = Arc::new(AppModules::open(&spec.folder, entry)?);
        let assets = spec.settings.static_folder.as_deref().map(|folder| files::assets(spec, folder)).transpose()?;
        let app = self.commons.app(Parts {
            name: spec.app.clone(),
            version: spec.version.clone(),
            owner: spec.owner.clone(),
            loader: modules.clone(),
            limits: limits(&spec.settings),
            env: spec.env.clone(),
            egress: spec.settings.egress.clone(),
        });
        let cold = Cold { modules: Arc::downgrade(&modules), app: Arc::downgrade(&app) };
        self.cold.lock().unwrap_or_else(PoisonError::into_inner).push(cold);
        Ok(Content::Worker {
            host: self.cell.host(app, &self.terms.rules(&spec.settings, counters.timings.clone())),
            assets,
        })
    }
}

/// `None` where the version has no name that a table can have, which control lets nobody choose.
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

/// Whether two differ in nothing but who is led to them and let in.
fn runs_the_same(one: &VersionSpec, other: &VersionSpec) -> bool {
    let VersionSpec { active, hosts, tokens, .. } = other.clone();
    VersionSpec { active, hosts, tokens, ..one.clone() } == *other
}
