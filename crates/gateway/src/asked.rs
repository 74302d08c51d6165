//! What every request goes through, whatever the protocol: from its head to the app, and from the app's answer to one
//! that can be sent. The protocols only move bytes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hearth_core::{Dispatch, Failure, Method, RequestId, Response};

use crate::access::{AccessLog, Entry, Outcome, Sink};
use crate::clock::Clock;
use crate::compress::{Purpose, compress};
use crate::config::{Compression, Config};
use crate::drain::Drain;
use crate::encoding::Accepts;
use crate::head::{Head, Version};
use crate::identity;
use crate::peer::{Peer, client_group};
use crate::rates::{Rates, Verdict};
use crate::reject::Reject;
use crate::request_id::{IdText, Ids};
use crate::rescue::{Asker, FailureLog, refuse, rescue};
use crate::stats::Stats;

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
    pub rates: Rates<IpAddr>,
}

/// What must be known of a request when its answer is written.
pub struct Asked {
    pub id: IdText,
    pub version: Version,
    pub is_head: bool,
    pub keep_alive: bool,
    accepts: Accepts,
    prefers_html: bool,
    /// For the access log, where there is one.
    entry: Option<Box<(Sink, Entry)>>,
}

// === impl Shared ===

impl<D: Dispatch> Shared<D> {
    /// A request begins: who sent it is settled, it gets its id, and its headers are those that the app will see.
    pub fn ask(&self, head: &mut Head, peer: &Peer, id: RequestId) -> (Asked, IpAddr) {
        let client = identity::settle(head, peer, &self.config.trusted_proxies);
        let text = head.id.unwrap_or_else(|| self.ids.text(id));
        head.headers.push(b"x-request-id", text.as_bytes());
        let entry = match &self.config.access_log {
            AccessLog::Off => None,
            AccessLog::On(sink) => Some(Box::new((sink.clone(), Entry::new(head, client)))),
        };
        let asked = Asked {
            id: text,
            version: head.version,
            is_head: head.method == Method::Head,
            keep_alive: head.keep_alive,
            accepts: head.accepts,
            prefers_html: head.prefers_html,
            entry,
        };
        (asked, client)
    }

    /// What could not be read is answered, too.
    pub fn ask_unread(&self, peer: &Peer, version: Version) -> Asked {
        let entry = match &self.config.access_log {
            AccessLog::Off => None,
            AccessLog::On(sink) => Some(Box::new((sink.clone(), Entry::unread(peer.address, version)))),
        };
        Asked {
            id: self.ids.text(RequestId::next()),
            version,
            is_head: false,
            keep_alive: false,
            accepts: Accepts::NOTHING,
            prefers_html: false,
            entry,
        }
    }

    /// Whether the client may send one more request now.
    pub fn admit(&self, client: IpAddr) -> Result<(), Failure> {
        let Some(rate) = self.config.rate_limit else { return Ok(()) };
        match self.rates.admit(client_group(client), rate, Instant::now()) {
            Verdict::Admitted => Ok(()),
            Verdict::Limited { retry_after } => Err(Failure::RateLimited { retry_after }),
        }
    }

    /// The longest body of a request for this url.
    pub fn body_limit(&self, url: &str) -> u64 {
        let most = self.config.max_body;
        self.dispatch.body_limit(url).map_or(most, |limit| limit.min(most)).bytes()
    }

    /// What is sent for what the app answered.
    pub fn answer(&self, asked: &Asked, answer: Result<Response, Failure>) -> Response {
        let mut response = match answer.and_then(sendable) {
            // Who asked for it has it by now.
            Ok(Response { websocket: Some(_), .. }) => return asked.refusal(Reject::UpgradeRequired),
            Ok(response) => response,
            Err(failure) => rescue(&failure, asked.asker(), self.config.errors, &self.failures),
        };
        if self.config.compression == Compression::On && asked.version != Version::Http10 {
            let purpose = if asked.is_head { Purpose::Head } else { Purpose::Body };
            compress(&mut response, asked.accepts, purpose);
        }
        response
    }
}

/// Statuses that are no final answer cannot be sent as one.
fn sendable(response: Response) -> Result<Response, Failure> {
    match response.status {
        200..=999 => Ok(response),
        101 if response.websocket.is_some() => Ok(response),
        status => Err(Failure::App { message: format!("the app answered with status {status}") }),
    }
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

    /// One line in the access log, when all of the answer is on its way or none will be.
    pub fn log(&self, status: Option<u16>, bytes: u64, outcome: Outcome) {
        if let Some(entry) = &self.entry {
            entry.1.write(&entry.0, &self.id, status, bytes, outcome);
        }
    }
}
