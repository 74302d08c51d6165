//! The parts of an absolute URL. Every request's URL is parsed, so it is read once.

pub(super) struct UrlParts<'a> {
    /// With its port.
    pub(super) host: &'a str,
    /// Without its query.
    pub(super) path: &'a str,
    /// Where in the URL the path begins.
    pub(super) start: usize,
    /// What follows the question mark.
    pub(super) query: Option<&'a str>,
}

impl<'a> UrlParts<'a> {
    pub(super) fn parse(url: &'a str) -> Self {
        // The gateway writes one of the first two; an absolute URL of a client may be in any case.
        let authority = match url {
            _ if url.starts_with("http://") => 7,
            _ if url.starts_with("https://") => 8,
            _ => url.find("://").map_or(0, |at| at + 3),
        };
        let start = find(url, authority, |byte| matches!(byte, b'/' | b'?' | b'#'));
        let end = find(url, start, |byte| matches!(byte, b'?' | b'#'));
        Self {
            host: &url[authority..start],
            path: if start == end { "/" } else { &url[start..end] },
            start,
            query: url[end..].split_once('?').map(|(_, query)| query),
        }
    }
}

/// The position of the first such byte from `from` on, or the end.
fn find(url: &str, from: usize, is: impl Fn(u8) -> bool) -> usize {
    let rest = &url.as_bytes()[from..];
    rest.iter().position(|byte| is(*byte)).map_or(url.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_into_parts() {
        for (url, host, path, start, query) in [
            ("http://a:1/b/c?d=/e?f", "a:1", "/b/c", 10, Some("d=/e?f")),
            ("http://a", "a", "/", 8, None),
            ("http://a?b", "a", "/", 8, Some("b")),
            ("https://[::1]:80/", "[::1]:80", "/", 16, None),
            ("http://a/b#c?d", "a", "/b", 8, Some("d")),
            ("HTTPS://a:2/b", "a:2", "/b", 11, None),
            ("a/b", "a", "/b", 1, None),
        ] {
            let parts = UrlParts::parse(url);
            assert_eq!((parts.host, parts.path), (host, path), "{url}");
            assert_eq!((parts.start, parts.query), (start, query), "{url}");
        }
    }
}
