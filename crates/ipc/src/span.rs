//! A traced request. Cells create spans, control exports them.

use std::net::IpAddr;
use std::time::Duration;

use hearth_core::{AppName, VersionName};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// In hexadecimal, as `traceparent` has them.
    pub trace_id: String,
    pub span_id: String,
    /// From the client's `traceparent`.
    pub parent_id: Option<String>,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub duration: Duration,
    /// The version that the address was routed to, if any.
    pub app: Option<(AppName, VersionName)>,
    pub method: String,
    /// Without the query, which may hold secrets.
    pub url: String,
    /// `1.1`, `2`.
    pub protocol: String,
    pub status: Option<u16>,
    /// Why the response is not whole; the error code if the server answered instead of the app.
    pub fault: Option<String>,
    /// Length of the response body.
    pub bytes: u64,
    pub request_id: String,
    pub client: IpAddr,
    pub user_agent: Option<String>,
}
