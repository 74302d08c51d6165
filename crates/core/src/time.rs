//! Time as text and as calendar dates, in UTC: milliseconds since 1970, RFC 3339, and the civil date of a day.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time as a calendar and a clock show it, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    pub year: u64,
    /// From 1 to 12.
    pub month: u64,
    /// From 1 to 31.
    pub day: u64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
}

impl CivilTime {
    /// From seconds since 1970.
    pub fn from_unix(seconds: u64) -> Self {
        let second = seconds % 86_400;
        let (year, month, day) = civil_date(seconds / 86_400);
        Self { year, month, day, hour: second / 3_600, minute: second / 60 % 60, second: second % 60 }
    }
}

/// Milliseconds since 1970; 0 on a machine whose clock is before that.
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `2026-11-16T00:10:35.123Z`, from milliseconds since 1970.
pub fn rfc3339(milliseconds: u64) -> String {
    let CivilTime { year, month, day, hour, minute, second } = CivilTime::from_unix(milliseconds / 1_000);
    let fraction = milliseconds % 1_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// Year, month and day of a day counted from 1970-01-01 (Howard Hinnant's algorithm). Years are counted from March, so
/// that a leap day is the last day of its year.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(milliseconds), text);
        }
    }
}
