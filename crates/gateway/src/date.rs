//! The `date` header's value, written anew only when the second changes.

/// `Sun, 06 Nov 1994 08:49:37 GMT`
pub type DateText = [u8; 29];

#[derive(Debug)]
pub struct DateCache {
    unix: u64,
    text: DateText,
}

/// A point in time as calendars have it, in UTC.
pub struct Civil {
    pub year: u64,
    pub month: u64,
    pub day: u64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
}

impl Civil {
    /// From seconds since 1970.
    pub fn at(unix: u64) -> Self {
        let second = unix % 86_400;
        let (year, month, day) = civil(unix / 86_400);
        Self { year, month, day, hour: second / 3600, minute: second / 60 % 60, second: second % 60 }
    }
}

impl DateCache {
    pub fn new() -> Self {
        Self { unix: 0, text: format(0) }
    }

    pub fn at(&mut self, unix: u64) -> &DateText {
        if self.unix != unix {
            *self = Self { unix, text: format(unix) };
        }
        &self.text
    }
}

fn format(unix: u64) -> DateText {
    const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
    const MONTHS: [&[u8; 3]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let days = unix / 86_400;
    let Civil { year, month, day, hour, minute, second } = Civil::at(unix);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[..3].copy_from_slice(DAYS[(days % 7) as usize]);
    two(&mut text[5..7], day);
    text[8..11].copy_from_slice(MONTHS[(month - 1) as usize]);
    two(&mut text[12..14], year / 100);
    two(&mut text[14..16], year % 100);
    two(&mut text[17..19], hour);
    two(&mut text[20..22], minute);
    two(&mut text[23..25], second);
    text
}

fn two(place: &mut [u8], number: u64) {
    place[0] = b'0' + (number / 10 % 10) as u8;
    place[1] = b'0' + (number % 10) as u8;
}

/// Year, month and day of a day counted from 1970-01-01 (Howard Hinnant's algorithm).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_imf_fixdates() {
        for (unix, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (1_735_689_600, "Wed, 01 Jan 2025 00:00:00 GMT"),
        ] {
            assert_eq!(std::str::from_utf8(DateCache::new().at(unix)), Ok(text));
        }
    }
}
