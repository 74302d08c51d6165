//! What a tape is made of: one entry for each value, in the order of the text, an object's and an array's before those of its
//! members. An entry is a kind in its lowest three bits, and above them a signed number that says more. `js/fetch/json.js` reads
//! it, and has the same numbers.

/// An integer, itself.
pub const INTEGER: u32 = 0;
/// A string that is kept: its place.
pub const KEPT: u32 = 1;
/// A string that is not: its place among the fresh ones of this text.
pub const FRESH: u32 = 2;
/// Any other number: its place among the numbers of this text.
pub const NUMBER: u32 = 3;
/// Its maker. The values follow, in the order of the shape's keys.
pub const OBJECT: u32 = 4;
/// How many elements follow.
pub const ARRAY: u32 = 5;
/// `FALSE`, `TRUE` or `NULL`.
pub const CONSTANT: u32 = 6;

pub const FALSE: i32 = 0;
pub const TRUE: i32 = 1;
pub const NULL: i32 = 2;

/// Integers from `-LARGEST - 1` to `LARGEST` fit an entry.
pub const LARGEST: i32 = (1 << 28) - 1;

/// How much a tape holds. A text with more is unusual.
pub const ENTRIES: usize = 4096;
pub const NUMBERS: usize = 1024;

/// Longer texts are not read: most would not fit, and what they leave behind would be large.
pub const LONGEST: usize = 64 << 10;

/// How deep values may lie in each other.
pub const DEPTH: usize = 48;

#[inline(always)]
pub(crate) fn entry(kind: u32, value: i32) -> u32 {
    kind | (value as u32) << 3
}

/// The kind and the value of an entry.
pub fn parts(entry: u32) -> (u32, i32) {
    (entry & 7, entry as i32 >> 3)
}
