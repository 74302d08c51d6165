//! Escaping of untrusted text (of a server, an app, a file), and numbers in short form.

use std::fmt::Write as _;
use std::time::Duration;

/// Escapes line ends and control characters.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push(' '),
            c if steers(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The same, but keeps line ends.
pub fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// Control characters, line ends other than LF, and marks that change the writing direction.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `1 file`, `2 files`
pub fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// `512 B`, `1.5 kB`, `32 MB`: three digits are enough.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        // A value that would be shown as 1024 is one of the next unit.
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if unit == "B" || value >= 9.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// `850ms`, `12s`, `3m 5s`, `2h 10m`, `4d 3h`: the two largest parts.
pub fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m {}s", seconds % 60),
        3_600..86_400 => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(escape("a\nb\r\tc\x1b[31m\u{9b}2J\u{202e}ö"), "a\\nb\\r c\\u{1b}[31m\\u{9b}2J\\u{202e}ö");
        assert_eq!(escape_lines("a\r\n\x07b\n"), "a\n\\u{7}b");
    }

    #[test]
    fn sizes_and_times_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 kB"),
            (10_000, "9.8 kB"),
            (10_189, "10 kB"),
            (1 << 20, "1.0 MB"),
            ((1 << 20) - 1, "1.0 MB"),
            (5 << 30, "5.0 GB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
        for (milliseconds, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (59_999, "59s"),
            (185_000, "3m 5s"),
            (7_800_000, "2h 10m"),
            (356_400_000, "4d 3h"),
        ] {
            assert_eq!(time(Duration::from_millis(milliseconds)), text);
        }
        assert_eq!((count(1, "file"), count(0, "file")), ("1 file".into(), "0 files".into()));
    }
}
