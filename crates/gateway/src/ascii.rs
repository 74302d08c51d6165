//! Classes of bytes, as tables; and searches that never stop early, so that they compile to vector instructions: their input
//! is short, and they run for every request.

const TOKEN: u8 = 1;
const NAME: u8 = 2;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() {
            classes[byte] = TOKEN | NAME;
        }
        byte += 1;
    }
    mark(mark(classes, b"!#$%&'*+-.^_`|~", TOKEN), b"-._~!$&'()*+,;=", NAME)
};

const fn mark(mut classes: [u8; 256], bytes: &[u8], class: u8) -> [u8; 256] {
    let mut at = 0;
    while at < bytes.len() {
        classes[bytes[at] as usize] |= class;
        at += 1;
    }
    classes
}

/// A character of methods and header names (RFC 9110, section 5.6.2).
pub fn is_token(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & TOKEN != 0
}

/// A character of host names: unreserved or a sub-delimiter (RFC 3986, section 3.2.2).
pub fn is_name(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & NAME != 0
}

/// Whether a header's value has a byte that some parser takes for the end of the line.
pub fn breaks_line(value: &[u8]) -> bool {
    value.iter().fold(false, |found, byte| found | matches!(byte, b'\r' | b'\n' | 0))
}

/// A line feed without a carriage return before it.
pub fn has_bare_line_feed(head: &[u8]) -> bool {
    let Some((first, rest)) = head.split_first() else { return false };
    let pairs = head.iter().zip(rest);
    *first == b'\n' || pairs.fold(false, |found, (before, byte)| found | (*byte == b'\n' && *before != b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        let of = |class: fn(u8) -> bool| (0..=255).filter(|b| class(*b)).map(char::from).collect::<String>();
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let small = letters.to_lowercase();
        assert_eq!(of(is_token), format!("!#$%&'*+-.0123456789{letters}^_`{small}|~"));
        assert_eq!(of(is_name), format!("!$&'()*+,-.0123456789;={letters}_{small}~"));
    }

    #[test]
    fn line_ends() {
        assert!(!has_bare_line_feed(b"") && !has_bare_line_feed(b"a\r\nb\r\n\r\n"));
        assert!(has_bare_line_feed(b"\n") && has_bare_line_feed(b"a\n") && has_bare_line_feed(b"\r\n\n"));
        assert!(breaks_line(b"a\r") && breaks_line(b"\n") && breaks_line(b"\0") && !breaks_line(b"a\tb\xff"));
    }
}
