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

/// The largest integer of all that are nested in there, as far as it fits. None for what is not DER, or nested too deep.
pub(super) fn largest_integer(data: &[u8], depth: u32) -> Option<u64> {
    let (mut rest, mut largest) = (data, 0);
    while !rest.is_empty() {
        let (tag, content, next) = element(rest)?;
        let found = match tag {
            INTEGER if content.len() > 8 => u64::MAX,
            INTEGER => number(content),
            tag if tag & CONSTRUCTED != 0 => largest_integer(content, depth.checked_sub(1)?)?,
            _ => 0,
        };
        largest = largest.max(found);
        rest = next;
    }
    Some(largest)
}

/// Of the content of an integer; what does not fit is the largest.
pub(super) fn number(content: &[u8]) -> u64 {
    let digits = content.iter().skip_while(|digit| **digit == 0);
    if digits.clone().count() > 8 { u64::MAX } else { digits.fold(0, |value, digit| value << 8 | u64::from(*digit)) }
}

/// What a key in DER may consist of. OpenSSL raises numbers of DSA and Diffie-Hellman to powers while it reads a key.
#[derive(Default)]
struct Shape {
    largest_integer: usize,
    largest_primitive: usize,
    has_discrete_logarithm: bool,
}

const CONSTRUCTED: u8 = 0x20;
const LONG_TAG: u8 = 0x1f;
const MAX_DEPTH: u32 = 16;
/// An RSA key with 16384 bits takes 9 kB.
pub(crate) const MAX_KEY: usize = 16 * 1024;
/// Bytes of 16384 bits and a sign.
const MAX_INTEGER: usize = 2049;
/// Bytes of the 10000 bits that OpenSSL computes discrete logarithms with, and of what is around such a number.
const MAX_DISCRETE_LOGARITHM: usize = 1280;
/// DSA, Diffie-Hellman of PKCS #3 and of X9.42.
const DISCRETE_LOGARITHMS: [&[u8]; 3] = [
    &[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01],
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x03, 0x01],
    &[0x2a, 0x86, 0x48, 0xce, 0x3e, 0x02, 0x01],
];

/// The bytes of the key that the data begin with, if all of them can be followed and no number is too large to compute with.
pub(crate) fn bounded_key(data: &[u8]) -> Option<&[u8]> {
    let (_, _, rest) = element(data)?;
    let key = &data[..data.len() - rest.len()];
    let mut shape = Shape::default();
    shape.walk(key, MAX_DEPTH)?;
    let max_primitive = if shape.has_discrete_logarithm { MAX_DISCRETE_LOGARITHM } else { MAX_KEY };
    let fits = key.len() <= MAX_KEY && shape.largest_integer <= MAX_INTEGER && shape.largest_primitive <= max_primitive;
    fits.then_some(key)
}

impl Shape {
    fn walk(&mut self, data: &[u8], depth: u32) -> Option<()> {
        let mut rest = data;
        while !rest.is_empty() {
            let (tag, content, next) = element(rest)?;
            if tag & LONG_TAG == LONG_TAG {
                return None;
            }
            if tag & CONSTRUCTED != 0 {
                self.walk(content, depth.checked_sub(1)?)?;
            } else {
                self.largest_primitive = self.largest_primitive.max(content.len());
            }
            if tag == INTEGER {
                self.largest_integer = self.largest_integer.max(content.len());
            }
            self.has_discrete_logarithm |= tag == OBJECT && DISCRETE_LOGARITHMS.contains(&content);
            rest = next;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{OCTET_STRING, SEQUENCE, bounded_key, build, element, expect, largest_integer};

    #[test]
    fn integers_are_found_where_they_are_nested() {
        let inner = build(SEQUENCE, &[&[2, 2, 1, 0], &[2, 1, 5]]);
        assert_eq!(largest_integer(&build(SEQUENCE, &[&inner]), 4), Some(256));
        assert_eq!(largest_integer(&build(SEQUENCE, &[&inner]), 1), None);
        assert_eq!(largest_integer(&[0x30, 0x80, 2, 1, 5, 0, 0], 4), None, "a length that only BER has");
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
            bounded_key(&data);
        }
    }
}
