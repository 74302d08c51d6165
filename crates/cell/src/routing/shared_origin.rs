//! Apps that are reached by path share an origin: to a browser `/shop/` and `/blog/` are one site. Response headers that affect
//! the whole origin would affect other apps, so they are removed or restricted to the app's own path:
//!
//! | header | |
//! |---|---|
//! | `service-worker-allowed`, `clear-site-data`, `strict-transport-security`, `alt-svc`, `nel`, `report-to` | removed |
//! | `set-cookie` | without `Domain`; its `Path` is relative to the app's base |
//!
//! Scripts of one origin still reach each other's pages, storage and cookies: apps that do not trust each other need hosts of their own.

use hearth_core::{Headers, Response};

/// Bases up to this length need no allocation.
const MAX_INLINE: usize = 46;

/// The path of an app on an origin that it shares, as the client wrote it: `/shop@1`. `None` where the origin belongs to the app.
pub(super) enum AppBase {
    None,
    Inline { length: u8, bytes: [u8; MAX_INLINE] },
    Long(Box<[u8]>),
}

// === impl AppBase ===

impl AppBase {
    pub fn new(text: &str) -> Self {
        match text.len() {
            0 => Self::None,
            length @ 1..=MAX_INLINE => {
                let mut bytes = [0; MAX_INLINE];
                bytes[..length].copy_from_slice(text.as_bytes());
                Self::Inline { length: length as u8, bytes }
            }
            _ => Self::Long(text.as_bytes().into()),
        }
    }

    /// Removes or restricts the response's headers that affect other apps of the origin.
    pub fn restrict(&self, response: &mut Response) {
        let Some(base) = self.bytes() else { return };
        if response.headers.iter().any(|(name, _)| scope_of(name) != Scope::App) {
            response.headers = restricted_headers(&response.headers, base);
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::None => None,
            Self::Inline { length, bytes } => Some(&bytes[..usize::from(*length)]),
            Self::Long(bytes) => Some(bytes),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    App,
    Cookie,
    Origin,
}

/// Names are in lower case. The length rules out most headers.
fn scope_of(name: &[u8]) -> Scope {
    match name.len() {
        3 if name == b"nel" => Scope::Origin,
        7 if name == b"alt-svc" => Scope::Origin,
        9 if name == b"report-to" => Scope::Origin,
        10 if name == b"set-cookie" => Scope::Cookie,
        15 if name == b"clear-site-data" => Scope::Origin,
        22 if name == b"service-worker-allowed" => Scope::Origin,
        25 if name == b"strict-transport-security" => Scope::Origin,
        _ => Scope::App,
    }
}

#[cold]
fn restricted_headers(all: &Headers, base: &[u8]) -> Headers {
    let mut rest = Headers::with_capacity(all.len(), 512);
    for (name, value) in all.iter() {
        match scope_of(name) {
            Scope::App => rest.push(name, value),
            Scope::Cookie => rest.push(name, &restricted_cookie(value, base)),
            Scope::Origin => {}
        }
    }
    rest
}

/// A cookie restricted to the app's path. A cookie without a path is for that of the request, which is below the base.
fn restricted_cookie(cookie: &[u8], base: &[u8]) -> Vec<u8> {
    let mut parts = cookie.split(|byte| *byte == b';');
    let mut pinned = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let (name, value) = match part.iter().position(|byte| *byte == b'=') {
            Some(at) => (part[..at].trim_ascii(), part[at + 1..].trim_ascii()),
            None => (part.trim_ascii(), &b""[..]),
        };
        if name.eq_ignore_ascii_case(b"domain") {
            continue;
        }
        if !name.eq_ignore_ascii_case(b"path") {
            pinned.push(b';');
            pinned.extend_from_slice(part);
            continue;
        }
        // A path that does not begin with a slash means the default.
        if value.starts_with(b"/") {
            pinned.extend_from_slice(b"; Path=");
            if !is_below(value, base) {
                pinned.extend_from_slice(base);
            }
            pinned.extend_from_slice(value);
        }
    }
    pinned
}

fn is_below(path: &[u8], base: &[u8]) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use hearth_core::Body;

    use super::*;

    fn restrict(base: &str, list: &[(&str, &str)]) -> Vec<String> {
        let mut headers = Headers::new();
        list.iter().for_each(|(name, value)| headers.push(name.as_bytes(), value.as_bytes()));
        let mut response = Response::new(200, headers, Body::Empty);
        AppBase::new(base).restrict(&mut response);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        response.headers.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    #[test]
    fn cookies_are_restricted_to_the_apps_path() {
        let long = format!("/{}", "a".repeat(100));
        for (base, cookie, pinned) in [
            ("/shop", "a=1", "a=1"),
            ("/shop", "a=1; Path=/", "a=1; Path=/shop/"),
            ("/shop", "a=1; path=/admin; HttpOnly", "a=1; Path=/shop/admin; HttpOnly"),
            ("/shop", "a=1; Path=/shop/x", "a=1; Path=/shop/x"),
            ("/shop", "a=1; Path=/shop", "a=1; Path=/shop"),
            ("/shop", "a=1; Path=/shopping", "a=1; Path=/shop/shopping"),
            ("/shop@1", "a=1; Path=/shop", "a=1; Path=/shop@1/shop"),
            ("/shop", "a=1; Path=x; Path = /", "a=1; Path=/shop/"),
            ("/shop", "a=1; DOMAIN=example.com; Secure", "a=1; Secure"),
            ("/shop", "a=domain=x;Max-Age=3;domain", "a=domain=x;Max-Age=3"),
            ("/shop", "", ""),
            (&long, "a=1; Path=/", &format!("a=1; Path={long}/")),
            ("", "a=1; Path=/; Domain=example.com", "a=1; Path=/; Domain=example.com"),
        ] {
            assert_eq!(restrict(base, &[("set-cookie", cookie)]), [format!("set-cookie: {pinned}")], "{base} {cookie}");
        }
    }

    #[test]
    fn headers_for_the_whole_origin_are_removed() {
        let of_origin = [
            ("service-worker-allowed", "/"),
            ("clear-site-data", "*"),
            ("strict-transport-security", "max-age=1"),
            ("alt-svc", "h2=\":1\""),
            ("nel", "{}"),
            ("report-to", "{}"),
        ];
        let own = [("content-type", "text/html"), ("x-frame-options", "DENY")];
        assert_eq!(
            restrict("/shop", &[&of_origin[..], &own].concat()),
            ["content-type: text/html", "x-frame-options: DENY"]
        );
        assert_eq!(restrict("", &of_origin).len(), of_origin.len(), "the origin belongs to the app");
    }
}
