//! One version as it is served. Made once, never changed. What runs goes with the last who has it: a version whose routes or
//! tokens change is another one here, with the same workers.
//!
//! A request comes with its url as the app knows it; what was taken off is in its header `x-base`, which no client can send:
//! the front takes Hearth's own headers out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{ByteSize, Dispatch, DispatchResult, Failure, MaybeReady, Request, Response};
use hearth_gateway::status_and_code;
use hearth_ipc::VersionSpec;
use hearth_static::{FileRequest, Site, inject_base};

use super::address::Address;
use super::counters::{Counters, Registry};
use super::guard::Guard;
use super::hop::{Elsewhere, Errand};
use super::shared_origin::Base;
use crate::host::{AppHost, Rest};

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

/// How far a request came without waiting for anything. Few do wait, and what they keep is large.
pub(super) type Progress = MaybeReady<DispatchResult, Pin<Box<dyn Future<Output = DispatchResult> + Send>>>;

/// Where the app begins, as the client wrote it: `/name@1`. Nothing where the host is the app's.
pub(super) const BASE: &str = "x-base";

impl Served {
    /// Its workers, if it has any.
    pub fn host(&self) -> Option<&AppHost> {
        match &*self.content {
            Content::Worker { host, .. } => Some(host),
            Content::Site(_) | Content::Elsewhere(_) => None,
        }
    }

    /// Answers `request`, whose base was taken off, and counts it. Most are answered when this returns, and nothing was made for them.
    pub(super) fn answer(self: &Arc<Self>, request: Request, base: Base) -> Progress {
        let began = Instant::now();
        let _in_flight = self.is_here().then(|| self.counters.begin());
        if let Some(guard) = &self.guard {
            if let Err(failure) = guard.admit(&request, Address::of(&request.url).path) {
                let answer = Err(failure);
                self.count(&answer, began.elapsed());
                return Progress::Ready(answer);
            }
        }
        let inject = self.base_to_inject(&request);
        let rest = match &*self.content {
            Content::Worker { host, assets: None } => match host.handle(request, began) {
                MaybeReady::Ready((mut answer, now)) => {
                    if let Ok(response) = &mut answer {
                        base.confine(response);
                    }
                    self.count(&answer, now - began);
                    return Progress::Ready(with_base(answer, inject.as_deref()));
                }
                MaybeReady::Pending(rest) => rest,
            },
            Content::Worker { .. } | Content::Site(_) | Content::Elsewhere(_) => Rest::All(request),
        };
        Progress::Pending(Box::pin(self.clone().go_on(rest, began, base, inject)))
    }

    /// Where pages of the worker's are to be told where the app begins, that.
    fn base_to_inject(&self, request: &Request) -> Option<Box<str>> {
        let wanted = self.spec.settings.inject_base == Some(true) && self.is_here();
        wanted.then(|| base_of(request).into())
    }

    async fn go_on(
        self: Arc<Self>,
        rest: Rest,
        began: Instant,
        base: Base,
        inject: Option<Box<str>>,
    ) -> Result<Response, Failure> {
        let _in_flight = self.is_here().then(|| self.counters.begin());
        let mut answer = match rest {
            Rest::All(request) => self.respond(request, inject.as_deref()).await,
            Rest::Coming(coming) => with_base(coming.response().await, inject.as_deref()),
        };
        if let Ok(response) = &mut answer {
            base.confine(response);
        }
        self.count(&answer, began.elapsed());
        answer
    }

    async fn respond(&self, request: Request, base: Option<&str>) -> Result<Response, Failure> {
        match &*self.content {
            Content::Site(site) => site.answer(ask(&request)).await?.ok_or(Failure::NotFound),
            Content::Worker { host, assets } => {
                if let Some(assets) = assets {
                    if let Some(response) = assets.answer(ask(&request)).await? {
                        return Ok(response);
                    }
                }
                with_base(host.dispatch(request).wait().await, base)
            }
            Content::Elsewhere(elsewhere) => {
                let errand = Errand { app: self.spec.app.clone(), version: self.spec.version.clone() };
                elsewhere.answer(request, &errand).await
            }
        }
    }

    fn count(&self, answer: &Result<Response, Failure>, took: Duration) {
        let status = match answer {
            // What another cell answers is counted there.
            Ok(_) if !self.is_here() => return,
            Ok(response) => response.status,
            Err(failure) => {
                let (status, code) = status_and_code(failure);
                self.counters.fail(code);
                status
            }
        };
        self.counters.answer(status, took);
        self.registry.note(took);
    }

    fn is_here(&self) -> bool {
        !matches!(*self.content, Content::Elsewhere(_))
    }
}

fn ask(request: &Request) -> FileRequest<'_> {
    let Address { path, query, .. } = Address::of(&request.url);
    FileRequest { method: &request.method, headers: &request.headers, path, query, base: base_of(request) }
}

fn base_of(request: &Request) -> &str {
    request.headers.get(BASE).and_then(|base| std::str::from_utf8(base).ok()).unwrap_or_default()
}

/// An answer of a worker's, with the app's base in it if it is a page.
fn with_base(answer: Result<Response, Failure>, base: Option<&str>) -> Result<Response, Failure> {
    match base {
        Some(base) => answer.map(|response| inject_base(response, base)),
        None => answer,
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
