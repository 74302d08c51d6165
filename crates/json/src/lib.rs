//! JSON bodies, read beside V8. A worker that reads many gets objects of the same few shapes, with the same short strings
//! in them again and again; V8's `JSON.parse` finds each anew. A [`Reader`] remembers both: it turns a text into a tape of
//! numbers ([`tape`]), in which an object is the number of its shape and a string that came before is the number of its place,
//! and JavaScript makes the value by walking the tape.
//!
//! What comes out is exactly what `JSON.parse` makes of the text, or nothing: whatever is unusual (and every text that is no
//! JSON) is left to `JSON.parse`, which is slower, never wrong, and knows how to say what is wrong with it.
#![forbid(unsafe_code)]

mod escape;
mod number;
mod reader;
mod scan;
mod shapes;
pub mod tape;
mod texts;

pub use reader::{Fresh, Kept, Reader, Unusual};
pub use shapes::MAX_MAKERS;
pub use texts::PLACES;
