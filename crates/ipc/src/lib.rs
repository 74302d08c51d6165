//! The protocol between control and cells: typed messages over a Unix socket, preceded by the listeners that control opened.
//!
//! | file | |
//! |---|---|
//! | `messages.rs` | all messages, in both directions |
//! | `eval.rs` | code that is run once, and its outcome |
//! | `plan.rs` | the configuration that a cell is started with |
//! | `version.rs` | a version of an app, resolved for a cell |
//! | `stats.rs`, `histogram.rs` | the counters of a cell |
//! | `span.rs` | a traced request |
//! | `frame.rs` | framing of messages |
//! | `fd_passing.rs` | file descriptors from one process to another |
#![forbid(unsafe_code)]

mod eval;
pub mod fd_passing;
pub mod frame;
mod histogram;
mod messages;
mod plan;
mod span;
mod stats;
mod version;

pub use eval::{EVALUATED, EvalOutcome, EvalRequest};
pub use fd_passing::PassError;
pub use frame::FrameError;
pub use histogram::{BOUNDS, Histogram, HistogramCounts};
pub use messages::{
    Admission, CellEvent, CellMessage, ControlMessage, EventOutcome, LoadError, Query, QueryId, QueryReply,
};
pub use plan::{AccessFormat, CellPlan, CellRole, CertificatePlan, FrontPlan, JailPlan, ListenerPlan};
pub use span::Span;
pub use stats::{AppStats, CellPoolStats, CellStats, MemoryHolder};
pub use version::{Active, Kind, Placement, VersionSpec};
