//! What answers requests: the table of now, and where it says that a request goes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use hearth_apps::routes::Resolution;
use hearth_core::{AppName, Body, ByteSize, Dispatch, Failure, Headers, Request, Response, VersionName};
use hearth_link::Role;
use tokio::sync::watch;

use super::hop::Errand;
use super::served::{Base, Served, host_of, path_of, path_start};
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

/// Where a request goes.
enum Way {
    To(Arc<Served>, Base),
    /// It is in no table yet.
    Coming(Front, Errand),
    /// Relative links need the slash.
    AddSlash,
    Nowhere(Failure),
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
        match self.table.load().routes.resolve(host_of(url), path_of(url)) {
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

    /// Where the main cell that sent the request wants it to go.
    fn sent(&self, request: &mut Request) -> Way {
        match Errand::take(request) {
            None => Way::Nowhere(UNKNOWN),
            Some(errand) => match self.find(&errand) {
                Some(served) => Way::To(served, errand.base),
                None => Way::Coming(self.clone(), errand),
            },
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

    /// Finds the version, and takes its base off the url.
    fn way(&self, url: &mut String) -> Way {
        let table = self.table.load();
        let start = path_start(url);
        let path = path_of(url);
        match table.routes.resolve(host_of(url), path) {
            Resolution::App { value, prefix: 0 } => Way::To(value.clone(), Base::Root),
            Resolution::App { value, prefix } => {
                let (served, base) = (value.clone(), path[..prefix].to_owned());
                url.replace_range(start..start + prefix, "");
                Way::To(served, Base::Below(base))
            }
            Resolution::AddSlash => Way::AddSlash,
            Resolution::NoApp | Resolution::NoVersion { .. } if table.comes(url) => Way::Nowhere(Failure::Installing),
            Resolution::NoApp => Way::Nowhere(Failure::NoApp),
            Resolution::Reserved => Way::Nowhere(Failure::NotFound),
            Resolution::NoVersion { name, range } => {
                let range = range.unwrap_or_else(|| "a release".to_owned());
                Way::Nowhere(Failure::NoVersion { app: name.to_owned(), range })
            }
            Resolution::BadRange { error, .. } => Way::Nowhere(Failure::BadRange { message: error.to_string() }),
        }
    }
}

impl Dispatch for Front {
    fn dispatch(&self, mut request: Request) -> impl Future<Output = Result<Response, Failure>> + Send {
        let way = match self.role {
            Role::Main => self.way(&mut request.url),
            Role::Cordon => self.sent(&mut request),
        };
        async move {
            match way {
                Way::To(served, base) => served.answer(request, base).await,
                Way::Coming(front, errand) => match front.wait_for(&errand).await {
                    Some(served) => served.answer(request, errand.base).await,
                    None => Err(UNKNOWN),
                },
                Way::AddSlash => Ok(add_slash(&request.url)),
                Way::Nowhere(failure) => Err(failure),
            }
        }
    }

    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        if self.role == Role::Cordon {
            // The main cell has seen to it.
            return None;
        }
        let table = self.table.load();
        match table.routes.resolve(host_of(url), path_of(url)) {
            Resolution::App { value, .. } => Some(value.body_limit),
            _ => None,
        }
    }
}

/// `/name?query` to `/name/?query`, on the same host.
fn add_slash(url: &str) -> Response {
    let rest = &url[path_start(url)..];
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let to = format!("{}/{}", &rest[..end], &rest[end..]);
    let mut headers = Headers::with_capacity(1, to.len() + 16);
    headers.push(b"location", to.as_bytes());
    Response { status: 308, reason: None, headers, body: Body::Empty, websocket: None }
}
