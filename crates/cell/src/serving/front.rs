//! What answers requests: the table of now, and where it says that a request goes.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use hearth_apps::routes::Resolution;
use hearth_core::{
    AppName, Body, ByteSize, Dispatch, DispatchResult, Failure, Headers, MaybeReady, Request, Response, VersionName,
};
use hearth_ipc::Role;
use tokio::sync::watch;

use super::address::Address;
use super::hop::Errand;
use super::recent;
use super::served::{BASE, Progress, Served};
use super::shared_origin::Base;
use super::table::Table;

/// A main cell and a cordon get a new catalogue at about the same time: how long the one may be ahead of the other.
const APART: Duration = Duration::from_secs(5);

/// For a version that nobody here knows.
const UNKNOWN: Failure = Failure::Cordoned { retry_after: Duration::from_secs(1) };

/// Clones are the same front.
#[derive(Clone)]
pub struct Front {
    table: Arc<ArcSwap<Table>>,
    /// A cordon's table from before, while main cells may still send requests for what is in it.
    before: Arc<ArcSwapOption<Table>>,
    /// Told at each change.
    changes: Arc<watch::Sender<u64>>,
    role: Role,
}

impl Front {
    pub(super) fn new(role: Role) -> Self {
        Self {
            table: Arc::new(ArcSwap::from_pointee(Table::empty())),
            before: Arc::default(),
            changes: Arc::default(),
            role,
        }
    }

    pub(super) fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Which version an address means.
    pub(crate) fn named(&self, url: &str) -> Option<(AppName, VersionName)> {
        let Address { host, path, .. } = Address::of(url);
        match self.table.load().routes.resolve(host, path) {
            Resolution::App { value, .. } => Some((value.spec.app.clone(), value.spec.version.clone())),
            _ => None,
        }
    }

    /// Requests from now on find `table`; those that are under way keep what they have.
    pub(super) fn swap(&self, table: Table) {
        let before = self.table.swap(Arc::new(table));
        if self.role == Role::Cordon {
            self.keep_for_a_while(before);
        }
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// What was served until now goes on for those who do not know better yet.
    fn keep_for_a_while(&self, table: Arc<Table>) {
        // Who has no runtime serves nobody.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (kept, before) = (Arc::downgrade(&table), self.before.clone());
        self.before.store(Some(table));
        runtime.spawn(async move {
            tokio::time::sleep(APART).await;
            // Unless another one has taken its place.
            if before.load().as_ref().is_some_and(|table| std::ptr::eq(Arc::as_ptr(table), kept.as_ptr())) {
                before.store(None);
            }
        });
    }

    /// Does what the main cell that sent the request wants.
    fn run(&self, mut request: Request) -> Progress {
        let Some(errand) = Errand::take(&mut request) else { return Progress::Ready(Err(UNKNOWN)) };
        match self.find(&errand) {
            // What is said of an origin is the main cell's business.
            Some(served) => served.answer(request, Base::None),
            None => {
                let front = self.clone();
                Progress::Pending(Box::pin(async move {
                    let served = front.wait_for(&errand).await.ok_or(UNKNOWN)?;
                    served.answer(request, Base::None).wait().await
                }))
            }
        }
    }

    fn find(&self, errand: &Errand) -> Option<Arc<Served>> {
        let now = self.table.load().get(&errand.app, &errand.version);
        now.or_else(|| self.before.load().as_ref()?.get(&errand.app, &errand.version))
    }

    /// Waits for the catalogue that the main cell has already.
    async fn wait_for(&self, errand: &Errand) -> Option<Arc<Served>> {
        let mut changes = self.changes.subscribe();
        let found = async {
            loop {
                if let Some(served) = self.find(errand) {
                    return Some(served);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(APART, found).await.ok()?
    }

    /// Finds the version, and takes its base off the url. Whoever is answered at once only borrows the table.
    fn lead(&self, mut request: Request) -> Progress {
        let table = self.table.load();
        if let Some((served, base)) = recent::recall(table.number, &request.url) {
            let base = move_base(&mut request, base);
            return served.answer(request, base);
        }
        let Address { host, path, start, .. } = Address::of(&request.url);
        Progress::Ready(match table.routes.resolve(host, path) {
            Resolution::App { value, prefix } => {
                let base = start..start + prefix;
                recent::note(table.number, &request.url, base.clone(), value);
                let base = move_base(&mut request, base);
                return value.answer(request, base);
            }
            Resolution::AddSlash => Ok(add_slash(&request.url)),
            Resolution::NoApp | Resolution::NoVersion { .. } if table.comes(&request.url) => Err(Failure::Installing),
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

/// From the url to a header.
fn move_base(request: &mut Request, base: Range<usize>) -> Base {
    if base.is_empty() {
        return Base::None;
    }
    request.headers.push(BASE.as_bytes(), &request.url.as_bytes()[base.clone()]);
    let text = Base::new(&request.url[base.clone()]);
    request.url.drain(base);
    text
}

impl Dispatch for Front {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        match self.role {
            Role::Main => self.lead(request),
            Role::Cordon => self.run(request),
        }
    }

    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        if self.role == Role::Cordon {
            // The main cell has seen to it.
            return None;
        }
        let Address { host, path, .. } = Address::of(url);
        match self.table.load().routes.resolve(host, path) {
            Resolution::App { value, .. } => Some(value.body_limit),
            _ => None,
        }
    }
}

/// `/name?query` to `/name/?query`, on the same host.
fn add_slash(url: &str) -> Response {
    let rest = &url[Address::of(url).start..];
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let to = format!("{}/{}", &rest[..end], &rest[end..]);
    let mut headers = Headers::with_capacity(1, to.len() + 16);
    headers.push(b"location", to.as_bytes());
    Response { status: 308, reason: None, headers, body: Body::Empty, websocket: None }
}
