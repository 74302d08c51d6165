//! What people see: colours, tables, lines of source, and text from elsewhere that must not steer the terminal.
//!
//! | file | |
//! |---|---|
//! | `chain.rs` | an error with its causes |
//! | `style.rs` | colours, where they are wanted |
//! | `table.rs` | columns that align |
//! | `text.rs` | text from elsewhere; sizes and times for people |
//! | `frame.rs` | a line of source with a mark below what is meant |
//! | `prompt.rs` | questions, and answers that nobody may see |

mod chain;
mod frame;
mod prompt;
mod style;
mod table;
mod text;

pub use chain::chain;
pub use frame::frame;
pub use prompt::{PromptError, confirm, hidden};
pub use style::{Stream, Style, Tint};
pub use table::{Align, Table};
pub use text::{count, escape, escape_lines, size, time};
