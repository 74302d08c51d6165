//! Sizes and durations as they are written in settings: `128mb`, `1.5gb`, `500ms`, `30s`, `1h`.
//! A plain number is bytes for sizes and seconds for durations; sizes are 1024-based.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("{0:?} is not a size: write a number of bytes or one with a unit, such as 64kb, 128mb or 1.5gb")]
    Size(String),
    #[error("{0:?} is not a duration: write a number of seconds or one with a unit, such as 500ms, 30s, 5m or 1h")]
    Duration(String),
}

/// A thousand years: it can be added to any point in time.
const MAX_DURATION: Duration = Duration::from_secs(1_000 * 31_536_000);

/// Parses `500ms 30s 5m 1h 2d 1w 1y`, decimals too; a plain number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError::Duration(text.to_owned());
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let seconds = match unit.as_str() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        "y" => 31_536_000.0,
        _ => return Err(wrong()),
    };
    let time = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
    // A zero turns a limit off, so another number must not be rounded to zero.
    if time > MAX_DURATION || (time.is_zero() && number > 0.0) { Err(wrong()) } else { Ok(time) }
}

/// A non-negative decimal number and what follows it, in lower case.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok()?;
    Some((number, text[end..].trim().to_ascii_lowercase()))
}

// === impl ByteSize ===

impl ByteSize {
    pub const fn kb(n: u64) -> Self {
        Self(n << 10)
    }

    pub const fn mb(n: u64) -> Self {
        Self(n << 20)
    }

    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Size(text.to_owned());
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let scale = match unit.as_str() {
            "" | "b" => 1u64,
            "kb" => 1 << 10,
            "mb" => 1 << 20,
            "gb" => 1 << 30,
            _ => return Err(wrong()),
        };
        let bytes = number * scale as f64;
        // Less than a byte would be cut to a zero, which turns a limit off.
        if bytes > (1u64 << 53) as f64 || (bytes < 1.0 && bytes > 0.0) {
            return Err(wrong());
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        for (shift, unit) in [(30, "gb"), (20, "mb"), (10, "kb")] {
            if n >= 1 << shift {
                let whole = n as f64 / (1u64 << shift) as f64;
                return if n.is_multiple_of(1 << shift) {
                    write!(f, "{whole}{unit}")
                } else {
                    write!(f, "{whole:.1}{unit}")
                };
            }
        }
        write!(f, "{n}b")
    }
}

impl fmt::Debug for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in
            [("1024", 1024), ("10mb", 10 << 20), ("1.5gb", 3 << 29), ("10 KB", 10 << 10), ("0", 0), ("7b", 7)]
        {
            assert_eq!(text.parse::<ByteSize>().unwrap(), ByteSize(bytes), "{text}");
        }
        for text in ["10m", "-1", "", "mb", "1e999", "1..2mb", "99999999999gb", "0.9"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_parsed() {
        for (text, ms) in
            [("30", 30_000), ("30s", 30_000), ("500ms", 500), ("1.5h", 5_400_000), ("2d", 172_800_000), ("0", 0)]
                .into_iter()
                .chain([("90m", 5_400_000), ("2w", 1_209_600_000), ("0.5y", 15_768_000_000), ("1 D", 86_400_000)])
        {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        for text in ["abc", "-1s", "", "5 parsecs", "1e30y", "1001y", "0.0000001ms"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_print_what_they_parse() {
        for text in ["0b", "512b", "64kb", "128mb", "1.5gb"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
    }
}
