//! Sizes and durations as people write them.
//!
//! - A whole number with a unit is exactly that, or refused; never something near it.
//! - What is not zero never becomes zero: a zero turns a limit off.
//! - Any duration can be added to the present.
//! - Case and blanks around do not matter.
//! - What a size prints is read as that size, up to the one decimal that is printed.

use std::time::{Duration, Instant};

use hearth_core::ByteSize;
use hearth_core::units::parse_duration;

/// Larger sizes are refused: they are not exact as `f64`.
const MAX_SIZE: u128 = 1 << 53;
/// In milliseconds, a thousand years.
const MAX_DURATION_MS: u128 = 1_000 * 31_536_000_000;

/// Units and their milliseconds.
const DURATIONS: [(&str, u128); 8] = [
    ("ms", 1),
    ("", 1_000),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
    ("y", 31_536_000_000),
];

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    sizes(&text);
    durations(&text);
}

fn sizes(text: &str) {
    let parsed = text.parse::<ByteSize>();
    for same in variants(text) {
        assert_eq!(same.parse::<ByteSize>().ok(), parsed.clone().ok(), "{same:?}");
    }
    let scale =
        |unit: &str| Some([("", 0), ("b", 0), ("kb", 10), ("mb", 20), ("gb", 30)].iter().find(|u| u.0 == unit)?.1);
    match (&parsed, whole(text).and_then(|(number, unit)| Some((number, scale(&unit)?)))) {
        // One more than the largest is the largest.
        (Ok(size), Some((number, shift))) if number << shift == MAX_SIZE + 1 => {
            assert_eq!(u128::from(size.bytes()), MAX_SIZE)
        }
        (Ok(size), Some((number, shift))) => assert_eq!(u128::from(size.bytes()), number << shift),
        (Err(error), Some((number, shift))) => assert!(number << shift > MAX_SIZE, "{error}"),
        _ => {}
    }
    if let Ok(size) = parsed {
        assert!(u128::from(size.bytes()) <= MAX_SIZE);
        assert!(size.bytes() != 0 || is_zero(text), "{text:?} is read as zero");
        let shown = size.to_string();
        let unit = [30, 20, 10].into_iter().map(|shift| 1u64 << shift).find(|unit| size.bytes() >= *unit).unwrap_or(1);
        let again = shown.parse::<ByteSize>().unwrap_or_else(|error| panic!("prints {shown}: {error}"));
        assert!(again.bytes().abs_diff(size.bytes()) <= unit / 20 + 1, "{} prints {shown}", size.bytes());
        assert!(size.bytes() % unit != 0 || again == size, "{} prints {shown}", size.bytes());
    }
}

fn durations(text: &str) {
    let parsed = parse_duration(text);
    for same in variants(text) {
        assert_eq!(parse_duration(&same).ok(), parsed.clone().ok(), "{same:?}");
    }
    let expected = whole(text).and_then(|(number, unit)| {
        let (_, ms) = DURATIONS.iter().find(|(name, _)| *name == unit)?;
        Some(number * ms)
    });
    let Ok(time) = parsed else {
        assert!(expected.is_none_or(|ms| ms > MAX_DURATION_MS), "{text:?} is refused");
        return;
    };
    assert!(!time.is_zero() || is_zero(text), "{text:?} is read as zero");
    assert!(Instant::now().checked_add(time).is_some(), "{text:?} is beyond the end of time");
    // Below a month a nanosecond is more than the last bit of the seconds.
    match expected.map(|ms| (ms, u64::try_from(ms))) {
        Some((_, Ok(ms))) if ms < 2_000_000_000 => assert_eq!(time, Duration::from_millis(ms)),
        Some((ms, _)) => assert!(time.as_millis().abs_diff(ms) <= 1, "{text:?} is {time:?}"),
        None => {}
    }
}

/// Other ways to write the same.
fn variants(text: &str) -> [String; 3] {
    [text.to_ascii_uppercase(), text.to_ascii_lowercase(), format!(" \t{text}\n")]
}

/// A number without a point, and its unit in lower case.
fn whole(text: &str) -> Option<(u128, String)> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unit = text[digits..].trim().to_ascii_lowercase();
    let number = text[..digits].parse::<u64>().ok()?;
    (!unit.starts_with('.')).then_some((u128::from(number), unit))
}

fn is_zero(text: &str) -> bool {
    !text.contains(|c: char| matches!(c, '1'..='9'))
}
