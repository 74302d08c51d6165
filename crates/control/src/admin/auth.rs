//! Authentication. Programs send the token with each request; a browser sends it once and has a session cookie then.
//!
//! A foreign web page must not use the API through an operator's browser. So a cookie is accepted only if `Origin`, where the
//! browser sends one, is this server, and `Host` is an IP address or localhost: a DNS name could be one that a foreign page
//! has pointed here (DNS rebinding).

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hearth_core::secret::constant_time_eq;
use hearth_core::{ADMIN_COOKIE as COOKIE, Headers, hex};

const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// With more sessions the oldest is dropped.
const MAX_SESSIONS: usize = 100;

pub(super) struct Auth {
    token: String,
    sessions: Mutex<VecDeque<(String, Instant)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthResult {
    Allowed,
    /// No token, or a wrong one.
    Denied,
    /// A page of another origin.
    Foreign,
}

impl Auth {
    pub(super) fn new(token: String) -> Self {
        Self { token, sessions: Mutex::default() }
    }

    pub(super) fn check(&self, headers: &Headers) -> AuthResult {
        if let Some(given) = headers.bearer() {
            return if constant_time_eq(given, self.token.as_bytes()) {
                AuthResult::Allowed
            } else {
                AuthResult::Denied
            };
        }
        let Some(session) = cookie(headers) else { return AuthResult::Denied };
        if !is_same_origin(headers) {
            return AuthResult::Foreign;
        }
        if self.has(session) { AuthResult::Allowed } else { AuthResult::Denied }
    }

    /// Creates a session if the token is right, and returns its cookie.
    pub(super) fn log_in(&self, headers: &Headers, token: &str) -> Result<String, AuthResult> {
        if !is_same_origin(headers) {
            return Err(AuthResult::Foreign);
        }
        if !constant_time_eq(token.trim().as_bytes(), self.token.as_bytes()) {
            return Err(AuthResult::Denied);
        }
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes).map_err(|_| AuthResult::Denied)?;
        let session = hex::encode(&bytes);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == MAX_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((session.clone(), Instant::now()));
        Ok(format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", SESSION_LIFETIME.as_secs()))
    }

    /// Ends the session, and returns the cookie header that deletes it.
    pub(super) fn log_out(&self, headers: &Headers) -> String {
        if let Some(session) = cookie(headers) {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.retain(|(one, _)| !constant_time_eq(one.as_bytes(), session));
        }
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    fn has(&self, session: &[u8]) -> bool {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(_, since)| since.elapsed() < SESSION_LIFETIME);
        sessions.iter().any(|(one, _)| constant_time_eq(one.as_bytes(), session))
    }
}

fn cookie(headers: &Headers) -> Option<&[u8]> {
    let cookies = headers.get_all("cookie").flat_map(|line| line.split(|byte| *byte == b';'));
    cookies.map(<[u8]>::trim_ascii).find_map(|one| one.strip_prefix(COOKIE.as_bytes())?.strip_prefix(b"="))
}

fn is_same_origin(headers: &Headers) -> bool {
    let text = |name| headers.get(name).and_then(|value| std::str::from_utf8(value).ok());
    let Some(host) = text("host") else { return false };
    let is_ours = is_number_or_localhost(host);
    match text("origin") {
        None => is_ours,
        Some(origin) => is_ours && origin.strip_prefix("http://").or(origin.strip_prefix("https://")) == Some(host),
    }
}

fn is_number_or_localhost(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in list {
            headers.push(name.as_bytes(), value.as_bytes());
        }
        headers
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        let auth = Auth::new("secret".into());
        let with = |value: &str| auth.check(&headers(&[("authorization", value)]));
        assert_eq!(with("Bearer secret"), AuthResult::Allowed);
        assert_eq!(with("bearer secret"), AuthResult::Allowed);
        for wrong in ["secret", "Bearer secre", "Bearer secret2", "Bearer ", "Basic secret"] {
            assert_eq!(with(wrong), AuthResult::Denied, "{wrong}");
        }
        assert_eq!(auth.check(&headers(&[])), AuthResult::Denied);
    }

    #[test]
    fn a_cookie_is_accepted_from_this_origin_only() {
        let auth = Auth::new("secret".into());
        let ours = [("host", "127.0.0.1:9090")];
        assert_eq!(auth.log_in(&headers(&ours), "wrong"), Err(AuthResult::Denied));
        assert_eq!(auth.log_in(&headers(&[("host", "evil.example:9090")]), "secret"), Err(AuthResult::Foreign));
        let cookie = auth.log_in(&headers(&ours), "secret").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let cookie = cookie.split(';').next().unwrap();
        let with = |list: &[(&str, &str)]| auth.check(&headers(&[&[("cookie", cookie)], list].concat()));
        assert_eq!(with(&ours), AuthResult::Allowed);
        assert_eq!(with(&[("host", "[::1]:9090"), ("origin", "http://[::1]:9090")]), AuthResult::Allowed);
        assert_eq!(with(&[("host", "localhost:9090"), ("origin", "http://localhost:9090")]), AuthResult::Allowed);
        assert_eq!(with(&[("host", "evil.example:9090")]), AuthResult::Foreign, "a DNS name may point anywhere");
        assert_eq!(with(&[ours[0], ("origin", "http://evil.example")]), AuthResult::Foreign);
        assert_eq!(with(&[ours[0], ("origin", "null")]), AuthResult::Foreign);
        let gone = auth.log_out(&headers(&[("cookie", cookie)]));
        assert!(gone.contains("Max-Age=0"));
        assert_eq!(with(&ours), AuthResult::Denied);
    }
}
