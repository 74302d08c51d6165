//! Scans eight bytes at a time for the end of a string, and single bytes, where the end of the text
//! counts as a byte that JSON has nowhere.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

#[inline(always)]
pub(crate) fn byte(text: &[u8], at: usize) -> u8 {
    if at < text.len() { text[at] } else { 0 }
}

/// The first position at or after `at` that is not white space, and the byte there.
#[inline(always)]
pub(crate) fn skip_space(text: &[u8], at: usize) -> (usize, u8) {
    let next = byte(text, at);
    if next > b' ' { (at, next) } else { skip_more(text, at) }
}

#[inline(never)]
fn skip_more(text: &[u8], mut at: usize) -> (usize, u8) {
    while let b' ' | b'\n' | b'\t' | b'\r' = byte(text, at) {
        at += 1;
    }
    (at, byte(text, at))
}

/// A string of up to fifteen characters, all ASCII, and where it ends. `None` where it is longer,
/// or has other bytes.
#[inline(always)]
pub(crate) fn short(text: &[u8], at: usize) -> Option<(ShortStr, usize)> {
    let rest = text.get(at..)?;
    let Some(bytes) = rest.first_chunk::<16>() else {
        return last_short(rest).map(|(short, length)| (short, at + length));
    };
    let (short, length) = short_of(bytes)?;
    Some((short, at + length))
}

/// The same near the end of the text.
#[inline(never)]
fn last_short(rest: &[u8]) -> Option<(ShortStr, usize)> {
    let mut bytes = [0; 16];
    bytes[..rest.len()].copy_from_slice(rest);
    short_of(&bytes)
}

#[inline(always)]
fn short_of(bytes: &[u8; 16]) -> Option<(ShortStr, usize)> {
    let all = u128::from_le_bytes(*bytes);
    let (low, high) = (all as u64, (all >> 64) as u64);
    let found = specials(low);
    if found != 0 {
        let length = (found.trailing_zeros() / 8) as usize;
        return (bytes[length] == b'"').then(|| (ShortStr { low: low & below(found), high: 0 }, length));
    }
    let found = specials(high);
    if found == 0 {
        return None;
    }
    let length = 8 + (found.trailing_zeros() / 8) as usize;
    (bytes[length] == b'"').then(|| (ShortStr { low, high: high & below(found) }, length))
}

/// The string's bytes, followed by zeros, which no string has.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShortStr {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// A mask of the bytes before the first one that was found.
#[inline(always)]
fn below(found: u64) -> u64 {
    let first = found & found.wrapping_neg();
    (first >> 7).wrapping_sub(1)
}

/// The first byte at or after `at` that a string cannot have as it is: a quote, a backslash, a
/// control character, or one that is not ASCII. The text's length where there is none.
pub(crate) fn special(text: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let found = specials(u64::from_le_bytes(*chunk));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = text.get(at) {
        if !(0x20..0x80).contains(&byte) || byte == b'"' || byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

/// The highest bit of each such byte. The lowest that is set is right; those above it need not be.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let zero_in = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_in(word ^ (ONES * u64::from(b'"')));
    let backslashes = zero_in(word ^ (ONES * u64::from(b'\\')));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls | word) & HIGHS
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{short, special};

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=255u8 {
            let is_special = !(0x20..0x80).contains(&byte) || byte == b'"' || byte == b'\\';
            for length in [1, 7, 8, 9, 20] {
                for place in 0..length {
                    let mut text = vec![b'!'; length];
                    text[place] = byte;
                    let expected = if is_special { place } else { length };
                    assert_eq!(special(&text, 0), expected, "{byte} at {place} of {length}");
                }
            }
        }
    }

    #[test]
    fn a_short_string_is_its_bytes() {
        for length in 0..20 {
            for byte in 0..=255u8 {
                let mut text = b"abcdefghijklmnopqrstuvw".to_vec();
                text.truncate(length);
                text.push(byte);
                text.extend([b'"'; 40]);
                let end = text.iter().position(|b| *b == b'"').unwrap();
                let is_plain = text[..end].iter().all(|b| (0x20..0x80).contains(b) && *b != b'\\');
                let found = short(&text, 0)
                    .map(|(short, end)| ([short.low.to_le_bytes(), short.high.to_le_bytes()].concat(), end));
                let mut expected = text[..end].to_vec();
                expected.resize(16.max(end), 0);
                assert_eq!(found, (end < 16 && is_plain).then_some((expected, end)), "{byte} after {length}");
            }
        }
        assert_eq!(short(b"ab\"", 0).map(|(_, end)| end), Some(2));
        assert!(short(b"", 0).is_none() && short(b"abcdefgh", 0).is_none());
    }
}
