//! A number of requests per time: `100/1m`. `100/m` is the same.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hearth_core::units::parse_duration;
use serde::{Deserialize, Serialize};

/// Invariant: neither is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateSpec {
    pub requests: u32,
    pub per: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a rate: write requests/time, such as 100/1m or 10/1s")]
pub struct RateError(String);

impl FromStr for RateSpec {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let parse = || {
            let (requests, per) = text.split_once('/')?;
            let (requests, per) = (requests.trim(), per.trim());
            let digits = requests.bytes().all(|b| b.is_ascii_digit());
            let requests = requests.parse().ok().filter(|requests| digits && *requests > 0)?;
            // A unit alone means one of it.
            let one = if per.starts_with(|c: char| c.is_ascii_alphabetic()) { "1" } else { "" };
            let per = parse_duration(&format!("{one}{per}")).ok().filter(|per| !per.is_zero())?;
            Some(Self { requests, per })
        };
        parse().ok_or_else(|| RateError(text.to_owned()))
    }
}

impl fmt::Display for RateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:?}", self.requests, self.per)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_parsed() {
        for (text, requests, ms) in [
            ("100/1m", 100, 60_000),
            ("10/s", 10, 1_000),
            ("5 / 500ms", 5, 500),
            ("1/60", 1, 60_000),
            ("7/1.5h", 7, 5_400_000),
        ] {
            let expected = RateSpec { requests, per: Duration::from_millis(ms) };
            assert_eq!(text.parse::<RateSpec>().unwrap(), expected, "{text}");
        }
        for text in
            ["", "100", "/1m", "100/", "0/1m", "100/0s", "-1/1m", "+1/1m", "1.5/1m", "a/b", "1/1m/1m", "9999999999/1m"]
        {
            assert!(text.parse::<RateSpec>().is_err(), "{text}");
        }
    }
}
