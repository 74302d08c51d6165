//! What is counted, as Prometheus, OpenTelemetry and people want it.

mod family;
mod json;
mod pace;
pub(crate) mod prometheus;

pub(crate) use family::{Family, Kind, Own, Point, Value, families, one};
pub(crate) use json::Overview;
pub(crate) use pace::Pace;
