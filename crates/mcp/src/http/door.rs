//! Who is let in: programs that have the token, at an address that is ours. A web page must not get here through somebody's
//! browser, not even by a name that its owner pointed at this machine: so `Host` must be a number, `localhost` or a name
//! that the operator allowed, and `Origin`, which only browsers send, must be that of such an address too.

use std::net::IpAddr;

use hearth_core::Headers;

pub(super) struct Door {
    /// `None` where nothing can be done that needs one.
    token: Option<String>,
    hosts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    Open,
    /// No token, or a wrong one.
    Closed,
    /// The address that was asked for may be anybody's.
    ForeignHost,
    /// A page of somebody else's.
    ForeignOrigin,
}

impl Door {
    /// `hosts` are the names under which the server may be reached, beside numbers and localhost.
    pub(super) fn new(token: Option<String>, hosts: Vec<String>) -> Self {
        Self { token, hosts }
    }

    pub(super) fn entrance(&self, headers: &Headers) -> Entrance {
        match self.origin(headers) {
            Entrance::Open => {}
            other => return other,
        }
        match (&self.token, headers.bearer()) {
            (None, _) => Entrance::Open,
            (Some(token), Some(given)) if !token.is_empty() && same(given, token.as_bytes()) => Entrance::Open,
            _ => Entrance::Closed,
        }
    }

    /// Without the token: for addresses that are a secret themselves.
    pub(super) fn origin(&self, headers: &Headers) -> Entrance {
        let text = |name| headers.get(name).map(|value| std::str::from_utf8(value).unwrap_or_default());
        if !text("host").is_some_and(|host| self.is_ours(host)) {
            return Entrance::ForeignHost;
        }
        let own = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(|authority| self.is_ours(authority))
        };
        if text("origin").is_none_or(own) { Entrance::Open } else { Entrance::ForeignOrigin }
    }

    fn is_ours(&self, authority: &str) -> bool {
        let name = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.rsplit_once(':').map_or(authority, |(name, _)| name),
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

/// Takes as long for a wrong token as for a right one.
fn same(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrance(list: &[(&str, &str)]) -> Entrance {
        let mut headers = Headers::new();
        for (name, value) in list {
            headers.push(name.as_bytes(), value.as_bytes());
        }
        Door::new(Some("secret".to_owned()), vec!["mcp.example".to_owned()]).entrance(&headers)
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer secret");

    #[test]
    fn the_token_lets_in_and_nothing_like_it() {
        let host = ("host", "127.0.0.1:1");
        assert_eq!(entrance(&[host, TOKEN]), Entrance::Open);
        assert_eq!(entrance(&[host, ("authorization", "bearer secret")]), Entrance::Open);
        assert_eq!(entrance(&[host]), Entrance::Closed);
        for wrong in ["secret", "Bearer secre", "Bearer secret2", "Bearer ", "Basic secret"] {
            assert_eq!(entrance(&[host, ("authorization", wrong)]), Entrance::Closed, "{wrong}");
        }
    }

    #[test]
    fn names_that_may_be_anybodys_are_refused() {
        for ours in ["127.0.0.1:1", "[::1]:1", "localhost", "LOCALHOST:1", "mcp.example:1", "192.168.0.1"] {
            assert_eq!(entrance(&[("host", ours), TOKEN]), Entrance::Open, "{ours}");
        }
        for theirs in ["evil.example:1", "localhost.evil.example", "", "[evil]:1", "127.0.0.1.evil.example"] {
            assert_eq!(entrance(&[("host", theirs), TOKEN]), Entrance::ForeignHost, "{theirs}");
        }
        assert_eq!(entrance(&[TOKEN]), Entrance::ForeignHost);
    }

    #[test]
    fn pages_of_somebody_elses_are_refused() {
        let host = ("host", "localhost:1");
        for ours in ["http://localhost:1", "http://127.0.0.1:6274", "https://mcp.example"] {
            assert_eq!(entrance(&[host, TOKEN, ("origin", ours)]), Entrance::Open, "{ours}");
        }
        for theirs in ["http://evil.example", "null", "", "file://localhost", "http://evil.example:1/localhost"] {
            assert_eq!(entrance(&[host, TOKEN, ("origin", theirs)]), Entrance::ForeignOrigin, "{theirs}");
        }
    }
}
