//! Close frames: their status codes (RFC 6455, 7.4, and IANA's registry) and their payload.

use hearth_core::websocket::{Close, MAX_REASON_BYTES};

use crate::protocol_error::ProtocolError;

/// Whether a code may be sent. 1004 is reserved; 1005, 1006 and 1015 describe conditions that are never sent.
pub fn is_sendable(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Parses the payload of a close frame.
pub fn parse_close(payload: &[u8]) -> Result<Close, ProtocolError> {
    let (code, reason) = match payload {
        [] => return Ok(Close::default()),
        [_] => return Err(ProtocolError::HalfCode),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if !is_sendable(code) {
        return Err(ProtocolError::Code);
    }
    let reason = std::str::from_utf8(reason).map_err(|_| ProtocolError::Utf8)?;
    Ok(Close { code: Some(code), reason: reason.to_owned() })
}

/// The payload of a close frame. A code that must not be sent is left out, and a reason that is too long is cut.
pub(crate) fn close_payload(close: &Close) -> Vec<u8> {
    let Some(code) = close.code.filter(|code| is_sendable(*code)) else { return Vec::new() };
    let cut = Close::new(code, &close.reason);
    let mut payload = Vec::with_capacity(2 + MAX_REASON_BYTES);
    payload.extend_from_slice(&code.to_be_bytes());
    payload.extend_from_slice(cut.reason.as_bytes());
    payload
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_registry() {
        let sendable: Vec<u16> = (0..=u16::MAX).filter(|code| is_sendable(*code)).collect();
        let expected: Vec<u16> = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
            .into_iter()
            .chain(3000..5000)
            .collect();
        assert_eq!(sendable, expected);
    }

    #[test]
    fn payloads_round_trip() {
        for close in
            [Close::default(), Close::new(1000, ""), Close::new(4999, "größe"), Close::new(1011, &"x".repeat(500))]
        {
            assert_eq!(parse_close(&close_payload(&close)).unwrap(), close);
        }
        assert_eq!(close_payload(&Close { code: Some(1006), reason: "x".into() }), b"");
    }

    #[test]
    fn invalid_payloads_are_errors() {
        assert_eq!(parse_close(b"\x03"), Err(ProtocolError::HalfCode));
        assert_eq!(parse_close(b"\x03\xed"), Err(ProtocolError::Code), "1005");
        assert_eq!(parse_close(b"\x03\xe7"), Err(ProtocolError::Code), "999");
        assert_eq!(parse_close(b"\x03\xe8\xff"), Err(ProtocolError::Utf8));
    }
}
