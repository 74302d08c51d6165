//! Numbers, equal to the bit to those of `JSON.parse`.

use crate::scan::byte;
use crate::tape::MAX_INTEGER;

/// A number of a text, and where it ends.
pub(crate) struct Number {
    pub(crate) value: Value,
    pub(crate) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// Fits an entry, and is not -0.
    Integer(i32),
    Double(f64),
}

/// The powers of ten that are exact doubles.
const POWERS: [f64; MAX_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// Integers up to this are exact doubles.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// Digits that cannot overflow a u64.
const MAX_DIGITS: usize = 18;

/// Digits of a number that fits an entry.
const MAX_ENTRY_DIGITS: usize = 8;

/// Reads the number that begins at `start`, where a digit or a minus is; `None` where it is not
/// valid JSON.
pub(crate) fn read(text: &[u8], start: usize) -> Option<Number> {
    let is_negative = byte(text, start) == b'-';
    let first = start + usize::from(is_negative);
    let (mut digits, mut end) = integer(text, first, 0);
    let whole = end - first;
    if whole == 0 || (whole > 1 && text[first] == b'0') {
        return None;
    }
    let mut fraction = 0;
    let mut has_exponent = false;
    match byte(text, end) {
        b'.' => {
            let point = end + 1;
            (digits, end) = integer(text, point, digits);
            fraction = end - point;
            if fraction == 0 {
                return None;
            }
            has_exponent = matches!(byte(text, end), b'e' | b'E');
        }
        b'e' | b'E' => has_exponent = true,
        _ if whole <= MAX_ENTRY_DIGITS && digits != 0 => {
            let value = digits as i32;
            return Some(Number { value: Value::Integer(if is_negative { -value } else { value }), end });
        }
        _ => {}
    }
    if has_exponent {
        let sign = usize::from(matches!(byte(text, end + 1), b'+' | b'-'));
        let power = end + 1 + sign;
        (_, end) = integer(text, power, 0);
        if end == power {
            return None;
        }
    }
    // Both are exact, and one division rounds once, as it should.
    let is_exact = !has_exponent && whole + fraction <= MAX_DIGITS && digits <= MAX_EXACT_INTEGER;
    let double = if is_exact {
        let size = digits as f64 / POWERS[fraction];
        if is_negative { -size } else { size }
    } else {
        std::str::from_utf8(&text[start..end]).ok()?.parse().ok()?
    };
    Some(Number { value: Value::of(double), end })
}

/// Continues where `digits` ends; returns where the number ends. The value is right for up to
/// `MAX_DIGITS` of them.
#[inline]
fn integer(text: &[u8], start: usize, mut digits: u64) -> (u64, usize) {
    let mut at = start;
    loop {
        let digit = byte(text, at).wrapping_sub(b'0');
        if digit > 9 {
            return (digits, at);
        }
        digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
}

// === impl Value ===

impl Value {
    fn of(double: f64) -> Self {
        let integer = double as i32;
        let is_integer = f64::from(integer).to_bits() == double.to_bits();
        if is_integer && (-MAX_INTEGER - 1..=MAX_INTEGER).contains(&integer) {
            Self::Integer(integer)
        } else {
            Self::Double(double)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Value, read};

    fn value(text: &str) -> Option<Value> {
        read(text.as_bytes(), 0).filter(|number| number.end == text.len()).map(|number| number.value)
    }

    #[test]
    fn numbers_are_what_the_standard_library_reads() {
        let texts = [
            "0",
            "7",
            "-7",
            "0.5",
            "9.99",
            "-13.74",
            "1e3",
            "1E-3",
            "1.5e+2",
            "123456789",
            "268435455",
            "268435456",
            "-268435456",
            "-268435457",
            "9007199254740993",
            "0.1",
            "1.7976931348623157e308",
            "1e400",
            "5e-324",
            "123456789012345678901234567890",
            "0.000001",
            "1000000.0",
            "2.2250738585072011e-308",
            "900719925474099.3",
            "0.30000000000000004",
            "1.0000000000000002",
        ];
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            let found = match value(text) {
                Some(Value::Integer(integer)) => f64::from(integer),
                Some(Value::Double(double)) => double,
                None => panic!("{text} is a number"),
            };
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        assert_eq!(value("-0"), Some(Value::Double(-0.0)));
        assert_eq!(value("1000000.0"), Some(Value::Integer(1_000_000)));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["-", "01", "00", "-01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1_0", "", "Infinity", "NaN", "1.e3"]
        {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
