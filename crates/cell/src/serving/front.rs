//! What answers requests: the table of now, and where it says that a request goes.

use std::future::Future;
use std::sync::Arc;

use arc_swap::ArcSwap;
use hearth_apps::routes::Resolution;
use hearth_core::{Body, ByteSize, Dispatch, Failure, Headers, Request, Response};

use super::served::{Base, Served, host_of, path_of, path_start};
use super::table::Table;

/// Clones are the same front.
#[derive(Clone)]
pub struct Front {
    table: Arc<ArcSwap<Table>>,
}

/// Where a request goes.
enum Way {
    To(Arc<Served>, Base),
    /// Relative links need the slash.
    AddSlash,
    Nowhere(Failure),
}

impl Front {
    pub(super) fn new() -> Self {
        Self { table: Arc::new(ArcSwap::from_pointee(Table::empty())) }
    }

    pub(super) fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Requests from now on find `table`; those that are under way keep what they have.
    pub(super) fn swap(&self, table: Table) {
        self.table.store(Arc::new(table));
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
        let way = self.way(&mut request.url);
        async move {
            match way {
                Way::To(served, base) => served.answer(request, base).await,
                Way::AddSlash => Ok(add_slash(&request.url)),
                Way::Nowhere(failure) => Err(failure),
            }
        }
    }

    fn body_limit(&self, url: &str) -> Option<ByteSize> {
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
