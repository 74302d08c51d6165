//! The steps of every request that do not depend on the protocol: from its head to the app, and from the app's answer to a
//! response that can be sent. The protocols only move bytes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hearth_core::{Dispatch, Failure, Method, RequestId, Response};

use crate::access::{AccessLogOutput, AccessLogSink, Entry, RequestOutcome};
use crate::clock::Clock;
use crate::compress::{Purpose, compress};
use crate::config::{Compression, Config};
use crate::drain::Drain;
use crate::encoding::Accepts;
use crate::error_response::{ErrorFormat, FailureLog, error_response, reject_response};
use crate::forwarded;
use crate::head::{Head, HttpVersion};
use crate::peer::{Peer, client_group};
use crate::range::{RangeRequest, apply_range};
use crate::reject::Reject;
use crate::request_id::{IdText, Ids};
use crate::stats::Stats;
use crate::traces::{Trace, TraceSink};
use hearth_core::rate_limit::{KeyedRateLimiter, RateDecision};

/// What all connections of a server share.
pub struct ServerState<D> {
    pub config: Config,
    pub dispatch: Arc<D>,
    pub failures: FailureLog,
    pub clock: Clock,
    pub ids: Ids,
    pub stats: Stats,
    pub drain: Drain,
    /// Requests by client.
    pub rates: KeyedRateLimiter<IpAddr>,
}

/// What is needed of a request when its response is written.
pub struct RequestContext {
    pub id: IdText,
    pub version: HttpVersion,
    pub is_head: bool,
    pub keep_alive: bool,
    accepts: Accepts,
    /// Boxed, since few requests ask for a part.
    part: Option<Box<RangeRequest>>,
    prefers_html: bool,
    /// For the access log and the trace, where there is either.
    record: Option<Box<RequestLog>>,
}

/// What is known of a request, for the access log and for its trace.
struct RequestLog {
    entry: Entry,
    log: Option<AccessLogSink>,
    trace: Option<(TraceSink, Trace)>,
}

// === impl ServerState ===

impl<D: Dispatch> ServerState<D> {
    /// Begins a request: resolves its client, gives it its id, and completes its headers for the app.
    pub fn begin_request(&self, head: &mut Head, peer: &Peer, id: RequestId) -> (RequestContext, IpAddr) {
        let client = forwarded::resolve_client(head, peer, &self.config.trusted_proxies);
        let text = head.id.take().map_or_else(|| self.ids.text(id), |id| *id);
        head.headers.push(b"x-request-id", text.as_bytes());
        let trace = self.config.traces.begin(&mut head.headers);
        let record = self.record(trace, || Entry::new(head, client));
        let context = RequestContext {
            id: text,
            version: head.version,
            is_head: head.method == Method::Head,
            keep_alive: head.keep_alive,
            accepts: head.accepts,
            part: (head.wants_part && head.method == Method::Get).then(|| Box::new(RangeRequest::new(&head.headers))),
            prefers_html: head.prefers_html,
            record,
        };
        (context, client)
    }

    fn record(&self, trace: Option<(TraceSink, Trace)>, entry: impl FnOnce() -> Entry) -> Option<Box<RequestLog>> {
        let log = match &self.config.access_log {
            AccessLogOutput::Off => None,
            AccessLogOutput::On(sink) => Some(sink.clone()),
        };
        (log.is_some() || trace.is_some()).then(|| Box::new(RequestLog { entry: entry(), log, trace }))
    }

    /// Begins a request whose head could not be parsed, in order to answer it.
    pub fn begin_rejected(&self, peer: &Peer, version: HttpVersion) -> RequestContext {
        let record = self.record(None, || Entry::unread(peer.address, version));
        RequestContext {
            id: self.ids.text(RequestId::next()),
            version,
            is_head: false,
            keep_alive: false,
            accepts: Accepts::NOTHING,
            part: None,
            prefers_html: false,
            record,
        }
    }

    /// Whether the client may send one more request now.
    pub fn admit(&self, client: IpAddr) -> Result<(), Failure> {
        let Some(rate) = self.config.rate_limit else { return Ok(()) };
        match self.rates.admit(client_group(client), rate, Instant::now()) {
            RateDecision::Admitted => Ok(()),
            RateDecision::Limited { retry_after } => Err(Failure::RateLimited { retry_after }),
        }
    }

    /// The longest body of a request for this url.
    pub fn body_limit(&self, url: &str) -> u64 {
        let most = self.config.max_body;
        self.dispatch.body_limit(url).map_or(most, |limit| limit.min(most)).bytes()
    }

    /// Makes the response that is sent of the app's answer.
    pub fn answer(&self, context: &RequestContext, answer: Result<Response, Failure>) -> Response {
        let mut response = match answer {
            // A request for a WebSocket was handled before; this client asked for none.
            Ok(Response { websocket: Some(_), status: 101 | 200..=999, .. }) => {
                return context.reject_response(Reject::UpgradeRequired);
            }
            Ok(response @ Response { status: 200..=999, .. }) => response,
            Ok(Response { status, .. }) => self.error_response(context, &unsendable(status)),
            Err(failure) => self.error_response(context, &failure),
        };
        apply_range(&mut response, context.part.as_deref());
        if self.config.compression == Compression::On && context.version != HttpVersion::Http10 {
            let purpose = if context.is_head { Purpose::Head } else { Purpose::Body };
            compress(&mut response, context.accepts, purpose);
        }
        response
    }

    fn error_response(&self, context: &RequestContext, failure: &Failure) -> Response {
        error_response(failure, context.error_format(), self.config.errors, &self.failures)
    }
}

/// The failure of an app that answers with a status that is not final.
#[cold]
fn unsendable(status: u16) -> Failure {
    Failure::App { message: format!("the app answered with status {status}") }
}

// === impl RequestContext ===

impl RequestContext {
    /// The response that is sent instead of an app's answer.
    pub fn reject_response(&self, reject: Reject) -> Response {
        reject_response(reject, self.error_format())
    }

    fn error_format(&self) -> ErrorFormat<'_> {
        ErrorFormat { id: &self.id, prefers_html: self.prefers_html }
    }

    /// Writes the request's line in the access log, and its trace, when all of the response was queued or none will be.
    pub fn log(&self, status: Option<u16>, bytes: u64, outcome: RequestOutcome) {
        let Some(record) = &self.record else { return };
        let line = record.entry.line(&self.id, status, bytes, outcome);
        if let Some(sink) = &record.log {
            sink(&line);
        }
        if let Some((sink, trace)) = &record.trace {
            sink(&line, trace);
        }
    }
}
