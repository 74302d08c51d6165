//! Byte ranges (RFC 9110, section 14): the part of a file that a client asks for, and the `content-range` of the answer.
//! One range of bytes is answered with that part; several ranges, other units and invalid ranges are ignored, as the RFC allows: the
//! client gets the whole file.

use crate::headers::Headers;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// Never empty.
    Slice {
        start: u64,
        length: u64,
    },
    /// The range is outside of the file.
    Unsatisfiable,
}

/// The part of a file of `size` bytes that the headers ask for.
pub fn part(headers: &Headers, size: u64) -> Part {
    let mut values = headers.get_all("range");
    match (values.next(), values.next()) {
        (Some(value), None) => parse(value, size).unwrap_or(Part::Whole),
        _ => Part::Whole,
    }
}

impl Part {
    /// The `content-range` of the part, for a file of `size` bytes; None for the whole.
    pub fn content_range(self, size: u64) -> Option<String> {
        match self {
            Part::Whole => None,
            Part::Slice { start, length } => Some(format!("bytes {start}-{}/{size}", start + length - 1)),
            Part::Unsatisfiable => Some(format!("bytes */{size}")),
        }
    }
}

fn parse(value: &[u8], size: u64) -> Option<Part> {
    let value = value.trim_ascii();
    let equals = value.iter().position(|byte| *byte == b'=')?;
    let (unit, range) = (&value[..equals], value[equals + 1..].trim_ascii());
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let dash = range.iter().position(|byte| *byte == b'-')?;
    let (first, last) = (&range[..dash], &range[dash + 1..]);
    let (start, end) = match (first, last) {
        (b"", suffix) => (size.saturating_sub(number(suffix)?), size),
        (first, b"") => (number(first)?, size),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            (first, last.saturating_add(1).min(size))
        }
    };
    Some(if start < end { Part::Slice { start, length: end - start } } else { Part::Unsatisfiable })
}

/// Digits only; numbers that are too large are the largest.
fn number(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        digits.iter().fold(0u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_all(values: &[&str], size: u64) -> Part {
        let mut headers = Headers::new();
        values.iter().for_each(|value| headers.push(b"range", value.as_bytes()));
        part(&headers, size)
    }

    #[test]
    fn ranges() {
        let slice = |start, length| Part::Slice { start, length };
        for (value, part) in [
            ("bytes=0-0", slice(0, 1)),
            ("bytes=0-9", slice(0, 10)),
            ("bytes=2-5", slice(2, 4)),
            ("bytes=5-", slice(5, 5)),
            ("bytes=9-", slice(9, 1)),
            ("bytes=5-100", slice(5, 5)),
            ("bytes=-3", slice(7, 3)),
            ("bytes=-100", slice(0, 10)),
            ("Bytes= 1-2 ", slice(1, 2)),
            ("bytes=0-99999999999999999999999999", slice(0, 10)),
            ("bytes=0-18446744073709551615", slice(0, 10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=10-20", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=99999999999999999999999999-", Part::Unsatisfiable),
            ("bytes=18446744073709551615-18446744073709551615", Part::Unsatisfiable),
            ("bytes=5-2", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=0-1, -1", Part::Whole),
            ("bytes=", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes=--1", Part::Whole),
            ("bytes=0x1-2", Part::Whole),
            ("bytes", Part::Whole),
            ("items=0-1", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(parse_all(&[value], 10), part, "{value}");
        }
        assert_eq!(parse_all(&[], 10), Part::Whole);
        assert_eq!(parse_all(&["bytes=0-1", "bytes=2-3"], 10), Part::Whole);
        assert_eq!(parse_all(&["bytes=0-"], 0), Part::Unsatisfiable);
        assert_eq!(parse_all(&["bytes=-1"], 0), Part::Unsatisfiable);
        let content_range = |value: &str| parse_all(&[value], 10).content_range(10);
        assert_eq!(content_range("bytes=2-5").as_deref(), Some("bytes 2-5/10"));
        assert_eq!(content_range("bytes=10-").as_deref(), Some("bytes */10"));
        assert_eq!(content_range("items=0-1"), None);
    }
}
