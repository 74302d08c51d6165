//! The path of a request, parsed into names below the folder.
//!
//! There are three results: names that a file may have; a path that no file can have but that a
//! page's router may know (`//`, an encoded slash, a name that is too long); and an error, which no
//! fallback turns into a page: `..` in any encoding, names with a leading dot, backslashes, NUL and
//! other control characters, and invalid UTF-8.
//! Invariant: no name is empty, contains a slash, or begins with a dot, except for `.well-known` at
//! the top.

use hearth_core::percent::{decode_bytes, encode};

/// The longest file name, in bytes.
const MAX_NAME_BYTES: usize = 255;
const MAX_DEPTH: usize = 64;
/// Rounds after the first only search for text that a later component might decode to `..`.
const MAX_DECODE_ROUNDS: usize = 4;
const WELL_KNOWN: &str = ".well-known";

#[derive(Debug, PartialEq, Eq)]
pub struct RequestPath {
    names: Vec<String>,
    pub ending: PathEnd,
    reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    Name,
    Slash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// A file may have these names.
    Files,
    /// No file can.
    Routes,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    Encoding,
    Character,
    Climbs,
    Hidden,
}

impl RequestPath {
    /// `text` is percent-encoded, has no query, and is empty or begins with a slash.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let rest = text.strip_prefix('/').unwrap_or(text);
        let mut path = Self { names: Vec::new(), ending: PathEnd::Name, reach: Reach::Files };
        if rest.is_empty() {
            path.ending = if text.is_empty() { PathEnd::Name } else { PathEnd::Slash };
            return Ok(path);
        }
        let rest = rest.strip_suffix('/').inspect(|_| path.ending = PathEnd::Slash).unwrap_or(rest);
        for piece in rest.split('/') {
            let name = decode_name(piece)?;
            let is_top = path.names.is_empty() && path.reach == Reach::Files;
            if name.split('/').any(|part| part.starts_with('.') && !(is_top && part == WELL_KNOWN)) {
                return Err(BadPath::Hidden);
            }
            if name.is_empty() || name.contains('/') || name.len() > MAX_NAME_BYTES || path.names.len() == MAX_DEPTH {
                path.reach = Reach::Routes;
            }
            path.names.push(name);
        }
        Ok(path)
    }

    /// The names of the requested file; `None` if no file can have this path.
    pub fn names(&self) -> Option<&[String]> {
        (self.reach == Reach::Files).then_some(&self.names)
    }

    /// Whether the path may belong to a page's router, which is so if its last name has no
    /// extension.
    pub fn is_route(&self) -> bool {
        let is_well_known = self.names.first().is_some_and(|name| name == WELL_KNOWN);
        !is_well_known && self.names.last().is_none_or(|name| extension(name).is_none())
    }

    /// The names of the folders on the way to the file.
    pub fn folders(&self) -> &[String] {
        self.names.split_last().map_or(&[], |(_, folders)| folders)
    }

    /// The same path with this end, encoded, without a leading slash.
    pub fn encoded(&self, ending: PathEnd) -> String {
        let mut text = String::new();
        for name in &self.names {
            encode(&mut text, name, is_path_byte);
            text.push('/');
        }
        if ending == PathEnd::Name {
            text.pop();
        }
        text
    }
}

/// The part after the last dot, if neither part is empty.
pub fn extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then_some(extension)
}

/// Appends a query and encodes bytes that headers do not allow.
pub fn push_query(text: &mut String, query: &str) {
    encode(text, query, |byte| byte.is_ascii_graphic());
}

fn decode_name(piece: &str) -> Result<String, BadPath> {
    let mut bytes = decode_bytes(piece.as_bytes()).ok_or(BadPath::Encoding)?;
    let name = String::from_utf8(bytes.clone()).map_err(|_| BadPath::Encoding)?;
    if name.chars().any(char::is_control) {
        return Err(BadPath::Character);
    }
    for _ in 0..MAX_DECODE_ROUNDS {
        if bytes.iter().any(|byte| matches!(byte, 0 | b'\\')) {
            return Err(BadPath::Character);
        }
        if bytes.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err(BadPath::Climbs);
        }
        match decode_bytes(&bytes) {
            Some(again) if again != bytes => bytes = again,
            _ => break,
        }
    }
    Ok(name)
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_once() {
        let names = |text| RequestPath::parse(text).unwrap().names().map(|names| names.join("|"));
        for (text, joined) in [
            ("", ""),
            ("/", ""),
            ("/a", "a"),
            ("/a/b.js", "a|b.js"),
            ("/a/", "a"),
            ("/a%20b/%C3%A9", "a b|é"),
            ("/%61%2Ehtml", "a.html"),
            ("/100%25.html", "100%.html"),
            ("/a%2541", "a%41"),
            ("/C:/x", "C:|x"),
            ("/.well-known/acme", ".well-known|acme"),
            ("/%2ewell-known/acme", ".well-known|acme"),
            ("/a..b/c..", "a..b|c.."),
        ] {
            assert_eq!(names(text).as_deref(), Some(joined), "{text}");
        }
        let long = format!("/{}", "x".repeat(256));
        let deep = "/a".repeat(65);
        for text in ["//", "//evil.com", "/a//b", "/a%2Fb", "/https%3A%2F%2Fx", &long, &deep] {
            assert_eq!(names(text), None, "{text}");
        }
    }

    #[test]
    fn paths_that_climb_or_are_hidden_are_refused() {
        use BadPath::*;
        for (text, why) in [
            ("/..", Climbs),
            ("/../etc/passwd", Climbs),
            ("/a/../b", Climbs),
            ("/a/..", Climbs),
            ("/a/../", Climbs),
            ("/%2e%2e/x", Climbs),
            ("/%2E./x", Climbs),
            ("/.%2e", Climbs),
            ("/%2e%2e%2fetc", Climbs),
            ("/..%2f..%2fetc", Climbs),
            ("/%252e%252e/x", Climbs),
            ("/%252e%252e%252fetc", Climbs),
            ("/%25252e%25252e%25252fetc", Climbs),
            ("/a%2F..%2Fb", Climbs),
            ("/..\\..\\x", Character),
            ("/..%5c..%5cx", Character),
            ("/a%255c..", Character),
            ("/a\\b", Character),
            ("/C:\\x", Character),
            ("/a%00.html", Character),
            ("/a%2500.html", Character),
            ("/a%0d%0aset-cookie:x", Character),
            ("/a%7f", Character),
            ("/a%c2%85", Character),
            ("/%c0%ae%c0%ae/x", Encoding),
            ("/%ff", Encoding),
            ("/%", Encoding),
            ("/%4", Encoding),
            ("/%zz", Encoding),
            ("/%+1", Encoding),
            ("/%é", Encoding),
            ("/%u002e", Encoding),
            ("/.env", Hidden),
            ("/%2eenv", Hidden),
            ("/.git/config", Hidden),
            ("/a/.git/config", Hidden),
            ("/a%2F.git", Hidden),
            ("/.", Hidden),
            ("/./a", Hidden),
            ("/...", Hidden),
            ("/..;/x", Hidden),
            ("/a/.well-known/x", Hidden),
            ("/.well-known/.x", Hidden),
            ("/.well-known-not", Hidden),
            ("//.well-known/x", Hidden),
        ] {
            assert_eq!(RequestPath::parse(text), Err(why), "{text}");
        }
    }

    #[test]
    fn routes_have_no_extension() {
        let is_route = |text| RequestPath::parse(text).unwrap().is_route();
        for text in ["", "/", "/deep/link", "/deep/link/", "/v1.2/x", "/a.", "//x", "/a%2Fb", "/https%253A%252F%252Fx"]
        {
            assert!(is_route(text), "{text}");
        }
        for text in ["/missing.js", "/a/b.css/", "/john.doe", "/a.b.c", "/a%2Eb", "/.well-known/x", "/a%2Fb.js"] {
            assert!(!is_route(text), "{text}");
        }
    }

    #[test]
    fn folders_are_encoded_again() {
        let folder = |text| RequestPath::parse(text).unwrap().encoded(PathEnd::Slash);
        assert_eq!(folder("/a%20b/%C3%A9@1"), "a%20b/%C3%A9@1/");
        assert_eq!(folder("/a%3Fb/c%23%25"), "a%3Fb/c%23%25/");
        assert_eq!(folder(""), "");
        assert_eq!(RequestPath::parse("/a%3Fb/c/").unwrap().encoded(PathEnd::Name), "a%3Fb/c");
        let mut text = String::new();
        push_query(&mut text, "a=1&b=%20\r\né\"");
        assert_eq!(text, "a=1&b=%20%0D%0A%C3%A9\"");
    }
}
