//! Parses one field of a cron expression to a set of numbers.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression:?} is not a cron expression: {reason}")]
pub struct CronError {
    pub expression: String,
    pub reason: CronReason,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronReason {
    #[error("it has {found} fields, and needs 5 (minute hour day month weekday), or 6 with seconds in front")]
    Fields { found: usize },
    #[error("of such words there are @hourly, @daily, @weekly, @monthly and @yearly")]
    Nickname,
    #[error(
        "the {field} {text:?} is neither a number from {least} to {most} nor a list, a range or a step of them, nor *"
    )]
    Number { field: &'static str, text: String, least: u64, most: u64 },
    #[error("the {field} {text:?} runs backwards: write the smaller number first, or two ranges")]
    Backwards { field: &'static str, text: String },
    #[error("the step in the {field} {text:?} must be a number from 1 on, behind * or a range, as in */5 or 10-30/5")]
    Step { field: &'static str, text: String },
}

pub(super) struct Field {
    name: &'static str,
    least: u64,
    most: u64,
    /// Names of the numbers from `least` on.
    names: &'static [&'static str],
}

pub(super) const SECOND: Field = Field { name: "second", least: 0, most: 59, names: &[] };
pub(super) const MINUTE: Field = Field { name: "minute", least: 0, most: 59, names: &[] };
pub(super) const HOUR: Field = Field { name: "hour", least: 0, most: 23, names: &[] };
pub(super) const DAY: Field = Field { name: "day of the month", least: 1, most: 31, names: &[] };
pub(super) const MONTH: Field = Field {
    name: "month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Sunday is both 0 and 7, so that it can begin and end a range.
pub(super) const WEEKDAY: Field =
    Field { name: "day of the week", least: 0, most: 7, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

// === impl Field ===

impl Field {
    pub(super) fn parse(&self, text: &str) -> Result<u64, CronReason> {
        let mut set = 0;
        for part in text.split(',') {
            set |= self.part(part)?;
        }
        // The one number that has two values in a field.
        if self.most == 7 && set & 1 << 7 != 0 { Ok(set & !(1 << 7) | 1) } else { Ok(set) }
    }

    fn part(&self, text: &str) -> Result<u64, CronReason> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (text, None),
        };
        let wrong =
            || CronReason::Number { field: self.name, text: text.to_owned(), least: self.least, most: self.most };
        let (first, last) = match range.split_once('-') {
            // Counted only once: a second value for Sunday would break the step.
            None if range == "*" => (self.least, if self.most == 7 { 6 } else { self.most }),
            None if step.is_some() => return Err(CronReason::Step { field: self.name, text: text.to_owned() }),
            None => self.number(range).map(|number| (number, number)).ok_or_else(wrong)?,
            Some((first, last)) => {
                let (first, last) = (self.number(first).ok_or_else(wrong)?, self.number(last).ok_or_else(wrong)?);
                // `fri-sun`: Sunday at the end of a range is 7.
                (first, if self.most == 7 && last == 0 && first > 0 { 7 } else { last })
            }
        };
        if first > last {
            return Err(CronReason::Backwards { field: self.name, text: text.to_owned() });
        }
        let step = match step.map(|step| digits(step).filter(|step| *step > 0)) {
            None => 1,
            Some(Some(step)) => step,
            Some(None) => return Err(CronReason::Step { field: self.name, text: text.to_owned() }),
        };
        Ok((first..=last).filter(|number| (number - first) % step == 0).fold(0, |set, number| set | 1 << number))
    }

    fn number(&self, text: &str) -> Option<u64> {
        let named = || self.names.iter().zip(self.least..).find(|(name, _)| name.eq_ignore_ascii_case(text));
        let number = digits(text).or_else(|| named().map(|(_, number)| number))?;
        (self.least..=self.most).contains(&number).then_some(number)
    }
}

fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}
