//! Export of metrics and traces to an OpenTelemetry collector: OTLP over HTTP, as JSON. The OpenTelemetry crates are not
//! used: the documents are small, and the dependencies would be larger than control itself.
//!
//! | file | |
//! |---|---|
//! | `spans.rs` | the queue of traced requests |
//! | `document.rs` | metrics and spans as OTLP JSON |
//! | `exporter.rs` | the export loop |
//!
//! Requests never wait for an export: spans that do not fit into the queue are dropped and counted.

mod document;
mod exporter;
mod spans;

pub(crate) use exporter::export;
pub(crate) use spans::Spans;
