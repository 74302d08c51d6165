//! The opening handshake (RFC 6455, 4), of the server and of the client.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use hearth_core::Headers;
use sha1::{Digest, Sha1};

/// The only version of the protocol.
pub const VERSION: &str = "13";

/// For keys: the four bits that are left over need not be zero, as in other servers.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Why a request for a WebSocket is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Answered with 426 and the supported version.
    #[error("only version 13 of the WebSocket protocol is spoken here: send `sec-websocket-version: 13`")]
    Version,
    #[error("`sec-websocket-key` must be there once, with 16 bytes in base64")]
    Key,
}

/// Why a server's answer is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    #[error("the answer lacks `upgrade: websocket` or `connection: upgrade`")]
    Upgrade,
    #[error("`sec-websocket-accept` is not what follows from the key")]
    Accept,
    #[error("the answer chooses a subprotocol that was not offered")]
    Protocol,
    #[error("the answer wants an extension, and none was offered")]
    Extension,
}

/// A client's request for a WebSocket.
#[derive(Clone, Debug)]
pub struct Offer {
    key: String,
    protocols: Vec<String>,
}

/// The value of `sec-websocket-accept` for a key.
pub fn accept(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

/// The answer's `sec-websocket-accept`, for the headers of a GET request of HTTP/1.1 that asked for an upgrade.
pub fn answer(headers: &Headers) -> Result<String, Refusal> {
    check_version(headers)?;
    let mut keys = headers.get_all("sec-websocket-key");
    match (keys.next(), keys.next()) {
        (Some(key), None) if is_key(key) => Ok(accept(key)),
        _ => Err(Refusal::Key),
    }
}

/// Whether it is sixteen bytes in base64.
fn is_key(text: &[u8]) -> bool {
    text.len() == 24 && matches!(LENIENT.decode_slice(text, &mut [0; 18]), Ok(16))
}

/// Checks the version: all that is to be checked over HTTP/2 (RFC 8441).
pub fn check_version(headers: &Headers) -> Result<(), Refusal> {
    let mut versions = headers.get_all("sec-websocket-version");
    match (versions.next(), versions.next()) {
        (Some(version), None) if version == VERSION.as_bytes() => Ok(()),
        _ => Err(Refusal::Version),
    }
}

/// Whether a list header has `token`, in any case.
pub fn has_token(value: &[u8], token: &str) -> bool {
    value.split(|byte| *byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

// === impl Offer ===

impl Offer {
    /// An offer with a random key.
    pub fn new(protocols: Vec<String>) -> Self {
        let mut key = [0; 16];
        getrandom::fill(&mut key).expect("the system gives randomness to every process");
        Self { key: STANDARD.encode(key), protocols }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// Checks the head of a 101, and gives the subprotocol that was chosen.
    pub fn check(&self, headers: &Headers) -> Result<Option<String>, BadAnswer> {
        let has = |name: &str, token: &str| headers.get_all(name).any(|value| has_token(value, token));
        if !has("upgrade", "websocket") || !has("connection", "upgrade") {
            return Err(BadAnswer::Upgrade);
        }
        let mut accepts = headers.get_all("sec-websocket-accept");
        if accepts.next() != Some(accept(self.key.as_bytes()).as_bytes()) || accepts.next().is_some() {
            return Err(BadAnswer::Accept);
        }
        if headers.get_all("sec-websocket-extensions").any(|value| !value.trim_ascii().is_empty()) {
            return Err(BadAnswer::Extension);
        }
        let mut chosen = headers.get_all("sec-websocket-protocol");
        match (chosen.next(), chosen.next()) {
            (None, _) => Ok(None),
            (Some(chosen), None) => {
                let known = self.protocols.iter().find(|protocol| protocol.as_bytes() == chosen);
                known.map(|protocol| Some(protocol.clone())).ok_or(BadAnswer::Protocol)
            }
            _ => Err(BadAnswer::Protocol),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        pairs.iter().for_each(|(name, value)| headers.push(name.as_bytes(), value.as_bytes()));
        headers
    }

    const KEY: (&str, &str) = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    const THIRTEEN: (&str, &str) = ("sec-websocket-version", "13");

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(answer(&headers(&[KEY, THIRTEEN])).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn requests_that_are_wrong_are_refused() {
        assert_eq!(answer(&headers(&[KEY])), Err(Refusal::Version));
        assert_eq!(answer(&headers(&[KEY, ("sec-websocket-version", "8")])), Err(Refusal::Version));
        assert_eq!(answer(&headers(&[KEY, THIRTEEN, THIRTEEN])), Err(Refusal::Version));
        assert_eq!(answer(&headers(&[THIRTEEN])), Err(Refusal::Key));
        assert_eq!(answer(&headers(&[KEY, KEY, THIRTEEN])), Err(Refusal::Key));
        assert_eq!(answer(&headers(&[("sec-websocket-key", "short"), THIRTEEN])), Err(Refusal::Key));
    }

    #[test]
    fn lists_are_searched_in_any_case() {
        for value in ["Upgrade", "keep-alive, UPGRADE", " upgrade ,x"] {
            assert!(has_token(value.as_bytes(), "upgrade"), "{value}");
        }
        for value in ["", "upgraded", "up grade", "upgrade;x"] {
            assert!(!has_token(value.as_bytes(), "upgrade"), "{value}");
        }
    }

    #[test]
    fn answers_are_checked() {
        let plain = Offer::new(Vec::new());
        let offer = Offer::new(vec!["chat".into(), "soap".into()]);
        assert_ne!(plain.key(), offer.key());
        let head = |offer: &Offer, more: &[(&str, &str)]| {
            let accept = accept(offer.key().as_bytes());
            let start = [("upgrade", "WebSocket"), ("connection", "Upgrade"), ("sec-websocket-accept", &*accept)];
            offer.check(&headers(&[&start, more].concat()))
        };
        assert_eq!(head(&plain, &[]), Ok(None));
        assert_eq!(head(&plain, &[("sec-websocket-protocol", "chat")]), Err(BadAnswer::Protocol));
        assert_eq!(head(&offer, &[("sec-websocket-protocol", "soap")]), Ok(Some("soap".into())));
        assert_eq!(head(&offer, &[("sec-websocket-protocol", "CHAT")]), Err(BadAnswer::Protocol));
        assert_eq!(head(&offer, &[]), Ok(None), "a server need not choose");
        assert_eq!(head(&plain, &[("sec-websocket-extensions", "permessage-deflate")]), Err(BadAnswer::Extension));
        assert_eq!(plain.check(&headers(&[("upgrade", "websocket")])), Err(BadAnswer::Upgrade));
        let wrong = [("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-accept", "x")];
        assert_eq!(plain.check(&headers(&wrong)), Err(BadAnswer::Accept));
    }
}
