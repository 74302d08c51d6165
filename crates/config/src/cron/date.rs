//! Days and dates of the proleptic Gregorian calendar.

/// Months and days count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    /// Days since 1970-01-01.
    number: i64,
}

impl Date {
    pub(super) fn of_day(number: i64) -> Self {
        // 400 years have 146,097 days; the estimate is off by one at most.
        let mut year = 1970 + (number * 400).div_euclid(146_097);
        while new_year(year) > number {
            year -= 1;
        }
        while new_year(year + 1) <= number {
            year += 1;
        }
        let (mut month, mut day) = (1, number - new_year(year) + 1);
        while day > month_length(year, month) {
            day -= month_length(year, month);
            month += 1;
        }
        Self { year, month, day, number }
    }

    /// The number of the first day after this month.
    pub(super) fn next_month(self) -> i64 {
        self.number + month_length(self.year, self.month) - self.day + 1
    }

    /// 0 is Sunday.
    pub(super) fn weekday(self) -> i64 {
        // 1970-01-01 was a Thursday.
        (self.number + 4).rem_euclid(7)
    }
}

/// The number of a year's first day.
fn new_year(year: i64) -> i64 {
    let before = year - 1;
    let leap_days = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    // There were 477 leap days before 1970.
    (year - 1970) * 365 + leap_days - 477
}

fn month_length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
