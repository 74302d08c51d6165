//! The log: records are data from the moment they are written, so that they can be sent to another process, kept, filtered
//! by app, and formatted as text or JSON in one place.
//!
//! ```text
//! tracing::info!(…) ─ layer.rs ─> LogRecord ─> sink: standard error (format.rs), the ring, or the channel to control
//! ```
//! The output of an app stays within its record: control characters are escaped where records become text.
#![forbid(unsafe_code)]

mod format;
mod layer;
mod record;
mod ring;
mod writer;

pub use format::{Colours, Format};
pub use layer::{Sink, install};
pub use record::{Level, LogRecord};
pub use ring::Ring;
pub use writer::LogWriter;
