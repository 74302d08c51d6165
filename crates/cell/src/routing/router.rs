//! Routes requests: holds the current table, and finds the version that a request is for.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use hearth_apps::routes::Resolution;
use hearth_core::{
    AppName, Body, ByteSize, Dispatch, DispatchResult, Failure, Headers, MaybeReady, Request, Response, VersionName,
};
use hearth_ipc::CellRole;
use tokio::sync::watch;

use super::cordon_proxy::HopTarget;
use super::route_cache;
use super::routing_table::RoutingTable;
use super::shared_origin::AppBase;
use super::url_parts::UrlParts;
use super::version::{BASE, MaybeServed, ServedVersion};

/// A main cell and a cordon get a new catalogue at about the same time: how long one may be ahead of the other.
const CATALOGUE_SKEW: Duration = Duration::from_secs(5);

/// For a version that this cordon does not have.
const UNKNOWN_VERSION: Failure = Failure::Cordoned { retry_after: Duration::from_secs(1) };

/// Clones are the same router.
#[derive(Clone)]
pub struct AppRouter {
    table: Arc<ArcSwap<RoutingTable>>,
    /// A cordon's previous table, while main cells may still send requests for its versions.
    previous: Arc<ArcSwapOption<RoutingTable>>,
    /// Notified at each change.
    changes: Arc<watch::Sender<u64>>,
    role: CellRole,
}

impl AppRouter {
    pub(super) fn new(role: CellRole) -> Self {
        Self {
            table: Arc::new(ArcSwap::from_pointee(RoutingTable::empty())),
            previous: Arc::default(),
            changes: Arc::default(),
            role,
        }
    }

    pub(super) fn table(&self) -> Arc<RoutingTable> {
        self.table.load_full()
    }

    /// The version that a URL is for.
    pub(crate) fn version_for_url(&self, url: &str) -> Option<(AppName, VersionName)> {
        let UrlParts { host, path, .. } = UrlParts::parse(url);
        match self.table.load().routes.resolve(host, path) {
            Resolution::App { value, .. } => Some((value.spec.app.clone(), value.spec.version.clone())),
            _ => None,
        }
    }

    /// Requests from now on use `table`; those that are under way keep their version.
    pub(super) fn swap(&self, table: RoutingTable) {
        let previous = self.table.swap(Arc::new(table));
        if self.role == CellRole::Cordon {
            self.retain_previous(previous);
        }
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Serves the versions of the previous table for main cells that do not have the new catalogue yet.
    fn retain_previous(&self, table: Arc<RoutingTable>) {
        // Without a runtime there are no requests.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (retained, previous) = (Arc::downgrade(&table), self.previous.clone());
        self.previous.store(Some(table));
        runtime.spawn(async move {
            tokio::time::sleep(CATALOGUE_SKEW).await;
            // Unless another table has taken its place.
            if previous.load().as_ref().is_some_and(|table| std::ptr::eq(Arc::as_ptr(table), retained.as_ptr())) {
                previous.store(None);
            }
        });
    }

    /// Serves a request that a main cell passes on to this cordon.
    fn serve_hop(&self, mut request: Request) -> MaybeServed {
        let Some(target) = HopTarget::take(&mut request) else { return MaybeReady::Ready(Err(UNKNOWN_VERSION)) };
        match self.find(&target) {
            // The main cell restricts headers that affect the origin.
            Some(version) => version.serve(request, AppBase::None),
            None => {
                let router = self.clone();
                MaybeReady::Pending(Box::pin(async move {
                    let version = router.wait_for(&target).await.ok_or(UNKNOWN_VERSION)?;
                    version.serve(request, AppBase::None).wait().await
                }))
            }
        }
    }

    fn find(&self, target: &HopTarget) -> Option<Arc<ServedVersion>> {
        let current = self.table.load().get(&target.app, &target.version);
        current.or_else(|| self.previous.load().as_ref()?.get(&target.app, &target.version))
    }

    /// Waits for the catalogue that the main cell has already.
    async fn wait_for(&self, target: &HopTarget) -> Option<Arc<ServedVersion>> {
        let mut changes = self.changes.subscribe();
        let found = async {
            loop {
                if let Some(version) = self.find(target) {
                    return Some(version);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(CATALOGUE_SKEW, found).await.ok()?
    }

    /// Finds the version, and removes its base from the URL. A request that is answered at once only borrows the table.
    fn route(&self, mut request: Request) -> MaybeServed {
        let table = self.table.load();
        if let Some((version, base)) = route_cache::lookup(table.id, &request.url) {
            let base = move_base(&mut request, base);
            return version.serve(request, base);
        }
        let UrlParts { host, path, start, .. } = UrlParts::parse(&request.url);
        MaybeReady::Ready(match table.routes.resolve(host, path) {
            Resolution::App { value, prefix } => {
                let base = start..start + prefix;
                route_cache::store(table.id, &request.url, base.clone(), value);
                let base = move_base(&mut request, base);
                return value.serve(request, base);
            }
            Resolution::AddSlash => Ok(add_slash(&request.url)),
            Resolution::NoApp | Resolution::NoVersion { .. } if table.is_installing(&request.url) => {
                Err(Failure::Installing)
            }
            Resolution::NoApp => Err(Failure::NoApp),
            Resolution::Reserved => Err(Failure::NotFound),
            Resolution::NoVersion { name, range } => {
                let range = range.unwrap_or_else(|| "a release".to_owned());
                Err(Failure::NoVersion { app: name.to_owned(), range })
            }
            Resolution::BadRange { error, .. } => Err(Failure::BadRange { message: error.to_string() }),
        })
    }
}

/// Moves the base from the URL to a header.
fn move_base(request: &mut Request, base: Range<usize>) -> AppBase {
    if base.is_empty() {
        return AppBase::None;
    }
    request.headers.push(BASE.as_bytes(), &request.url.as_bytes()[base.clone()]);
    let text = AppBase::new(&request.url[base.clone()]);
    request.url.drain(base);
    text
}

impl Dispatch for AppRouter {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        match self.role {
            CellRole::Main => self.route(request),
            CellRole::Cordon => self.serve_hop(request),
        }
    }

    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        if self.role == CellRole::Cordon {
            // The main cell has enforced it.
            return None;
        }
        let UrlParts { host, path, .. } = UrlParts::parse(url);
        match self.table.load().routes.resolve(host, path) {
            Resolution::App { value, .. } => Some(value.body_limit),
            _ => None,
        }
    }
}

/// `/name?query` to `/name/?query`, on the same host.
fn add_slash(url: &str) -> Response {
    let rest = &url[UrlParts::parse(url).start..];
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let to = format!("{}/{}", &rest[..end], &rest[end..]);
    let mut headers = Headers::with_capacity(1, to.len() + 16);
    headers.push(b"location", to.as_bytes());
    Response { status: 308, reason: None, headers, body: Body::Empty, websocket: None }
}
