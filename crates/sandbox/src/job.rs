//! Jobs: commands that go on while nobody waits.

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
    /// It could not be started, or its sandbox went before it.
    Failed {
        reason: String,
    },
}

/// How much of a job's output somebody has seen already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub stdout: u64,
    pub stderr: u64,
}

/// What a job wrote since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutput {
    pub state: JobState,
    pub stdout: Bytes,
    pub stderr: Bytes,
    /// To ask with next time.
    pub seen: Seen,
    /// Bytes that were written since and are no longer kept: of each stream the last [`OUTPUT_LIMIT`](crate::OUTPUT_LIMIT).
    pub missed: u64,
}
