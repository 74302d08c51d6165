//! What every request goes through, whatever the protocol: from its head to the app, and from the app's answer to one
//! that can be sent. The protocols only move bytes.

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
use crate::head::{Head, HttpVersion};
use crate::identity;
use crate::parts::{Wanted, divide};
use crate::peer::{Peer, client_group};
use crate::rate_limit::{KeyedRateLimiter, RateDecision};
use crate::reject::Reject;
use crate::request_id::{IdText, Ids};
use crate::rescue::{Asker, FailureLog, refuse, rescue};
use crate::stats::Stats;
use crate::traces::{Trace, TraceSink};

/// What all connections of a server share.
pub struct Shared<D> {
    pub config: Config,
    pub dispatch: Arc<D>,
    pub failures: FailureLog,
    pub clock: Clock,
    pub ids: Ids,
    pub stats: Stats,
    pub drain: Drain,
    /// By client.
    pub rates: KeyedRateLimiter<IpAddr>,
}

/// What must be known of a request when its answer is written.
pub struct Asked {
    pub id: IdText,
    pub version: HttpVersion,
    pub is_head: bool,
    pub keep_alive: bool,
    accepts: Accepts,
    /// Few ask for a part.
    part: Option<Box<Wanted>>,
    prefers_html: bool,
    /// For who wants to know how it ended, where there is somebody.
    record: Option<Box<Record>>,
}

/// What is known of a request, for the access log and for its trace.
struct Record {
    entry: Entry,
    log: Option<AccessLogSink>,
    trace: Option<(TraceSink, Trace)>,
}

// === impl Shared ===

impl<D: Dispatch> Shared<D> {
    /// A request begins: who sent it is settled, it gets its id, and its headers are those that the app will see.
    pub fn ask(&self, head: &mut Head, peer: &Peer, id: RequestId) -> (Asked, IpAddr) {
        let client = identity::settle(head, peer, &self.config.trusted_proxies);
        let text = head.id.take().map_or_else(|| self.ids.text(id), |id| *id);
        head.headers.push(b"x-request-id", text.as_bytes());
        let trace = self.config.traces.begin(&mut head.headers);
        let record = self.record(trace, || Entry::new(head, client));
        let asked = Asked {
            id: text,
            version: head.version,
            is_head: head.method == Method::Head,
            keep_alive: head.keep_alive,
            accepts: head.accepts,
            part: (head.wants_part && head.method == Method::Get).then(|| Box::new(Wanted::new(&head.headers))),
            prefers_html: head.prefers_html,
            record,
        };
        (asked, client)
    }

    fn record(&self, trace: Option<(TraceSink, Trace)>, entry: impl FnOnce() -> Entry) -> Option<Box<Record>> {
        let log = match &self.config.access_log {
            AccessLogOutput::Off => None,
            AccessLogOutput::On(sink) => Some(sink.clone()),
        };
        (log.is_some() || trace.is_some()).then(|| Box::new(Record { entry: entry(), log, trace }))
    }

    /// What could not be read is answered, too.
    pub fn ask_unread(&self, peer: &Peer, version: HttpVersion) -> Asked {
        let record = self.record(None, || Entry::unread(peer.address, version));
        Asked {
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

    /// What is sent for what the app answered.
    pub fn answer(&self, asked: &Asked, answer: Result<Response, Failure>) -> Response {
        let mut response = match answer {
            // Who asked for it has it by now.
            Ok(Response { websocket: Some(_), status: 101 | 200..=999, .. }) => {
                return asked.refusal(Reject::UpgradeRequired);
            }
            Ok(response @ Response { status: 200..=999, .. }) => response,
            Ok(Response { status, .. }) => self.rescue(asked, &unsendable(status)),
            Err(failure) => self.rescue(asked, &failure),
        };
        divide(&mut response, asked.part.as_deref());
        if self.config.compression == Compression::On && asked.version != HttpVersion::Http10 {
            let purpose = if asked.is_head { Purpose::Head } else { Purpose::Body };
            compress(&mut response, asked.accepts, purpose);
        }
        response
    }

    fn rescue(&self, asked: &Asked, failure: &Failure) -> Response {
        rescue(failure, asked.asker(), self.config.errors, &self.failures)
    }
}

/// Statuses that are no final answer cannot be sent as one.
#[cold]
fn unsendable(status: u16) -> Failure {
    Failure::App { message: format!("the app answered with status {status}") }
}

// === impl Asked ===

impl Asked {
    /// What is sent instead of an app's answer.
    pub fn refusal(&self, reject: Reject) -> Response {
        refuse(reject, self.asker())
    }

    fn asker(&self) -> Asker<'_> {
        Asker { id: &self.id, prefers_html: self.prefers_html }
    }

    /// One line in the access log, and the end of its trace, when all of the answer is on its way or none will be.
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
