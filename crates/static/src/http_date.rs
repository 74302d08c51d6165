//! HTTP dates, in whole seconds since 1970.

use std::time::{Duration, UNIX_EPOCH};

/// The first second of the year 10000, which HTTP dates cannot express.
const END: u64 = 253_402_300_800;

/// `None` for times that HTTP dates cannot express.
pub fn format(seconds: u64) -> Option<String> {
    (seconds < END).then(|| httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds)))
}

/// Parses all three forms (RFC 9110, section 5.6.7).
pub fn parse(text: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(text).ok()?.trim()).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let text = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(format(784_111_777).as_deref(), Some(text));
        for text in [text, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse(text.as_bytes()), Some(784_111_777), "{text}");
        }
        assert_eq!(format(END), None);
        assert!(format(END - 1).is_some());
        for text in ["", "yesterday", "0", "Sun, 06 Nov 1994"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"\xff"), None);
    }
}
