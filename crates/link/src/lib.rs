//! What control and cell say to each other, and how: typed messages over a socket, after the listeners that control opened.
//!
//! | file | |
//! |---|---|
//! | `messages.rs` | all that is ever said, in either direction |
//! | `eval.rs` | code that is run once, and what came of it |
//! | `plan.rs` | what a cell is started with |
//! | `version.rs` | a version of an app, as a cell serves it |
//! | `stats.rs`, `histogram.rs` | what a cell counts |
//! | `span.rs` | a request, as a trace has it |
//! | `frame.rs` | messages as bytes |
//! | `passing.rs` | listeners and pages from one process to another |
#![forbid(unsafe_code)]

mod eval;
pub mod frame;
mod histogram;
mod messages;
pub mod passing;
mod plan;
mod span;
mod stats;
mod version;

pub use eval::{EVALUATED, EvalOutcome, EvalRequest};
pub use frame::FrameError;
pub use histogram::{BOUNDS, Counted, Histogram};
pub use messages::{Admission, Ask, CallId, CellEvent, EventOutcome, FromCell, Reply, ToCell, Unserved};
pub use passing::PassError;
pub use plan::{AccessFormat, CellPlan, CertificatePlan, FrontPlan, JailPlan, ListenerPlan, Role};
pub use span::Span;
pub use stats::{AppStats, CellStats, Holder, PoolStats};
pub use version::{Active, Kind, Place, VersionSpec};
