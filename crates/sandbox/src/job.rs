//! Jobs: commands that run without a waiting caller.

use bytes::Bytes;

use crate::exec::ExecEnd;
use crate::id::JobId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    pub id: JobId,
    /// The command, shortened.
    pub title: String,
    pub state: JobState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    Running,
    Ended(ExecEnd),
    /// It could not be started, or its sandbox ended first.
    Failed {
        reason: String,
    },
}

/// How much of a job's output the caller has read already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub stdout: u64,
    pub stderr: u64,
}

/// Output of a job since a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutput {
    pub state: JobState,
    pub stdout: Bytes,
    pub stderr: Bytes,
    /// The position for the next call.
    pub seen: Seen,
    /// Bytes that were written since and are no longer kept: of each stream only the last
    /// [`OUTPUT_LIMIT`](crate::OUTPUT_LIMIT) are.
    pub missed: u64,
}
