//! Metrics: as data, as Prometheus text and as JSON.

mod family;
mod json;
pub(crate) mod prometheus;
mod request_rate;

pub(crate) use family::{ControlMetrics, Family, Kind, Point, Value, families, one};
pub(crate) use json::Overview;
pub(crate) use request_rate::RequestRate;
