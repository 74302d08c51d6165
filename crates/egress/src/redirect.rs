//! Follows redirects: "HTTP-redirect fetch" of the Fetch standard
//! (<https://fetch.spec.whatwg.org/#http-redirect-fetch>).
//!
//! Beyond the standard, `cookie` and `proxy-authorization` are taken away on the way to another origin, not only
//! `authorization`: the app sets them itself, and which origin they are for is unknown. The new URL goes through all
//! checks that the first went through, the policy too.

use hearth_core::Method;
use hyper::header::{HeaderMap, LOCATION};

use crate::config::ResolveUrl;
use crate::error::FetchError;
use crate::request_body::RequestPayload;
use crate::send::RedirectHop;
use crate::target::{Target, fragment};

/// The same limit as in browsers.
pub(crate) const MAX_REDIRECTS: usize = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectMode {
    #[default]
    Follow,
    /// A redirect is an error.
    Error,
    /// A redirect is a response like any other.
    Manual,
    /// The same for a client that speaks HTTP itself: no headers are added that HTTP does not demand, and no content
    /// coding is undone.
    Exact,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    #[error("there were more than {limit} redirects, the last from {url}")]
    TooMany { limit: usize, url: String },
    #[error("{url} redirects, and the request's redirect mode is \"error\"")]
    Refused { url: String },
    #[error("{url} redirects to {location:?}, which is no http or https URL")]
    Location { url: String, location: String },
    #[error("{url} redirects, and the request's body is a stream that cannot be sent twice")]
    Stream { url: String },
}

/// Turns the request into the one that the redirect asks for.
pub(crate) fn follow(
    hop: &mut RedirectHop,
    status: u16,
    location: &str,
    urls: &dyn ResolveUrl,
) -> Result<(), FetchError> {
    let wrong = || RedirectError::Location { url: hop.url.clone(), location: location.to_owned() };
    let mut url = urls.resolve(location, &hop.url).ok_or_else(wrong)?;
    if let (None, Some(fragment)) = (fragment(&url), fragment(&hop.url)) {
        url.push_str(fragment);
    }
    let target = Target::parse(&url).map_err(|_| wrong())?;
    if status != 303 && !hop.payload.is_replayable() {
        return Err(RedirectError::Stream { url: hop.url.clone() }.into());
    }
    let becomes_get = match status {
        301 | 302 => hop.method == Method::Post,
        303 => !matches!(hop.method, Method::Get | Method::Head),
        _ => false,
    };
    if becomes_get {
        hop.method = Method::Get;
        hop.payload = RequestPayload::new(hearth_core::Body::Empty);
        for name in ["content-encoding", "content-language", "content-location", "content-type", "content-length"] {
            hop.headers.remove(name);
        }
    }
    if target.origin != hop.target.origin {
        for name in ["authorization", "cookie", "proxy-authorization"] {
            hop.headers.remove(name);
        }
    }
    hop.url = url;
    hop.target = target;
    Ok(())
}

/// The response's redirect location, if it has one. Locations that differ are joined, which makes an invalid one.
pub(crate) fn location(status: u16, headers: &HeaderMap) -> Option<String> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let mut values: Vec<&[u8]> = headers.get_all(LOCATION).iter().map(|value| value.as_bytes()).collect();
    values.dedup();
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|b| char::from(*b)).collect(),
    };
    (!values.is_empty()).then(|| text(&values.join(&b", "[..])))
}
