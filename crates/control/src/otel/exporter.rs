//! Sends what there is, as long as the server runs: numbers at every interval, spans as soon as a batch is full, and at the
//! latest a few seconds after they were made. What cannot be delivered is dropped, which is counted, and said once until it
//! works again: a collector that is down must cost nothing but what it would have been told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hearth_config::Otel;
use hearth_core::{Body, Headers, Method};
use hearth_egress::{Client, Config, EgressPolicy, FetchError, Outgoing, RedirectMode, RootError};
use serde_json::Value as Json;
use tokio::time::{Instant, sleep_until, timeout};

use super::document::{Period, metrics, traces};
use crate::control::Control;

/// Longest time for a collector to take what it is sent.
const PATIENCE: Duration = Duration::from_secs(10);
/// A span waits no longer for others.
const SPANS: Duration = Duration::from_secs(2);
const TARGET: &str = "hearth::otel";

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Send(#[from] FetchError),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it did not answer within {PATIENCE:?}")]
    TimedOut,
}

/// Whether the last sending worked, so that only what is new is said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Good,
    Broken,
}

struct Exporter {
    control: Control,
    client: Client,
    /// Nanoseconds since 1970.
    start: u64,
    line: Line,
}

/// Until it is aborted; then what is left is lost.
pub(crate) async fn export(control: Control) {
    match client() {
        Ok(client) => Exporter { control, client, start: now(), line: Line::Good }.run().await,
        Err(error) => tracing::error!(target: TARGET, %error, "Nothing is exported"),
    }
}

/// The operator said where to: nothing else is asked.
fn client() -> Result<Client, RootError> {
    let nowhere_else = |_: &str, _: &str| None;
    Ok(Config::new(nowhere_else).build()?.client(EgressPolicy::all()))
}

impl Exporter {
    async fn run(mut self) {
        let mut changes = self.control.watch_configuration();
        let (mut last, mut spans_last) = (Instant::now(), Instant::now());
        loop {
            let configuration = changes.borrow_and_update().clone();
            let Some(otel) = &configuration.operator.otel else {
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let spans = self.control.spans().clone();
            tokio::select! {
                () = sleep_until(last + otel.interval) => {
                    last = Instant::now();
                    self.send_metrics(otel).await;
                }
                () = sleep_until(spans_last + SPANS) => {
                    spans_last = Instant::now();
                    self.send_spans(otel).await;
                }
                () = spans.full() => self.send_spans(otel).await,
                _ = changes.changed() => {}
            }
        }
    }

    async fn send_metrics(&mut self, otel: &Otel) {
        let families = self.control.families().await;
        let document = metrics(&otel.service, &families, Period { start: self.start, now: now() });
        let sent = self.send(otel, "metrics", &document).await;
        self.tell(otel, sent);
    }

    /// All that wait, a batch after the other, until one is not taken.
    async fn send_spans(&mut self, otel: &Otel) {
        loop {
            let batch = self.control.spans().take();
            if batch.is_empty() {
                return;
            }
            let sent = self.send(otel, "traces", &traces(&otel.service, &batch)).await;
            if sent.is_err() {
                self.control.spans().drop_some(batch.len());
            }
            let is_broken = sent.is_err();
            self.tell(otel, sent);
            if is_broken {
                return;
            }
        }
    }

    async fn send(&self, otel: &Otel, signal: &str, document: &Json) -> Result<(), ExportError> {
        let mut headers = Headers::new();
        headers.push(b"content-type", b"application/json");
        for (name, value) in &otel.headers {
            headers.push(name.as_bytes(), value.as_bytes());
        }
        let outgoing = Outgoing {
            method: Method::Post,
            url: otel.endpoint.of(signal),
            headers,
            body: Body::from(Bytes::from(document.to_string())),
            redirect: RedirectMode::Error,
        };
        let answer = async {
            let incoming = self.client.send(outgoing).await?;
            let status = incoming.response.status;
            // To its end, so that the connection can be used again.
            let _ = incoming.response.body.collect().await;
            if (200..300).contains(&status) { Ok(()) } else { Err(ExportError::Status(status)) }
        };
        timeout(PATIENCE, answer).await.unwrap_or(Err(ExportError::TimedOut))
    }

    fn tell(&mut self, otel: &Otel, sent: Result<(), ExportError>) {
        match (sent, self.line) {
            (Err(error), Line::Good) => {
                let endpoint = &otel.endpoint;
                tracing::warn!(target: TARGET, %endpoint, "The collector takes nothing: {error}");
                self.line = Line::Broken;
            }
            (Ok(()), Line::Broken) => {
                tracing::info!(target: TARGET, endpoint = %otel.endpoint, "The collector takes what it is sent again");
                self.line = Line::Good;
            }
            _ => {}
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
