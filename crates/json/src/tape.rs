//! The format of a tape: one entry for each value, in the order of the text, that of an object or
//! array before those of its members. An entry is a kind in its lowest three bits and a signed
//! number above them. `js/fetch/json.js` reads it, and has the same constants.

/// An integer, itself.
pub const INTEGER: u32 = 0;
/// A cached string: its slot.
pub const KEPT: u32 = 1;
/// A string that is not cached: its index among the fresh strings of this text.
pub const FRESH: u32 = 2;
/// Any other number: its index among the numbers of this text.
pub const NUMBER: u32 = 3;
/// An object: its factory. The values follow, in the order of the shape's keys.
pub const OBJECT: u32 = 4;
/// An array: how many elements follow.
pub const ARRAY: u32 = 5;
/// `FALSE`, `TRUE` or `NULL`.
pub const CONSTANT: u32 = 6;

pub const FALSE: i32 = 0;
pub const TRUE: i32 = 1;
pub const NULL: i32 = 2;

/// Integers from `-MAX_INTEGER - 1` to `MAX_INTEGER` fit an entry.
pub const MAX_INTEGER: i32 = (1 << 28) - 1;

/// The entries of a tape. A text with more is unsupported.
pub const MAX_ENTRIES: usize = 4096;
pub const NUMBERS: usize = 1024;

/// The longest text that is read: most longer ones would not fit, and their garbage would be large.
pub const MAX_TEXT_BYTES: usize = 64 << 10;

/// The deepest nesting.
pub const MAX_DEPTH: usize = 48;

#[inline(always)]
pub(crate) fn entry(kind: u32, value: i32) -> u32 {
    kind | (value as u32) << 3
}

/// The kind and the value of an entry.
pub fn parts(entry: u32) -> (u32, i32) {
    (entry & 7, entry as i32 >> 3)
}
