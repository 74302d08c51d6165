//! The list of workers for the operator (`GET /admin/workers`). Most numbers are counted by the worker itself; the list costs
//! requests nothing.

use std::time::Duration;

use hearth_core::{AppName, VersionName};
use hearth_pool::{ItemInfo, ItemState};
use hearth_runtime::{Health, Worker};
use serde::{Deserialize, Serialize};

use crate::worker_manager::WorkerManager;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerReport {
    /// Unique in its cell; `Hearth.app.worker` to the app.
    pub id: String,
    pub app: AppName,
    pub version: VersionName,
    pub status: WorkerStatus,
    pub state: WorkerState,
    pub age_ms: u64,
    /// Since its last request ended; 0 while it has one.
    pub idle_ms: u64,
    pub request_count: u64,
    /// Requests that failed, or were answered with a status of 500 or more.
    pub error_count: u64,
    /// Until the response's head; 0 before the first response.
    pub avg_response_time_ms: f64,
    pub total_response_time_ms: f64,
    /// Of its isolate, which workers that serve one event may share.
    pub memory_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerStatus {
    Active,
    /// No request came for its idle timeout: the next check destroys it.
    Idle,
    /// It serves one event.
    Ephemeral,
    /// It gets no new requests, and is destroyed when it has finished its own.
    Offline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerState {
    Ready,
    /// An error outside of a handler, or an exceeded limit, was seen.
    Retiring,
    /// Killed.
    Gone,
}

impl WorkerReport {
    pub(crate) fn pooled(info: &ItemInfo<WorkerManager>) -> Self {
        let worker: &Worker = &info.item;
        let state = WorkerState::from(worker.health());
        let status = match (state, info.state) {
            (WorkerState::Gone | WorkerState::Retiring, _) | (_, ItemState::Draining) => WorkerStatus::Offline,
            (WorkerState::Ready, ItemState::Idle) => WorkerStatus::Idle,
            (WorkerState::Ready, ItemState::Active) => WorkerStatus::Active,
        };
        Self::new(worker, status, info.age, info.unused_for)
    }

    pub(crate) fn ephemeral(worker: &Worker) -> Self {
        Self::new(worker, WorkerStatus::Ephemeral, worker.age(), Duration::ZERO)
    }

    fn new(worker: &Worker, status: WorkerStatus, age: Duration, unused: Duration) -> Self {
        let app = worker.app();
        let counts = worker.counts();
        let total = counts.response_time.as_secs_f64() * 1e3;
        Self {
            id: worker.id().to_string(),
            app: app.name.clone(),
            version: app.version.clone(),
            status,
            state: worker.health().into(),
            age_ms: whole_millis(age),
            idle_ms: whole_millis(unused),
            request_count: counts.requests,
            error_count: counts.errors,
            avg_response_time_ms: if counts.answered == 0 { 0.0 } else { total / counts.answered as f64 },
            total_response_time_ms: total,
            memory_bytes: worker.memory().bytes(),
        }
    }
}

impl From<Health> for WorkerState {
    fn from(health: Health) -> Self {
        match health {
            Health::Ready | Health::Worn => Self::Ready,
            Health::Retiring => Self::Retiring,
            Health::Gone => Self::Gone,
        }
    }
}

fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_admin_api() {
        let report = WorkerReport {
            id: "7".into(),
            app: AppName::new("hello"),
            version: VersionName::new("1.2.3"),
            status: WorkerStatus::Active,
            state: WorkerState::Ready,
            age_ms: 10,
            idle_ms: 5,
            request_count: 4,
            error_count: 1,
            avg_response_time_ms: 0.5,
            total_response_time_ms: 2.0,
            memory_bytes: 1024,
        };
        let text = serde_json::to_string(&report).unwrap();
        let expected = r#"{"id":"7","app":"hello","version":"1.2.3","status":"active","state":"ready","ageMs":10,"idleMs":5,"requestCount":4,"errorCount":1,"avgResponseTimeMs":0.5,"totalResponseTimeMs":2.0,"memoryBytes":1024}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<WorkerReport>(&text).unwrap(), report);
    }
}
