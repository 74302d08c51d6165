//! Strings. ShortStr ones without escapes may be cached; the others are made anew, from their place in
//! the text or, where they have escapes, from their unescaped copy.

use super::{Fresh, Kept, Source, TapeReader};
use crate::escape;
use crate::scan::{self, byte};
use crate::string_cache::Found;
use crate::tape::{self, entry};

impl TapeReader {
    /// `at` is after the quote.
    #[inline(always)]
    pub(super) fn string(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let Some((short, end)) = scan::short(text, at) else { return self.long_string(text, at) };
        match self.strings.find(short) {
            Found::Kept(place) => self.push(entry(tape::KEPT, place as i32))?,
            Found::Keep(place) => {
                self.kept.push(Kept { place, start: at, end });
                self.push(entry(tape::KEPT, place as i32))?;
            }
            Found::Not => self.push_fresh(Fresh { source: Source::Text, start: at, end, is_ascii: true })?,
        }
        Some(end + 1)
    }

    /// Any string.
    #[inline(never)]
    fn long_string(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let mut end = scan::special(text, at);
        let mut is_ascii = true;
        while byte(text, end) >= 0x80 {
            is_ascii = false;
            end = scan::special(text, end + 1);
        }
        match byte(text, end) {
            b'"' => {}
            b'\\' => return self.escaped_string(text, at, end),
            _ => return None,
        }
        if !is_ascii && std::str::from_utf8(&text[at..end]).is_err() {
            return None;
        }
        self.push_fresh(Fresh { source: Source::Text, start: at, end, is_ascii })?;
        Some(end + 1)
    }

    /// A string whose first escape is at `escape`.
    fn escaped_string(&mut self, text: &[u8], at: usize, escape: usize) -> Option<usize> {
        let start = self.unescaped.len();
        let (mut plain, mut end) = (at, escape);
        loop {
            match byte(text, end) {
                b'"' => break,
                b'\\' => {
                    self.unescaped.extend_from_slice(&text[plain..end]);
                    plain = escape::read(text, end + 1, &mut self.unescaped)?;
                    end = scan::special(text, plain);
                }
                0x80.. => end = scan::special(text, end + 1),
                _ => return None,
            }
        }
        self.unescaped.extend_from_slice(&text[plain..end]);
        let bytes = &self.unescaped[start..];
        let is_ascii = bytes.is_ascii();
        if !is_ascii && std::str::from_utf8(bytes).is_err() {
            return None;
        }
        self.push_fresh(Fresh { source: Source::Unescaped, start, end: self.unescaped.len(), is_ascii })?;
        Some(end + 1)
    }

    fn push_fresh(&mut self, string: Fresh) -> Option<()> {
        self.push(entry(tape::FRESH, self.fresh.len() as i32))?;
        self.fresh.push(string);
        Some(())
    }
}
