//! The limits of an app, with their defaults. A zero turns a limit off.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::ByteSize;

/// The limits of one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time of a request until its response's head, then of each message or chunk.
    pub cpu: Duration,
    /// Time until the response's head.
    pub wall: Duration,
    /// Longest silence of a response body or a request body.
    pub stream_silence: Duration,
    /// CPU time of module evaluation.
    pub module_cpu: Duration,
    /// Time of module evaluation.
    pub module_wall: Duration,
    /// Memory of an isolate, array buffers counted.
    pub heap: ByteSize,
    pub footprint: Footprint,
    /// CPU time of what `waitUntil` keeps running after the response.
    pub wait_until_cpu: Duration,
    /// Time of what `waitUntil` keeps running after the response.
    pub wait_until_wall: Duration,
    /// Requests at once in one worker.
    pub concurrency: u32,
    /// Outgoing requests that one request may make.
    pub subrequests: u32,
    /// Outgoing requests that one request may have open at once; more of them wait.
    pub subrequests_at_once: u32,
}

/// What happens to memory that an isolate has and does not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Footprint {
    /// The engine decides what it keeps.
    #[default]
    Usual,
    /// It is returned to the system, at the cost of CPU time.
    Small,
}

/// Which limit was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitKind {
    Cpu,
    Wall,
    StreamSilence,
    ModuleCpu,
    ModuleWall,
    Heap,
    WaitUntilCpu,
    WaitUntilWall,
    /// Of the whole process: many apps together.
    Budget,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(30),
            stream_silence: Duration::from_secs(300),
            module_cpu: Duration::from_secs(2),
            module_wall: Duration::from_secs(30),
            heap: ByteSize::mb(128),
            footprint: Footprint::Usual,
            wait_until_cpu: Duration::from_secs(1),
            wait_until_wall: Duration::from_secs(30),
            concurrency: 32,
            subrequests: 1000,
            subrequests_at_once: 6,
        }
    }
}

// === impl LimitKind ===

impl LimitKind {
    /// The error's `code`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Cpu => "limit_cpu",
            Self::Wall => "limit_wall",
            Self::StreamSilence => "limit_stream_silence",
            Self::ModuleCpu => "limit_module_cpu",
            Self::ModuleWall => "limit_module_wall",
            Self::Heap => "limit_heap",
            Self::WaitUntilCpu => "limit_wait_until_cpu",
            Self::WaitUntilWall => "limit_wait_until_wall",
            Self::Budget => "limit_budget",
        }
    }

    /// The manifest key, and where there is one the flag of `hearth run`, that raises it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Cpu | Self::ModuleCpu | Self::WaitUntilCpu => "`cpu` (--cpu)",
            Self::Wall | Self::ModuleWall | Self::WaitUntilWall => "`timeout` (--wall)",
            Self::StreamSilence => "`streamTimeout` (--stream-timeout)",
            Self::Heap => "`memory` (--memory)",
            Self::Budget => "`memory_budget` (--memory-budget)",
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "CPU time",
            Self::Wall => "time until the response",
            Self::StreamSilence => "silence of a stream",
            Self::ModuleCpu => "CPU time of module evaluation",
            Self::ModuleWall => "time of module evaluation",
            Self::Heap => "memory",
            Self::WaitUntilCpu => "CPU time of waitUntil",
            Self::WaitUntilWall => "time of waitUntil",
            Self::Budget => "memory of all apps together",
        })
    }
}
