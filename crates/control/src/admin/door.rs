//! Who is let in. Programs send the token with each request; a browser sends it once and has a cookie from then on.
//!
//! A web page of somebody else's must not get in through an operator's browser. So a cookie counts only for requests that
//! come from our own pages (`Origin` is our own, where the browser sends one) to an address that only we can have: a
//! number or localhost, never a name that somebody else may have pointed here (`Host`).

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hearth_core::secret::constant_time_eq;
use hearth_core::{ADMIN_COOKIE as COOKIE, Headers};

const SESSION: Duration = Duration::from_secs(12 * 3600);
/// The oldest goes when there are more.
const MOST_SESSIONS: usize = 100;

pub(super) struct Door {
    token: String,
    sessions: Mutex<VecDeque<(String, Instant)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    Open,
    /// No token, or a wrong one.
    Closed,
    /// A page of somebody else's.
    Foreign,
}

impl Door {
    pub(super) fn new(token: String) -> Self {
        Self { token, sessions: Mutex::default() }
    }

    pub(super) fn entrance(&self, headers: &Headers) -> Entrance {
        if let Some(given) = headers.bearer() {
            return if constant_time_eq(given, self.token.as_bytes()) { Entrance::Open } else { Entrance::Closed };
        }
        let Some(session) = cookie(headers) else { return Entrance::Closed };
        if !is_our_own(headers) {
            return Entrance::Foreign;
        }
        if self.has(session) { Entrance::Open } else { Entrance::Closed }
    }

    /// A cookie for who has the token, and why there is none for who has not.
    pub(super) fn log_in(&self, headers: &Headers, token: &str) -> Result<String, Entrance> {
        if !is_our_own(headers) {
            return Err(Entrance::Foreign);
        }
        if !constant_time_eq(token.trim().as_bytes(), self.token.as_bytes()) {
            return Err(Entrance::Closed);
        }
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes).map_err(|_| Entrance::Closed)?;
        let session: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == MOST_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((session.clone(), Instant::now()));
        Ok(format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", SESSION.as_secs()))
    }

    /// Ends the session, and says what makes the browser forget it.
    pub(super) fn log_out(&self, headers: &Headers) -> String {
        if let Some(session) = cookie(headers) {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.retain(|(one, _)| !constant_time_eq(one.as_bytes(), session));
        }
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    fn has(&self, session: &[u8]) -> bool {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(_, since)| since.elapsed() < SESSION);
        sessions.iter().any(|(one, _)| constant_time_eq(one.as_bytes(), session))
    }
}

fn cookie(headers: &Headers) -> Option<&[u8]> {
    let cookies = headers.get_all("cookie").flat_map(|line| line.split(|byte| *byte == b';'));
    cookies.map(<[u8]>::trim_ascii).find_map(|one| one.strip_prefix(COOKIE.as_bytes())?.strip_prefix(b"="))
}

fn is_our_own(headers: &Headers) -> bool {
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
    fn the_token_lets_in_and_nothing_like_it() {
        let door = Door::new("secret".into());
        let with = |value: &str| door.entrance(&headers(&[("authorization", value)]));
        assert_eq!(with("Bearer secret"), Entrance::Open);
        assert_eq!(with("bearer secret"), Entrance::Open);
        for wrong in ["secret", "Bearer secre", "Bearer secret2", "Bearer ", "Basic secret"] {
            assert_eq!(with(wrong), Entrance::Closed, "{wrong}");
        }
        assert_eq!(door.entrance(&headers(&[])), Entrance::Closed);
    }

    #[test]
    fn a_cookie_counts_for_our_own_pages_only() {
        let door = Door::new("secret".into());
        let ours = [("host", "127.0.0.1:9090")];
        assert_eq!(door.log_in(&headers(&ours), "wrong"), Err(Entrance::Closed));
        assert_eq!(door.log_in(&headers(&[("host", "evil.example:9090")]), "secret"), Err(Entrance::Foreign));
        let cookie = door.log_in(&headers(&ours), "secret").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let cookie = cookie.split(';').next().unwrap();
        let with = |list: &[(&str, &str)]| door.entrance(&headers(&[&[("cookie", cookie)], list].concat()));
        assert_eq!(with(&ours), Entrance::Open);
        assert_eq!(with(&[("host", "[::1]:9090"), ("origin", "http://[::1]:9090")]), Entrance::Open);
        assert_eq!(with(&[("host", "localhost:9090"), ("origin", "http://localhost:9090")]), Entrance::Open);
        assert_eq!(with(&[("host", "evil.example:9090")]), Entrance::Foreign, "a name may be anybody's");
        assert_eq!(with(&[ours[0], ("origin", "http://evil.example")]), Entrance::Foreign);
        assert_eq!(with(&[ours[0], ("origin", "null")]), Entrance::Foreign);
        let gone = door.log_out(&headers(&[("cookie", cookie)]));
        assert!(gone.contains("Max-Age=0"));
        assert_eq!(with(&ours), Entrance::Closed);
    }
}
