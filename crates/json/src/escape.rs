//! Escapes: what follows a backslash.

use crate::scan::byte;

/// Reads the escape whose letter is at `at`, appends its character as UTF-8, and returns where it
/// ends. `None` for an unknown escape, and for half of a surrogate pair, which JavaScript's strings
/// can have and UTF-8 cannot.
pub(crate) fn read(text: &[u8], at: usize, into: &mut Vec<u8>) -> Option<usize> {
    into.push(match byte(text, at) {
        letter @ (b'"' | b'\\' | b'/') => letter,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return read_unicode(text, at + 1, into),
        _ => return None,
    });
    Some(at + 1)
}

fn read_unicode(text: &[u8], at: usize, into: &mut Vec<u8>) -> Option<usize> {
    let first = hex(text, at)?;
    let mut end = at + 4;
    let mut code = u32::from(first);
    if (0xd800..0xdc00).contains(&first) && text.get(end..end + 2) == Some(b"\\u") {
        let second = hex(text, end + 2)?;
        if (0xdc00..0xe000).contains(&second) {
            code = 0x10000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(second) - 0xdc00);
            end += 6;
        }
    }
    into.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
    Some(end)
}

fn hex(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)? as u16))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::read;

    fn unescaped(text: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let end = read(text.as_bytes(), 0, &mut bytes)?;
        assert_eq!(end, text.len(), "{text}");
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn escapes_are_what_json_says() {
        for (text, expected) in [
            ("n", "\n"),
            ("\"", "\""),
            ("/", "/"),
            ("b", "\u{8}"),
            ("u0000", "\0"),
            ("u00E9", "é"),
            ("uffff", "\u{ffff}"),
        ] {
            assert_eq!(unescaped(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(unescaped("ud83d\\ude00").as_deref(), Some("😀"));
        for text in [
            "",
            "x",
            "u",
            "u00",
            "u00g0",
            "u+123",
            "ud83d",
            "ud83d\\u0041",
            "ude00",
            "ud83dn",
            "ud83d\\ud83d",
            "'",
            "0",
        ] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }
}
