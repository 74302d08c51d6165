//! Terminal output: colours, tables, source lines, and escaping of untrusted text.
//!
//! | file | |
//! |---|---|
//! | `chain.rs` | an error with its causes |
//! | `style.rs` | colours, where they are enabled |
//! | `table.rs` | columns that align |
//! | `text.rs` | escaping of untrusted text; sizes and times |
//! | `frame.rs` | a line of source with a mark below what is meant |
//! | `prompt.rs` | questions, and input that is not echoed |

mod chain;
mod frame;
mod prompt;
mod style;
mod table;
mod text;

pub use chain::chain;
pub use frame::frame;
pub use prompt::{PromptError, confirm, hidden};
pub use style::{ConsoleStream, Style, Tint};
pub use table::{Align, Table};
pub use text::{count, escape, escape_lines, size, time};
