//! Parses JSON bodies beside V8. A worker that reads many gets objects of the same few shapes, with
//! the same short strings again and again; V8's `JSON.parse` finds each anew. A [`TapeReader`]
//! remembers both: it turns a text into a tape of numbers ([`tape`]), in which an object is the
//! number of its shape and a string that came before is the number of its slot, and JavaScript
//! makes the value by walking the tape.
//!
//! The value is exactly what `JSON.parse` makes of the text, or the text is unsupported: rare
//! forms, and every text that is not JSON, are left to `JSON.parse`, which is slower and reports
//! the errors.
#![forbid(unsafe_code)]

mod escape;
mod number;
mod reader;
mod scan;
mod shapes;
mod string_cache;
pub mod tape;

pub use reader::{Fresh, Kept, TapeReader, Unsupported};
pub use shapes::MAX_FACTORIES;
pub use string_cache::STRING_SLOTS;
