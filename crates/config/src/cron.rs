//! Cron expressions: `minute hour day month weekday`, optionally with seconds in front; in UTC.
//!
//! Lists, ranges, steps, names of months and weekdays, and `@hourly` and the like. As in Vixie's
//! cron, if both day and weekday are restricted, one of them has to match; a field that begins with
//! `*` is not restricted, so `*/2` and a weekday must both match.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::as_text;

mod date;
mod field;

use date::Date;
use field::Field;
pub use field::{CronError, CronReason};

/// Leap seconds are not counted.
const DAY: i64 = 86_400;
/// The calendar repeats after 400 years, weekdays included: a time that does not come until then
/// never comes.
const CYCLE: i64 = 146_097;

/// Each set has a bit for each number that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    together: Days,
}

/// How day of month and weekday are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Days {
    Both,
    Either,
}

// === impl Cron ===

impl Cron {
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let wrong = |reason| CronError { expression: text.to_owned(), reason };
        let fields: Vec<&str> = match text.trim() {
            "@hourly" => vec!["0", "*", "*", "*", "*"],
            "@daily" | "@midnight" => vec!["0", "0", "*", "*", "*"],
            "@weekly" => vec!["0", "0", "*", "*", "0"],
            "@monthly" => vec!["0", "0", "1", "*", "*"],
            "@yearly" | "@annually" => vec!["0", "0", "1", "1", "*"],
            nick if nick.starts_with('@') => return Err(wrong(CronReason::Nickname)),
            fields => fields.split_ascii_whitespace().collect(),
        };
        let (seconds, rest) = match fields.as_slice() {
            [_, _, _, _, _] => ("0", fields.as_slice()),
            [seconds, rest @ ..] if rest.len() == 5 => (*seconds, rest),
            _ => return Err(wrong(CronReason::Fields { found: fields.len() })),
        };
        let set = |field: &Field, text: &str| field.parse(text).map_err(wrong);
        let unrestricted = |at: usize| rest[at].starts_with('*');
        Ok(Self {
            text: text.trim().to_owned(),
            seconds: set(&field::SECOND, seconds)?,
            minutes: set(&field::MINUTE, rest[0])?,
            hours: set(&field::HOUR, rest[1])?,
            days: set(&field::DAY, rest[2])?,
            months: set(&field::MONTH, rest[3])?,
            weekdays: set(&field::WEEKDAY, rest[4])?,
            together: if unrestricted(2) || unrestricted(4) { Days::Both } else { Days::Either },
        })
    }

    /// The first time after this one, both in seconds since 1970; `None` if there is none, as for
    /// 30 February.
    pub fn next_after(&self, unix_seconds: i64) -> Option<i64> {
        let start = unix_seconds.checked_add(1)?;
        let (mut day, mut second) = (start.div_euclid(DAY), start.rem_euclid(DAY));
        let end = day + CYCLE;
        while day <= end {
            let date = Date::of_day(day);
            if !has(self.months, date.month) {
                (day, second) = (date.next_month(), 0);
                continue;
            }
            let time = if self.has_day(date) { self.time_from(second) } else { None };
            if let Some(time) = time {
                // Intermediate values may be out of range at the beginning of time.
                return i64::try_from(i128::from(day) * i128::from(DAY) + i128::from(time)).ok();
            }
            (day, second) = (day + 1, 0);
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let (day, weekday) = (has(self.days, date.day), has(self.weekdays, date.weekday()));
        match self.together {
            Days::Both => day && weekday,
            Days::Either => day || weekday,
        }
    }

    /// The first matching second of a day, from this one on.
    fn time_from(&self, second: i64) -> Option<i64> {
        for hour in (second / 3600..24).filter(|hour| has(self.hours, *hour)) {
            // In hours after the first, all minutes are still ahead; likewise for seconds.
            let from = (second - hour * 3600).max(0);
            for minute in (from / 60..60).filter(|minute| has(self.minutes, *minute)) {
                let from = (from - minute * 60).max(0);
                let found = (from..60).find(|second| has(self.seconds, *second));
                if let Some(found) = found {
                    return Some(hour * 3600 + minute * 60 + found);
                }
            }
        }
        None
    }
}

fn has(set: u64, number: i64) -> bool {
    set >> number & 1 == 1
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        Self::parse(text)
    }
}

impl fmt::Display for Cron {
    /// The original text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Cron {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        as_text::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        as_text::deserialize(from)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
