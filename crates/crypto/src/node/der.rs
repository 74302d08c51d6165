//! The little of DER that OpenSSL's safe functions do not give: elements one by one.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;

/// The first element: its tag, its content, and what follows it.
pub(super) fn element(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = data.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let digits = usize::from(first & 0x7f);
        if digits == 0 || digits > 4 || rest.len() < digits {
            return None;
        }
        let (digits, rest) = rest.split_at(digits);
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    (length <= rest.len()).then(|| (tag, &rest[..length], &rest[length..]))
}

/// The content of the first element, which must have this tag, and what follows it.
pub(super) fn expect(data: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    element(data).filter(|(found, _, _)| *found == tag).map(|(_, content, rest)| (content, rest))
}

/// An element of these parts.
pub(super) fn build(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let digits: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|digit| *digit == 0).collect();
        out.push(0x80 | digits.len() as u8);
        out.extend(digits);
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// The largest integer of all that are nested in there, as far as it fits; deeper than a few levels nothing is looked at.
pub(super) fn largest_integer(data: &[u8], depth: u32) -> u64 {
    let (mut rest, mut largest) = (data, 0);
    while let Some((tag, content, next)) = element(rest) {
        let found = match tag {
            INTEGER if content.len() > 8 => u64::MAX,
            INTEGER => content.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            tag if tag & 0x20 != 0 && depth > 0 => largest_integer(content, depth - 1),
            _ => 0,
        };
        largest = largest.max(found);
        rest = next;
    }
    largest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{OCTET_STRING, SEQUENCE, build, element, expect, largest_integer};

    #[test]
    fn integers_are_found_where_they_are_nested() {
        let inner = build(SEQUENCE, &[&[2, 2, 1, 0], &[2, 1, 5]]);
        assert_eq!(largest_integer(&build(SEQUENCE, &[&inner]), 4), 256);
        assert_eq!(largest_integer(&build(SEQUENCE, &[&inner]), 1), 0);
    }

    proptest! {
        #[test]
        fn what_is_built_is_read(content in proptest::collection::vec(any::<u8>(), 0..70_000)) {
            let built = build(OCTET_STRING, &[&content, b"x"]);
            let (found, rest) = expect(&built, OCTET_STRING).unwrap();
            prop_assert_eq!(found, [&content[..], b"x"].concat());
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn garbage_is_no_panic(data in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some((_, content, rest)) = element(&data) {
                prop_assert!(content.len() + rest.len() < data.len());
            }
            largest_integer(&data, 5);
        }
    }
}
