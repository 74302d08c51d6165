//! One version as it is served. Made once, never changed. What runs goes with the last who has it: a version whose routes or
//! tokens change is another one here, with the same workers.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use hearth_core::{ByteSize, Dispatch, Failure, Request, Response};
use hearth_gateway::status_and_code;
use hearth_link::VersionSpec;
use hearth_site::{Ask, Site};

use super::counters::{Counters, Registry};
use super::guard::Guard;
use super::hop::{Elsewhere, Errand};
use crate::host::AppHost;

pub struct Served {
    pub(super) spec: VersionSpec,
    pub(super) body_limit: ByteSize,
    pub(super) guard: Option<Guard>,
    pub(super) content: Arc<Content>,
    pub(super) counters: Arc<Counters>,
    pub(super) registry: Arc<Registry>,
}

pub(super) enum Content {
    /// Files first, where there are any.
    Worker {
        host: AppHost,
        assets: Option<Site>,
    },
    Site(Site),
    /// Another cell has it.
    Elsewhere(Elsewhere),
}

/// Where in the url the app begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The host is the app's: all paths are.
    Root,
    /// `/name@1`, as the client wrote it.
    Below(String),
}

impl Served {
    /// Its workers, if it has any.
    pub fn host(&self) -> Option<&AppHost> {
        match &*self.content {
            Content::Worker { host, .. } => Some(host),
            Content::Site(_) | Content::Elsewhere(_) => None,
        }
    }

    /// Answers `request`, whose url is the app's own by now, and counts it.
    pub(super) fn answer(
        self: Arc<Self>,
        request: Request,
        base: Base,
    ) -> impl Future<Output = Result<Response, Failure>> + Send {
        let began = Instant::now();
        // What another cell answers is counted there.
        let in_flight = self.is_here().then(|| self.counters.begin());
        async move {
            let answer = self.answer_uncounted(request, base).await;
            match (in_flight, &answer) {
                (Some(in_flight), Ok(response)) => {
                    in_flight.answered(response.status, began.elapsed(), &self.registry);
                }
                (None, Ok(_)) => {}
                (in_flight, Err(failure)) => {
                    let (status, code) = status_and_code(failure);
                    self.counters.fail(code);
                    let in_flight = in_flight.unwrap_or_else(|| self.counters.begin());
                    in_flight.answered(status, began.elapsed(), &self.registry);
                }
            }
            answer
        }
    }

    fn is_here(&self) -> bool {
        !matches!(*self.content, Content::Elsewhere(_))
    }

    async fn answer_uncounted(&self, mut request: Request, base: Base) -> Result<Response, Failure> {
        if let Some(guard) = &self.guard {
            guard.admit(&request, path_of(&request.url))?;
        }
        match &*self.content {
            Content::Site(site) => {
                let answer = site.answer(ask(&request, &base)).await?;
                answer.ok_or(Failure::NotFound)
            }
            Content::Worker { host, assets } => {
                if let Some(assets) = assets {
                    if let Some(response) = assets.answer(ask(&request, &base)).await? {
                        return Ok(response);
                    }
                }
                base.mark(&mut request);
                host.dispatch(request).await
            }
            Content::Elsewhere(elsewhere) => {
                let errand = Errand { app: self.spec.app.clone(), version: self.spec.version.clone(), base };
                // Few are, and what it keeps is large.
                Box::pin(elsewhere.answer(request, errand)).await
            }
        }
    }
}

fn ask<'a>(request: &'a Request, base: &'a Base) -> Ask<'a> {
    Ask {
        method: &request.method,
        headers: &request.headers,
        path: path_of(&request.url),
        query: query_of(&request.url),
        base: base.as_str(),
    }
}

// === impl Content ===

impl Drop for Content {
    fn drop(&mut self) {
        // Nobody can ask for it any more: its workers finish what they have and go.
        if let Self::Worker { host, .. } = self {
            host.retire();
        }
    }
}

// === impl Base ===

impl Base {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Root => "",
            Self::Below(base) => base,
        }
    }

    /// Tells the app where it is. What a client says about it does not count.
    fn mark(&self, request: &mut Request) {
        match self {
            Self::Root => request.headers.remove("x-base"),
            Self::Below(base) => request.headers.set("x-base", base.as_bytes()),
        }
    }
}

/// The path of an absolute url, without its query.
pub(super) fn path_of(url: &str) -> &str {
    let path = &url[path_start(url)..];
    let end = path.find(['?', '#']).unwrap_or(path.len());
    if end == 0 { "/" } else { &path[..end] }
}

/// What follows the question mark.
fn query_of(url: &str) -> Option<&str> {
    url.split_once('?').map(|(_, query)| query)
}

/// Where the path of an absolute url begins.
pub(super) fn path_start(url: &str) -> usize {
    let authority = url.find("://").map_or(0, |at| at + 3);
    url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at)
}

/// The host of an absolute url, with its port.
pub(super) fn host_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    &url[authority..path_start(url)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (url, host, path) in [
            ("http://a:1/b/c?d=/e", "a:1", "/b/c"),
            ("http://a", "a", "/"),
            ("http://a?b", "a", "/"),
            ("https://[::1]:80/", "[::1]:80", "/"),
        ] {
            assert_eq!((host_of(url), path_of(url)), (host, path), "{url}");
        }
    }
}
