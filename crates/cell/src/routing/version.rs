//! One version as it is served. Immutable. Its backend is shared: a version whose routes or tokens change gets a new
//! `ServedVersion` with the same workers, which end with the last `ServedVersion` that has them.
//!
//! A request's URL is the one that the app sees; the base that was removed from it is in the header `x-base`. No client can send
//! this header: the gateway removes Hearth's own headers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{ByteSize, Dispatch, DispatchResult, Failure, MaybeReady, Request};
use hearth_gateway::status_and_code;
use hearth_ipc::VersionSpec;
use hearth_static::{FileRequest, Site, inject_base};

use super::access::AccessControl;
use super::cordon_proxy::{HopTarget, OtherCell};
use super::counters::{InFlight, VersionCounterRegistry, VersionCounters};
use super::shared_origin::AppBase;
use super::url_parts::UrlParts;
use crate::host::{AppHost, PendingRequest};

pub struct ServedVersion {
    pub(super) spec: VersionSpec,
    pub(super) body_limit: ByteSize,
    pub(super) access: Option<AccessControl>,
    pub(super) backend: Arc<Backend>,
    pub(super) counters: Arc<VersionCounters>,
    pub(super) registry: Arc<VersionCounterRegistry>,
}

pub(super) enum Backend {
    /// Static files first, if there are any.
    Worker {
        host: AppHost,
        assets: Option<Site>,
    },
    StaticSite(Site),
    OtherCell(OtherCell),
}

/// A result, or the boxed rest of the work. Few requests wait, and what they need is large.
pub(super) type MaybeServed = MaybeReady<DispatchResult, Pin<Box<dyn Future<Output = DispatchResult> + Send>>>;

/// The part of a request that is not done without waiting.
enum Remaining {
    /// The worker has the request, or waits for one.
    Worker(PendingRequest),
    /// The backend did not see the request yet.
    Backend(Request),
}

/// What is needed to finish a request besides the backend.
struct Exchange {
    began: Instant,
    base: AppBase,
    /// The base that pages get, where the app wants it.
    inject: Option<Box<str>>,
    _in_flight: Option<InFlight<Arc<VersionCounters>>>,
}

/// The header with the base of an app, as the client wrote it: `/name@1`. Empty where the host belongs to the app.
pub(super) const BASE: &str = "x-base";

impl ServedVersion {
    /// Its workers, if it has any.
    pub fn host(&self) -> Option<&AppHost> {
        match &*self.backend {
            Backend::Worker { host, .. } => Some(host),
            Backend::StaticSite(_) | Backend::OtherCell(_) => None,
        }
    }

    /// Serves `request`, whose base was removed, and counts it. Most requests are answered when this returns, and nothing was
    /// allocated for them.
    pub(super) fn serve(self: &Arc<Self>, request: Request, base: AppBase) -> MaybeServed {
        let began = Instant::now();
        let in_flight = self.is_local().then(|| self.counters.begin());
        if let Some(access) = &self.access
            && let Err(failure) = access.check(&request, UrlParts::parse(&request.url).path)
        {
            let result = Err(failure);
            self.count(&result, began.elapsed());
            return MaybeReady::Ready(result);
        }
        let inject = self.base_to_inject(&request);
        let remaining = match &*self.backend {
            Backend::Worker { host, assets: None } => match host.serve(request, began) {
                MaybeReady::Ready((mut result, now)) => {
                    if let Ok(response) = &mut result {
                        base.restrict(response);
                    }
                    self.count(&result, now - began);
                    return MaybeReady::Ready(with_base(result, inject.as_deref()));
                }
                MaybeReady::Pending(pending) => Remaining::Worker(pending),
            },
            Backend::Worker { .. } | Backend::StaticSite(_) | Backend::OtherCell(_) => Remaining::Backend(request),
        };
        let in_flight = in_flight.map(|in_flight| in_flight.into_owned(&self.counters));
        let exchange = Exchange { began, base, inject, _in_flight: in_flight };
        MaybeReady::Pending(Box::pin(self.clone().finish(remaining, exchange)))
    }

    /// The base that is inserted into pages of the worker, if the app wants it.
    fn base_to_inject(&self, request: &Request) -> Option<Box<str>> {
        let wanted = self.spec.settings.inject_base == Some(true) && self.is_local();
        wanted.then(|| base_of(request).into())
    }

    async fn finish(self: Arc<Self>, remaining: Remaining, exchange: Exchange) -> DispatchResult {
        let inject = exchange.inject.as_deref();
        let mut result = match remaining {
            Remaining::Worker(pending) => with_base(pending.finish().await, inject),
            Remaining::Backend(request) => self.respond(request, inject).await,
        };
        if let Ok(response) = &mut result {
            exchange.base.restrict(response);
        }
        self.count(&result, exchange.began.elapsed());
        result
    }

    async fn respond(&self, request: Request, base: Option<&str>) -> DispatchResult {
        match &*self.backend {
            Backend::StaticSite(site) => site.answer(file_request(&request)).await?.ok_or(Failure::NotFound),
            Backend::Worker { host, assets } => {
                if let Some(assets) = assets
                    && let Some(response) = assets.answer(file_request(&request)).await?
                {
                    return Ok(response);
                }
                with_base(host.dispatch(request).wait().await, base)
            }
            Backend::OtherCell(cell) => {
                let target = HopTarget { app: self.spec.app.clone(), version: self.spec.version.clone() };
                cell.send(request, &target).await
            }
        }
    }

    fn count(&self, result: &DispatchResult, took: Duration) {
        let status = match result {
            // Responses of another cell are counted there.
            Ok(_) if !self.is_local() => return,
            Ok(response) => response.status,
            Err(failure) => {
                let (status, code) = status_and_code(failure);
                self.counters.record_failure(code);
                status
            }
        };
        self.counters.record_response(status, took);
        self.registry.record(took);
    }

    fn is_local(&self) -> bool {
        !matches!(*self.backend, Backend::OtherCell(_))
    }
}

fn file_request(request: &Request) -> FileRequest<'_> {
    let UrlParts { path, query, .. } = UrlParts::parse(&request.url);
    FileRequest { method: &request.method, headers: &request.headers, path, query, base: base_of(request) }
}

fn base_of(request: &Request) -> &str {
    request.headers.get(BASE).and_then(|base| std::str::from_utf8(base).ok()).unwrap_or_default()
}

/// A worker's result, with the app's base inserted if it is a page.
fn with_base(result: DispatchResult, base: Option<&str>) -> DispatchResult {
    match base {
        Some(base) => result.map(|response| inject_base(response, base)),
        None => result,
    }
}

// === impl Backend ===

impl Drop for Backend {
    fn drop(&mut self) {
        // No request can reach it any more: its workers finish their requests and are destroyed.
        if let Self::Worker { host, .. } = self {
            host.retire();
        }
    }
}
