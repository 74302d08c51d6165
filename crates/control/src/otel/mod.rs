//! Numbers and traces to a collector of OpenTelemetry's: OTLP over HTTP, as JSON. Without the crates of that name: what is
//! sent are three small documents, and what they would bring along is larger than control.
//!
//! | file | |
//! |---|---|
//! | `spans.rs` | requests that were traced and wait to be sent |
//! | `document.rs` | numbers and spans as OTLP's JSON |
//! | `exporter.rs` | sends them, and what becomes of them when nobody takes them |
//!
//! Requests never wait for any of this: what does not fit into the queue is dropped and counted.

mod document;
mod exporter;
mod spans;

pub(crate) use exporter::export;
pub(crate) use spans::Spans;
