//! Sends one app's requests: a policy, and the connections that were made under it.

use std::sync::Arc;

use hearth_core::{Body, Headers, Method, Response};
use http::response::Parts;
use hyper::StatusCode;
use hyper::ext::ReasonPhrase;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Shared;
use crate::connect::Connector;
use crate::decode::{codings, decode};
use crate::error::FetchError;
use crate::headers::{Encoding, incoming};
use crate::pool::{Limits, Pool};
use crate::redirect::{self, MAX_REDIRECTS, RedirectError, RedirectMode};
use crate::send::{Answer, RedirectHop, send};
use crate::upgrade;
use hearth_egress_policy::EgressPolicy;

/// Sends one app's requests. Cheap to clone; clones share connections and limits.
#[derive(Clone)]
pub struct Client {
    connector: Arc<Connector>,
    pool: Arc<Pool>,
    /// Permits for requests in flight.
    permits: Arc<Semaphore>,
}

/// A request as the app made it.
pub struct FetchRequest {
    pub method: Method,
    /// As the URL parser serialised it.
    pub url: String,
    pub headers: Headers,
    pub body: Body,
    pub redirect: RedirectMode,
}

/// A response as the app sees it: the body decoded, headers that describe the connection or undone codings taken out.
#[derive(Debug)]
pub struct FetchResponse {
    pub response: Response,
    /// Of the last request, after all redirects; with its fragment.
    pub url: String,
    pub redirected: bool,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(shared: Arc<Shared>, policy: EgressPolicy) -> Self {
        let config = &shared.config;
        let pool = Pool::new(Limits {
            timeout: config.idle_timeout,
            per_origin: config.max_idle_per_origin,
            in_all: config.max_idle,
        });
        let permits = Arc::new(Semaphore::new(config.max_requests.max(1)));
        Self { connector: Arc::new(Connector::new(shared, policy)), pool, permits }
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    pub fn policy(&self) -> &EgressPolicy {
        &self.connector.policy
    }

    /// Sends a request, follows its redirects, and gives the response when its head is there. Runs on a tokio runtime with
    /// I/O and time. Dropping the future or the response's body ends the request and closes its connection.
    pub async fn send(&self, outgoing: FetchRequest) -> Result<FetchResponse, FetchError> {
        let mode = outgoing.redirect;
        let mut hop = RedirectHop::new(outgoing)?;
        let permit = self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        for redirects in 0.. {
            let answer = send(&self.connector, &self.pool, &mut hop).await?;
            let status = answer.head.status.as_u16();
            let location = match mode {
                RedirectMode::Manual | RedirectMode::Exact => None,
                _ => redirect::location(status, &answer.head.headers),
            };
            let Some(location) = location else {
                let response = match answer.head.status {
                    StatusCode::SWITCHING_PROTOCOLS => {
                        upgrade::join(hop.offer.as_ref(), &hop.target.origin.host, answer, permit).await?
                    }
                    _ => deliver(answer, permit, mode),
                };
                return Ok(FetchResponse { response, url: hop.url, redirected: redirects > 0 });
            };
            if mode == RedirectMode::Error {
                return Err(RedirectError::Refused { url: hop.url }.into());
            }
            if redirects == MAX_REDIRECTS {
                return Err(RedirectError::TooMany { limit: MAX_REDIRECTS, url: hop.url }.into());
            }
            redirect::follow(&mut hop, status, &location, &*self.connector.shared.config.urls)?;
            answer.body.drain().await;
        }
        unreachable!("the loop ends at the limit of redirects")
    }
}

/// Makes the last answer the app's response.
fn deliver(answer: Answer, permit: OwnedSemaphorePermit, mode: RedirectMode) -> Response {
    let Answer { head, body } = answer;
    let body = body.into_body(permit);
    let encoded = head.headers.get_all(hyper::header::CONTENT_ENCODING).iter().map(|value| value.as_bytes());
    let (body, encoding) = match codings(encoded) {
        Some(codings) if mode != RedirectMode::Exact && !codings.is_empty() && !body.is_empty() => {
            (decode(body, &codings), Encoding::Undone)
        }
        _ => (body, Encoding::Kept),
    };
    let headers = incoming(&head.headers, encoding);
    Response { status: head.status.as_u16(), reason: reason(&head), headers, body, websocket: None }
}

/// The reason phrase. hyper keeps it only where it is not the usual one.
fn reason(head: &Parts) -> Option<Box<str>> {
    match head.extensions.get::<ReasonPhrase>() {
        Some(phrase) => Some(phrase.as_bytes().iter().map(|b| char::from(*b)).collect::<String>().into()),
        None => head.status.canonical_reason().map(Into::into),
    }
}
