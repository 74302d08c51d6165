//! The `date` header's value, written anew only when the second changes.

use hearth_core::time::CivilTime;

/// `Sun, 06 Nov 1994 08:49:37 GMT`
pub type DateText = [u8; 29];

#[derive(Debug)]
pub struct DateCache {
    unix: u64,
    text: DateText,
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
    let CivilTime { year, month, day, hour, minute, second } = CivilTime::from_unix(unix);
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
