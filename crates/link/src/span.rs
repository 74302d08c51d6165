//! A request, as a trace has it. Cells make them of requests that are traced, control sends them on.

use std::net::IpAddr;
use std::time::Duration;

use hearth_core::{AppName, VersionName};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// In hexadecimal, as `traceparent` has them.
    pub trace_id: String,
    pub span_id: String,
    /// What the client's `traceparent` said.
    pub parent_id: Option<String>,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub duration: Duration,
    /// What the address meant, where it meant something.
    pub app: Option<(AppName, VersionName)>,
    pub method: String,
    /// Without its query, which may hold what is nobody's business.
    pub url: String,
    /// `1.1`, `2`.
    pub protocol: String,
    pub status: Option<u16>,
    /// Why there was no whole answer; the code of the error where we gave one.
    pub fault: Option<String>,
    /// Of the response's body.
    pub bytes: u64,
    pub request_id: String,
    pub client: IpAddr,
    pub user_agent: Option<String>,
}
