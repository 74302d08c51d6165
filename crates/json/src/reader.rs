//! The reader: from a text to a tape. One for each context, since it remembers which factories and
//! strings that context's JavaScript has.
//!
//! A text is read to its end even where an object has no factory yet, so that one text introduces
//! all its shapes. Where texts are unsupported again and again, most are skipped.

mod strings;

use crate::number::{self, Value};
use crate::scan::skip_space;
use crate::shapes::{NodeId, Shapes};
use crate::string_cache::StringCache;
use crate::tape::{self, entry};

/// The text is left to `JSON.parse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

/// A string that is not cached: where it is, and whether it is ASCII. [`TapeReader::text_of`] has its
/// bytes, which are UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    source: Source,
    start: usize,
    end: usize,
    pub is_ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Text,
    /// The string has escapes in the text.
    Unescaped,
}

/// A string, always ASCII, that is to be cached in `place` before the tape is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub place: usize,
    pub start: usize,
    pub end: usize,
}

pub struct TapeReader {
    shapes: Shapes,
    strings: StringCache,
    /// The tape, and how much of it is written.
    entries: Box<[u32]>,
    written: usize,
    numbers: Vec<f64>,
    fresh: Vec<Fresh>,
    /// Strings without their escapes, one after the other.
    unescaped: Vec<u8>,
    kept: Vec<Kept>,
    /// An object of this text has no factory.
    lacks_factory: bool,
    /// How many texts to skip, and how many were skipped last time.
    pass: u32,
    passed: u32,
}

/// The most texts that are skipped before one is tried again.
const MAX_PASS: u32 = 255;

impl Default for TapeReader {
    fn default() -> Self {
        Self {
            shapes: Shapes::new(),
            strings: StringCache::new(),
            entries: vec![0; tape::MAX_ENTRIES].into_boxed_slice(),
            written: 0,
            numbers: Vec::new(),
            fresh: Vec::new(),
            unescaped: Vec::new(),
            kept: Vec::new(),
            lacks_factory: false,
            pass: 0,
            passed: 0,
        }
    }
}

impl TapeReader {
    /// Reads a text. The result is in `entries` and the others until the next read.
    pub fn read(&mut self, text: &[u8]) -> Result<(), Unsupported> {
        if text.len() > tape::MAX_TEXT_BYTES {
            return Err(Unsupported);
        }
        if self.pass > 0 {
            self.pass -= 1;
            return Err(Unsupported);
        }
        self.written = 0;
        self.numbers.clear();
        self.fresh.clear();
        self.unescaped.clear();
        self.kept.clear();
        self.lacks_factory = false;
        self.strings.begin();
        if self.whole(text).is_some() && !self.lacks_factory {
            self.passed = 0;
            return Ok(());
        }
        self.forget_kept();
        self.passed = (self.passed * 2 + 1).min(MAX_PASS);
        self.pass = self.passed;
        Err(Unsupported)
    }

    /// The tape.
    pub fn entries(&self) -> &[u32] {
        &self.entries[..self.written]
    }

    /// The numbers that the entries name by their index.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// The strings that the entries name by their index.
    pub fn fresh(&self) -> &[Fresh] {
        &self.fresh
    }

    /// The bytes of a fresh string; `text` is what was read.
    pub fn text_of<'a>(&'a self, text: &'a [u8], fresh: &Fresh) -> &'a [u8] {
        let source = match fresh.source {
            Source::Text => text,
            Source::Unescaped => &self.unescaped,
        };
        &source[fresh.start..fresh.end]
    }

    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// The strings of `kept` were not cached.
    pub fn forget_kept(&mut self) {
        for kept in self.kept.drain(..) {
            self.strings.forget(kept.place);
        }
    }

    /// Requests factories of shapes that were seen twice: `make(number, keys)` says whether there
    /// is one now. A shape whose factory cannot be made is not requested again.
    pub fn make_factories(&mut self, mut make: impl FnMut(u32, &[&str]) -> bool) {
        let mut number = self.shapes.next_factory();
        while let Some((node, keys)) = self.shapes.wanted() {
            if make(number, &keys) {
                self.shapes.made(node);
                number = self.shapes.next_factory();
            }
        }
    }

    fn whole(&mut self, text: &[u8]) -> Option<()> {
        let (at, first) = skip_space(text, 0);
        let end = self.value(text, at, first, NodeId::ROOT, 0)?;
        (skip_space(text, end).0 == text.len()).then_some(())
    }

    #[inline(always)]
    fn push(&mut self, entry: u32) -> Option<()> {
        *self.entries.get_mut(self.written)? = entry;
        self.written += 1;
        Some(())
    }

    /// Reads the value that begins at `at` with `first`, the value of the key `place`, and returns
    /// where it ends.
    #[inline(always)]
    fn value(&mut self, text: &[u8], at: usize, first: u8, place: NodeId, depth: usize) -> Option<usize> {
        match first {
            b'"' => self.string(text, at + 1),
            b'{' => self.object(text, at + 1, place, depth),
            b'[' => self.array(text, at + 1, place, depth),
            b'-' | b'0'..=b'9' => self.number(text, at),
            b't' => self.constant(text, at, b"true", tape::TRUE),
            b'f' => self.constant(text, at, b"false", tape::FALSE),
            b'n' => self.constant(text, at, b"null", tape::NULL),
            _ => None,
        }
    }

    /// `at` is after the brace.
    #[inline(never)]
    fn object(&mut self, text: &[u8], at: usize, place: NodeId, depth: usize) -> Option<usize> {
        if depth >= tape::MAX_DEPTH {
            return None;
        }
        let head = self.written;
        self.push(0)?;
        let mut node = NodeId::ROOT;
        let (mut at, mut next) = skip_space(text, at);
        if next != b'}' {
            loop {
                if next != b'"' {
                    return None;
                }
                (node, at) = self.shapes.follow(node, place, text, at + 1)?;
                (at, next) = skip_space(text, at);
                if next != b':' {
                    return None;
                }
                (at, next) = skip_space(text, at + 1);
                at = self.value(text, at, next, node, depth + 1)?;
                (at, next) = skip_space(text, at);
                if next != b',' {
                    break;
                }
                (at, next) = skip_space(text, at + 1);
            }
            if next != b'}' {
                return None;
            }
        }
        match self.shapes.factory(node) {
            Some(factory) => self.entries[head] = entry(tape::OBJECT, factory as i32),
            None => self.lacks_factory = true,
        }
        Some(at + 1)
    }

    /// `at` is after the bracket.
    #[inline(never)]
    fn array(&mut self, text: &[u8], at: usize, place: NodeId, depth: usize) -> Option<usize> {
        if depth >= tape::MAX_DEPTH {
            return None;
        }
        let head = self.written;
        self.push(0)?;
        let mut length = 0;
        let (mut at, mut next) = skip_space(text, at);
        if next != b']' {
            loop {
                at = self.value(text, at, next, place, depth + 1)?;
                length += 1;
                (at, next) = skip_space(text, at);
                if next != b',' {
                    break;
                }
                (at, next) = skip_space(text, at + 1);
            }
            if next != b']' {
                return None;
            }
        }
        self.entries[head] = entry(tape::ARRAY, length);
        Some(at + 1)
    }

    fn number(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let read = number::read(text, at)?;
        match read.value {
            Value::Integer(integer) => self.push(entry(tape::INTEGER, integer))?,
            Value::Double(double) => {
                if self.numbers.len() >= tape::NUMBERS {
                    return None;
                }
                self.push(entry(tape::NUMBER, self.numbers.len() as i32))?;
                self.numbers.push(double);
            }
        }
        Some(read.end)
    }

    fn constant(&mut self, text: &[u8], at: usize, name: &[u8], value: i32) -> Option<usize> {
        if !text[at..].starts_with(name) {
            return None;
        }
        self.push(entry(tape::CONSTANT, value))?;
        Some(at + name.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "reader/tests.rs"]
mod tests;
