//! The log: lines are data from the moment they are written, so that they can be sent to another process, kept, followed
//! by app, and written as text or JSON in one place.
//!
//! ```text
//! tracing::info!(…) ─ layer.rs ─> LogLine ─> sink: standard error (text.rs | JSON), the ring, or the link to control
//! ```
//! Whatever an app prints stays within its line: control characters are escaped where lines become text.
#![forbid(unsafe_code)]

mod layer;
mod line;
mod pen;
mod ring;
mod text;
mod time;

pub use layer::{Sink, install};
pub use line::{Level, LogLine};
pub use pen::Pen;
pub use ring::Ring;
pub use text::{Colours, Format};
pub use time::{now, timestamp};
