//! What is counted, as Prometheus and as people want it.

mod json;
mod pace;
pub(crate) mod prometheus;

pub(crate) use json::Overview;
pub(crate) use pace::Pace;
