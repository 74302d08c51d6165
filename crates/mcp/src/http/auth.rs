//! Authorization of requests: the token, and the checks against DNS rebinding.
//!
//! A web page must not reach this server through a browser on the same machine, not even by a DNS name that points at the
//! machine. So `Host` must be an IP address, `localhost` or a name that the operator allowed, and `Origin`, which only
//! browsers send, must be that of such an address too.

use std::net::IpAddr;

use hearth_core::Headers;
use hearth_core::secret::constant_time_eq;

pub(super) struct Auth {
    /// `None` when the served tools need no token (conformance).
    token: Option<String>,
    hosts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthResult {
    Allowed,
    /// No token, or a wrong one.
    BadToken,
    /// `Host` is a name that the operator did not allow; any DNS zone may point it at this machine.
    ForeignHost,
    /// `Origin` is a page of another site.
    ForeignOrigin,
}

impl Auth {
    /// `hosts` are the names under which the server may be reached, besides IP addresses and localhost.
    pub(super) fn new(token: Option<String>, hosts: Vec<String>) -> Self {
        Self { token, hosts }
    }

    pub(super) fn check(&self, headers: &Headers) -> AuthResult {
        match self.check_origin(headers) {
            AuthResult::Allowed => {}
            other => return other,
        }
        match (&self.token, headers.bearer()) {
            (None, _) => AuthResult::Allowed,
            (Some(token), Some(given)) if !token.is_empty() && constant_time_eq(given, token.as_bytes()) => {
                AuthResult::Allowed
            }
            _ => AuthResult::BadToken,
        }
    }

    /// Checks `Host` and `Origin` but no token: file links are a secret themselves.
    pub(super) fn check_origin(&self, headers: &Headers) -> AuthResult {
        let text = |name| headers.get(name).map(|value| std::str::from_utf8(value).unwrap_or_default());
        if !text("host").is_some_and(|host| self.is_own_address(host)) {
            return AuthResult::ForeignHost;
        }
        let own = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(|authority| self.is_own_address(authority))
        };
        if text("origin").is_none_or(own) { AuthResult::Allowed } else { AuthResult::ForeignOrigin }
    }

    fn is_own_address(&self, authority: &str) -> bool {
        let name = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.rsplit_once(':').map_or(authority, |(name, _)| name),
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &[(&str, &str)]) -> AuthResult {
        let mut headers = Headers::new();
        for (name, value) in list {
            headers.push(name.as_bytes(), value.as_bytes());
        }
        Auth::new(Some("secret".to_owned()), vec!["mcp.example".to_owned()]).check(&headers)
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer secret");

    #[test]
    fn only_the_exact_token_is_accepted() {
        let host = ("host", "127.0.0.1:1");
        assert_eq!(check(&[host, TOKEN]), AuthResult::Allowed);
        assert_eq!(check(&[host, ("authorization", "bearer secret")]), AuthResult::Allowed);
        assert_eq!(check(&[host]), AuthResult::BadToken);
        for wrong in ["secret", "Bearer secre", "Bearer secret2", "Bearer ", "Basic secret"] {
            assert_eq!(check(&[host, ("authorization", wrong)]), AuthResult::BadToken, "{wrong}");
        }
    }

    #[test]
    fn host_names_that_are_not_allowed_are_refused() {
        for ours in ["127.0.0.1:1", "[::1]:1", "localhost", "LOCALHOST:1", "mcp.example:1", "192.168.0.1"] {
            assert_eq!(check(&[("host", ours), TOKEN]), AuthResult::Allowed, "{ours}");
        }
        for theirs in ["evil.example:1", "localhost.evil.example", "", "[evil]:1", "127.0.0.1.evil.example"] {
            assert_eq!(check(&[("host", theirs), TOKEN]), AuthResult::ForeignHost, "{theirs}");
        }
        assert_eq!(check(&[TOKEN]), AuthResult::ForeignHost);
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let host = ("host", "localhost:1");
        for ours in ["http://localhost:1", "http://127.0.0.1:6274", "https://mcp.example"] {
            assert_eq!(check(&[host, TOKEN, ("origin", ours)]), AuthResult::Allowed, "{ours}");
        }
        for theirs in ["http://evil.example", "null", "", "file://localhost", "http://evil.example:1/localhost"] {
            assert_eq!(check(&[host, TOKEN, ("origin", theirs)]), AuthResult::ForeignOrigin, "{theirs}");
        }
    }
}
