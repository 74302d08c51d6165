//! Header lists: names in lower case, values as bytes, in the order they came, duplicates kept.
//! They lie one after the other in one buffer, so that a list costs one allocation however long it is:
//!
//! ```text
//! [ length of the name | length of the value | name | value ] [ ... ]
//!   u32                  u32
//! ```
//! The headers of most answers are constants, and cost no allocation.

use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    records: Cow<'static, [u8]>,
    len: usize,
}

/// The bytes before a name and its value.
const LENGTHS: usize = 8;

impl Headers {
    /// `content-type` of plain text alone.
    pub const TEXT: Self = Self::fixed(&record::<44>(b"content-type", b"text/plain;charset=UTF-8"));
    /// `content-type` of JSON alone.
    pub const JSON: Self = Self::fixed(&record::<36>(b"content-type", b"application/json"));

    const fn fixed(record: &'static [u8]) -> Self {
        Self { records: Cow::Borrowed(record), len: 1 }
    }

    pub fn new() -> Self {
        Self::default()
    }

    /// A list with room for so many headers, whose names and values have `bytes` bytes in all.
    pub fn with_capacity(headers: usize, bytes: usize) -> Self {
        Self { records: Cow::Owned(Vec::with_capacity(headers * LENGTHS + bytes)), len: 0 }
    }

    /// Adds a header, beside any of the same name. The name is put into lower case.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let length = |text: &[u8]| u32::try_from(text.len()).expect("headers are limited to far less than 4 GiB");
        let lengths = u64::from(length(name)) | u64::from(length(value)) << 32;
        let records = self.records.to_mut();
        records.reserve(LENGTHS + name.len() + value.len());
        records.extend_from_slice(&lengths.to_le_bytes());
        records.extend_from_slice(name);
        let start = records.len() - name.len();
        put_in_lower_case(&mut records[start..]);
        records.extend_from_slice(value);
        self.len += 1;
    }

    /// Adds all of another list.
    pub fn append(&mut self, other: &Self) {
        self.records.to_mut().extend_from_slice(&other.records);
        self.len += other.len;
    }

    /// The first value of that name, which must be in lower case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }

    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }

    /// The token of `authorization: Bearer`.
    pub fn bearer(&self) -> Option<&[u8]> {
        let (scheme, token) = self.get("authorization")?.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Removes all of that name.
    pub fn remove(&mut self, name: &str) {
        if !self.contains(name) {
            return;
        }
        let all = std::mem::take(self);
        self.records.to_mut().reserve(all.records.len());
        all.iter().filter(|(n, _)| *n != name.as_bytes()).for_each(|(n, value)| self.push(n, value));
    }

    /// Replaces all of that name by one.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        self.remove(name);
        self.push(name.as_bytes(), value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &self.records[..];
        std::iter::from_fn(move || {
            let (lengths, texts) = rest.split_first_chunk::<LENGTHS>()?;
            let lengths = u64::from_le_bytes(*lengths);
            let (name, texts) = texts.split_at((lengths & u64::from(u32::MAX)) as usize);
            let (value, after) = texts.split_at((lengths >> 32) as usize);
            rest = after;
            Some((name, value))
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A header as it lies in a list, its name in lower case.
const fn record<const N: usize>(name: &[u8], value: &[u8]) -> [u8; N] {
    assert!(N == LENGTHS + name.len() + value.len(), "a record has no gaps");
    let mut record = [0; N];
    let (name_length, value_length) = ((name.len() as u32).to_le_bytes(), (value.len() as u32).to_le_bytes());
    let parts: [&[u8]; 4] = [&name_length, &value_length, name, value];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut byte = 0;
        while byte < parts[part].len() {
            record[at] = parts[part][byte];
            (byte, at) = (byte + 1, at + 1);
        }
        part += 1;
    }
    record
}

/// By eight bytes at a time: names are too short for what the standard library's loop becomes, which is slow for its last
/// few bytes, and there is one for every header.
fn put_in_lower_case(name: &mut [u8]) {
    let Some(last) = name.len().checked_sub(WORD) else { return name.make_ascii_lowercase() };
    let mut at = 0;
    loop {
        let word = &mut name[at..at + WORD];
        let lower = lower_case(u64::from_le_bytes(word.try_into().expect("a word has eight bytes")));
        word.copy_from_slice(&lower.to_le_bytes());
        if at == last {
            return;
        }
        // The last word may overlap the one before: what is in lower case stays so.
        at = (at + WORD).min(last);
    }
}

const WORD: usize = 8;

/// Of eight characters at once. A sum reaches a byte's top bit where the character, without its own top bit, is at least an A,
/// or beyond a Z.
fn lower_case(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * EACH);
    let from_a = low + (0x80 - b'A' as u64) * EACH;
    let beyond_z = low + (0x7f - b'Z' as u64) * EACH;
    let upper = from_a & !beyond_z & !word & (0x80 * EACH);
    word | upper >> 2
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        f.debug_map().entries(self.iter().map(|(n, v)| (text(n), text(v)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_name_is_put_in_lower_case() {
        for length in 0..40 {
            for first in 0..=255u8 {
                let name: Vec<u8> = (0..length).map(|at: u8| first.wrapping_add(at.wrapping_mul(37))).collect();
                let mut lower = name.clone();
                put_in_lower_case(&mut lower);
                assert_eq!(lower, name.to_ascii_lowercase(), "{name:?}");
            }
        }
    }

    #[test]
    fn fixed_lists_are_like_others() {
        for (fixed, value) in [(Headers::TEXT, "text/plain;charset=UTF-8"), (Headers::JSON, "application/json")] {
            let mut made = Headers::new();
            made.push(b"Content-Type", value.as_bytes());
            assert_eq!(fixed, made);
            let mut more = fixed.clone();
            more.push(b"a", b"b");
            made.push(b"a", b"b");
            assert_eq!((more, fixed.len()), (made, 1));
        }
    }

    #[test]
    fn names_are_lower_case_and_duplicates_stay() {
        let mut headers = Headers::new();
        headers.push(b"Set-Cookie", b"a=1");
        headers.push(b"X-One", b"");
        headers.push(b"set-cookie", b"b=2");
        assert_eq!(headers.get_all("set-cookie").collect::<Vec<_>>(), [b"a=1", b"b=2"]);
        assert_eq!(headers.get("x-one"), Some(&b""[..]));
        headers.set("set-cookie", b"c=3");
        assert_eq!(headers.get_all("set-cookie").collect::<Vec<_>>(), [b"c=3"]);
        assert_eq!(headers.len(), 2);
        let mut more = headers.clone();
        more.append(&headers);
        more.remove("none");
        let all: Vec<_> = more.iter().collect();
        assert_eq!(all, [(&b"x-one"[..], &b""[..]), (b"set-cookie", b"c=3"), (b"x-one", b""), (b"set-cookie", b"c=3")]);
        more.remove("x-one");
        assert_eq!((more.len(), more.get_all("set-cookie").count(), more.contains("x-one")), (2, 2, false));
    }
}
