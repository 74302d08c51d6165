//! Makes the url that the app sees of a request's target and its `Host` (RFC 9112, section 3).
//! Invariant: the url is `scheme://authority` followed by nothing or by `/` or `?`, and the authority holds no
//! character that could end it early or start user information, so no parser of urls finds another host in it.

use hearth_core::Method;

use crate::ascii::is_name;
use crate::reject::Reject;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    /// `/path?query`
    Origin(&'a str),
    /// `http://authority/path?query`. Its authority replaces `Host`; its scheme is ignored for the listener's.
    Absolute { authority: &'a str, path: &'a str },
    /// `*`, for OPTIONS.
    Asterisk,
}

impl<'a> RequestTarget<'a> {
    pub fn parse(method: &Method, target: &'a str) -> Result<Self, Reject> {
        if !has_valid_bytes(target) {
            return Err(Reject::Target);
        }
        if target.starts_with('/') {
            return Ok(Self::Origin(target));
        }
        if target == "*" {
            return if *method == Method::Options { Ok(Self::Asterisk) } else { Err(Reject::Target) };
        }
        let after = after_scheme(target).ok_or(Reject::Target)?;
        let (authority, path) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
        if !valid_authority(authority.as_bytes()) {
            return Err(Reject::Target);
        }
        Ok(Self::Absolute { authority, path })
    }

    /// The url, with `host` (checked by the caller) where the target names none. The scheme has its `://`.
    pub fn url(self, scheme: &str, host: &str) -> String {
        match self {
            Self::Absolute { authority, path } => compose(scheme, authority, path),
            Self::Origin(path) => compose(scheme, host, path),
            Self::Asterisk => compose(scheme, host, ""),
        }
    }
}

/// Composes a url whose authority is normalised: in lower case, without the scheme's default port.
pub fn compose(scheme: &str, authority: &str, path: &str) -> String {
    let port = if scheme == "https://" { ":443" } else { ":80" };
    let bare = authority.strip_suffix(port).or_else(|| authority.strip_suffix(':')).unwrap_or(authority);
    let mut url = String::with_capacity(scheme.len() + bare.len() + path.len());
    url.push_str(scheme);
    url.push_str(bare);
    url[scheme.len()..].make_ascii_lowercase();
    url.push_str(path);
    url
}

/// Looser than RFC 3986, since clients send other characters and no parser ends a target there; but no fragments, and no
/// characters that every client encodes.
fn has_valid_bytes(target: &str) -> bool {
    let mut in_query = false;
    target.bytes().all(|byte| {
        in_query |= byte == b'?';
        match byte {
            b'#' | b'"' | b'<' | b'>' => false,
            b'`' => in_query,
            _ => true,
        }
    })
}

fn after_scheme(target: &str) -> Option<&str> {
    ["http://", "https://"].into_iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// A host (name, IPv4 or bracketed IPv6) and perhaps a port. Stricter than RFC 3986: no percent-encoding, no future IP
/// literals, no empty host.
pub fn valid_authority(text: &[u8]) -> bool {
    let (host_valid, rest) = if text.first() == Some(&b'[') {
        let Some(end) = memchr::memchr(b']', text) else { return false };
        let address = std::str::from_utf8(&text[1..end]).ok();
        (address.is_some_and(|a| a.parse::<std::net::Ipv6Addr>().is_ok()), &text[end + 1..])
    } else {
        let mut rest = text;
        while let [byte, after @ ..] = rest {
            if !is_name(*byte) {
                break;
            }
            rest = after;
        }
        (rest.len() < text.len(), rest)
    };
    let port_valid = match rest {
        [] => true,
        [b':', port @ ..] => {
            // A byte that is no digit makes the port invalid.
            let value = |byte: &u8| match byte.wrapping_sub(b'0') {
                digit @ 0..=9 => u32::from(digit),
                _ => 1 << 17,
            };
            port.len() <= 5 && port.iter().fold(0, |n, byte| n * 10 + value(byte)) <= 65_535
        }
        _ => false,
    };
    host_valid && port_valid
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn authorities() {
        for good in ["a", "a.b-c_d~", "127.0.0.1:80", "localhost:65535", "[::1]", "[2001:db8::1]:8080", "a:", "A.B"] {
            assert!(valid_authority(good.as_bytes()), "{good}");
        }
        for bad in
            ["", ":80", "a:b", "a:65536", "a:123456", "u@a", "a/b", "a?b", "a#b", "a\\b", "a b", "[::1", "[::1]x", "é"]
        {
            assert!(!valid_authority(bad.as_bytes()), "{bad}");
        }
        for bad in ["a:80:80", "[fe80::1%25eth0]", "[v1.x]", "[]", "a%41", "a,b@c", "[::1]:", "a\t"] {
            assert_eq!(valid_authority(bad.as_bytes()), bad == "[::1]:", "{bad}");
        }
    }

    #[test]
    fn targets_become_urls() {
        let url = |method: &str, target| {
            RequestTarget::parse(&Method::parse(method), target).map(|t| t.url("http://", "h:1")).map_err(|_| ())
        };
        assert_eq!(url("GET", "/").unwrap(), "http://h:1/");
        assert_eq!(url("GET", "//evil/x?y=/#"), Err(()));
        assert_eq!(url("GET", "//evil/x?y=/").unwrap(), "http://h:1//evil/x?y=/");
        assert_eq!(url("GET", "/é|{}").unwrap(), "http://h:1/é|{}");
        assert_eq!(url("OPTIONS", "*").unwrap(), "http://h:1");
        assert_eq!(url("GET", "HTTPS://Other:2/X").unwrap(), "http://other:2/X");
        assert_eq!(url("GET", "http://OTHER:80/").unwrap(), "http://other/");
        assert_eq!(url("GET", "http://other:").unwrap(), "http://other");
        assert_eq!(url("GET", "http://other?x").unwrap(), "http://other?x");
        assert_eq!(url("GET", "/?`").unwrap(), "http://h:1/?`");
        assert_eq!(compose("https://", "[2001:DB8::1]:443", "/A"), "https://[2001:db8::1]/A");
        assert_eq!(compose("https://", "h:80", ""), "https://h:80");
        assert_eq!(compose("http://", "h:8080", "?q"), "http://h:8080?q");
        for bad in ["/`", "/<", "/?\"", "/?>"] {
            assert_eq!(url("GET", bad), Err(()), "{bad}");
        }
        for bad in ["*", "x", "", "http:/", "http://", "http:///x", "http://a@b/", "http://a\\b/", "ftp://a/", "a:80"] {
            assert_eq!(url("GET", bad), Err(()), "{bad}");
        }
    }
}
