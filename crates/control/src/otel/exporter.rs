//! Exports metrics at an interval, and spans when a batch is full or a few seconds after they were made. Spans that cannot be
//! delivered are dropped and counted. A failure is logged once until exports work again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hearth_config::Otel;
use hearth_core::{Body, Headers, Method};
use hearth_egress::{Client, Config, EgressPolicy, FetchError, FetchRequest, RedirectMode, RootError};
use serde_json::Value as Json;
use tokio::time::{Instant, sleep_until, timeout};

use super::document::{Period, metrics, traces};
use crate::control::Control;

/// Time for a collector to answer.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time that a span waits for its batch.
const SPAN_DELAY: Duration = Duration::from_secs(2);
const TARGET: &str = "hearth::otel";

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Send(#[from] FetchError),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it did not answer within {EXPORT_TIMEOUT:?}")]
    TimedOut,
}

/// Whether the last export worked, so that only changes are logged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExportState {
    Working,
    Failing,
}

struct Exporter {
    control: Control,
    client: Client,
    /// Nanoseconds since 1970.
    start: u64,
    state: ExportState,
}

/// Runs until it is aborted. Spans that were not sent by then are lost.
pub(crate) async fn export(control: Control) {
    match client() {
        Ok(client) => Exporter { control, client, start: now(), state: ExportState::Working }.run().await,
        Err(error) => tracing::error!(target: TARGET, %error, "export disabled"),
    }
}

/// A client without egress restrictions, since the operator has configured the endpoint.
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
                () = sleep_until(spans_last + SPAN_DELAY) => {
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
        self.log_change(otel, sent);
    }

    /// Sends all waiting spans in batches, until one fails.
    async fn send_spans(&mut self, otel: &Otel) {
        loop {
            let batch = self.control.spans().take();
            if batch.is_empty() {
                return;
            }
            let sent = self.send(otel, "traces", &traces(&otel.service, &batch)).await;
            if sent.is_err() {
                self.control.spans().count_dropped(batch.len());
            }
            let is_broken = sent.is_err();
            self.log_change(otel, sent);
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
        let outgoing = FetchRequest {
            method: Method::Post,
            url: otel.endpoint.of(signal),
            headers,
            body: Body::from(Bytes::from(document.to_string())),
            redirect: RedirectMode::Error,
        };
        let answer = async {
            let incoming = self.client.send(outgoing).await?;
            let status = incoming.response.status;
            // Read to the end, so that the connection can be reused.
            let _ = incoming.response.body.collect().await;
            if (200..300).contains(&status) { Ok(()) } else { Err(ExportError::Status(status)) }
        };
        timeout(EXPORT_TIMEOUT, answer).await.unwrap_or(Err(ExportError::TimedOut))
    }

    fn log_change(&mut self, otel: &Otel, sent: Result<(), ExportError>) {
        match (sent, self.state) {
            (Err(error), ExportState::Working) => {
                let endpoint = &otel.endpoint;
                tracing::warn!(target: TARGET, %endpoint, "export failed: {error}");
                self.state = ExportState::Failing;
            }
            (Ok(()), ExportState::Failing) => {
                tracing::info!(target: TARGET, endpoint = %otel.endpoint, "export works again");
                self.state = ExportState::Working;
            }
            _ => {}
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
