//! Cron expressions, compared with a calendar that advances day by day.

use super::*;

/// 2024-01-01, a Monday.
const START: i64 = 1_704_067_200;

fn next(text: &str, from: i64) -> Option<i64> {
    Cron::parse(text).unwrap_or_else(|error| panic!("{error}")).next_after(from)
}

#[test]
fn next_times() {
    let (minute, hour) = (60, 3_600);
    for (text, after) in [
        ("* * * * *", minute),
        ("* * * * * *", 1),
        ("*/15 * * * * *", 15),
        ("0 * * * *", hour),
        ("30 4 * * *", 4 * hour + 30 * minute),
        ("0 0 * * *", DAY),
        ("0 0 * * 1", 7 * DAY),
        ("0 0 * * MON", 7 * DAY),
        ("0 0 * * sun", 6 * DAY),
        ("0 0 * * 7", 6 * DAY),
        ("0 0 * * fri-sun", 4 * DAY),
        ("0 0 * * 5-7", 4 * DAY),
        ("0 0 1 * *", 31 * DAY),
        ("0 0 1 feb *", 31 * DAY),
        ("0 0 29 2 *", 59 * DAY),
        ("0 0 31 12 *", 365 * DAY),
        ("0 0 15 * 3", 2 * DAY),
        ("0 0 */2 * 3", 2 * DAY),
        ("0 0 */2 * 2", 8 * DAY),
        ("@hourly", hour),
        ("@daily", DAY),
        ("@midnight", DAY),
        ("@weekly", 6 * DAY),
        ("@monthly", 31 * DAY),
        ("@yearly", 366 * DAY),
        (" 5,10-20/5,40  *\t* * * ", 5 * minute),
        ("23 */2 0-23/3 1-31 jan,FEB 0-7", 23),
    ] {
        assert_eq!(next(text, START), Some(START + after), "{text}");
    }
    assert_eq!(next("0 0 1 1 *", START - 1), Some(START), "the very next second");
    assert_eq!(next("* * * * *", -61), Some(-60), "before 1970");
}

#[test]
fn impossible_dates_never_come() {
    for text in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 *"] {
        assert_eq!(next(text, START), None, "{text}");
    }
    // If a weekday is sufficient, there is always a next time.
    assert!(next("0 0 30 2 1", START).is_some());
    // 29 February on a Sunday, across the year 2100, which has none.
    let sunday = next("0 0 29 2 */7", START).unwrap();
    assert_eq!(Date::of_day(sunday / DAY).year, 2032);
    assert_eq!(Date::of_day(next("0 0 29 2 */7", 3_800_000_000).unwrap() / DAY).year, 2128);
    for from in [i64::MAX, i64::MAX - 1, i64::MAX - DAY] {
        assert_eq!(next("0 0 1 1 *", from), None, "{from}");
    }
    assert!(next("* * * * * *", i64::MIN).is_some());
    assert!(next("0 0 1 1 *", i64::MAX / 2).is_some());
}

#[test]
fn errors_name_the_field() {
    for (text, expected) in [
        ("", "it has 0 fields"),
        ("* * * *", "it has 4 fields, and needs 5"),
        ("* * * * * * *", "it has 7 fields"),
        ("60 * * * *", "the minute \"60\" is neither a number from 0 to 59"),
        ("60 * * * * *", "the second \"60\""),
        ("* 24 * * *", "the hour \"24\""),
        ("* * 0 * *", "the day of the month \"0\" is neither a number from 1 to 31"),
        ("* * * 13 *", "the month \"13\""),
        ("* * * foo *", "the month \"foo\""),
        ("* * * * 8", "the day of the week \"8\""),
        ("* * * * mon-foo", "the day of the week \"mon-foo\""),
        ("5-3 * * * *", "the minute \"5-3\" runs backwards"),
        ("*/0 * * * *", "the step in the minute \"*/0\""),
        ("*/x * * * *", "the step in the minute"),
        ("5/10 * * * *", "the step in the minute \"5/10\""),
        ("1,,2 * * * *", "the minute \"\""),
        ("-1 * * * *", "the minute \"-1\""),
        ("+1 * * * *", "the minute \"+1\""),
        ("? * * * *", "the minute \"?\""),
        ("99999999999999999999 * * * *", "the minute"),
        ("@reboot", "@hourly, @daily"),
    ] {
        let error = Cron::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

/// A day of a calendar that can only advance by one.
#[derive(Clone, Copy)]
struct Plain {
    year: i64,
    month: i64,
    day: i64,
    weekday: i64,
}

impl Plain {
    fn next(self) -> Self {
        let leap = self.year % 4 == 0 && self.year % 100 != 0 || self.year % 400 == 0;
        let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let weekday = (self.weekday + 1) % 7;
        match self {
            Self { day, month, .. } if day < lengths[month as usize - 1] => Self { day: day + 1, weekday, ..self },
            Self { month: 12, year, .. } => Self { year: year + 1, month: 1, day: 1, weekday },
            Self { month, .. } => Self { month: month + 1, day: 1, weekday, ..self },
        }
    }
}

#[test]
fn dates_are_those_of_the_calendar() {
    let mut plain = Plain { year: 1970, month: 1, day: 1, weekday: 4 };
    for number in 0..2 * CYCLE {
        let date = Date::of_day(number);
        assert_eq!(
            (date.year, date.month, date.day, date.weekday()),
            (plain.year, plain.month, plain.day, plain.weekday)
        );
        if plain.day == 1 {
            assert_eq!(Date::of_day(number - 1).next_month(), number);
        }
        plain = plain.next();
    }
    let date = Date::of_day(-1);
    assert_eq!((date.year, date.month, date.day, date.weekday()), (1969, 12, 31, 3));
}

/// A field as a list of its numbers, parsed by a second implementation.
fn allows(field: &str, number: i64, least: i64, most: i64) -> bool {
    field.split(',').any(|part| {
        let (range, step) = part.split_once('/').map_or((part, 1), |(range, step)| (range, step.parse().unwrap()));
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
            None if range == "*" => (least, most),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        (first..=last).step_by(step).any(|allowed: i64| allowed == number)
    })
}

/// The numbers that each field allows.
struct Tables {
    fields: [Vec<bool>; 6],
    either: bool,
}

impl Tables {
    fn of(fields: &[String]) -> Self {
        let table =
            |at: usize, least, most| (0..=most).map(|n| allows(&fields[at], n, least, most)).collect::<Vec<_>>();
        let mut weekdays = table(5, 0, 6);
        weekdays[0] |= allows(&fields[5], 7, 0, 6);
        let either = !fields[3].starts_with('*') && !fields[5].starts_with('*');
        let fields = [table(0, 0, 59), table(1, 0, 59), table(2, 0, 23), table(3, 1, 31), table(4, 1, 12), weekdays];
        Self { fields, either }
    }

    fn time(&self, second: i64) -> bool {
        let [seconds, minutes, hours, ..] = &self.fields;
        seconds[second as usize % 60] && minutes[second as usize / 60 % 60] && hours[second as usize / 3600]
    }

    fn day(&self, plain: Plain) -> bool {
        let [.., days, months, weekdays] = &self.fields;
        let (day, weekday) = (days[plain.day as usize], weekdays[plain.weekday as usize]);
        months[plain.month as usize] && if self.either { day || weekday } else { day && weekday }
    }
}

#[test]
fn brute_force_finds_the_same() {
    const DAYS: i64 = 1_000;
    let mut some = 0;
    let mut numbers = 0x5eed_u64;
    let mut below = |limit: i64| {
        numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (numbers >> 33) as i64 % limit
    };
    for _ in 0..400 {
        let mut fields = Vec::new();
        for (least, most) in [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7)] {
            let mut number = || least + below(most - least + 1);
            let (a, b, c) = (number(), number(), number());
            fields.push(match below(6) {
                0 | 1 => "*".to_owned(),
                2 => format!("{a}"),
                3 => format!("{a},{b}"),
                4 => format!("*/{}", c.max(1)),
                _ => format!("{}-{}/{}", a.min(b), a.max(b), c.clamp(1, 5)),
            });
        }
        let text = fields.join(" ");
        let start = below(8_000) * DAY + below(DAY);
        // The day-by-day calendar over some years.
        let mut plain = Plain { year: 1970, month: 1, day: 1, weekday: 4 };
        for _ in 0..start / DAY {
            plain = plain.next();
        }
        let tables = Tables::of(&fields);
        let (mut found, mut from) = (None, start % DAY + 1);
        for day in start / DAY..start / DAY + DAYS {
            let time = if tables.day(plain) { (from..DAY).find(|second| tables.time(*second)) } else { None };
            if let Some(time) = time {
                found = Some(day * DAY + time);
                break;
            }
            (plain, from) = (plain.next(), 0);
        }
        let next = next(&text, start);
        let end = (start / DAY + DAYS) * DAY;
        assert_eq!(next.filter(|next| *next < end), found, "{text} after {start}");
        some += usize::from(found.is_some());
    }
    assert!(some > 300, "{some} of them come");
}
