//! Small differences between clients, evened out before anybody else sees a message.
//!
//! A client of a newer protocol may try that first and fall back to ours: its first request gets an ordinary error, instead
//! of the end of the conversation. Who names a version in `initialize` that has no `initialize` gets our newest.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};

/// The newest protocol that is spoken here.
pub(crate) const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

pub(crate) fn incoming(mut message: ClientJsonRpcMessage) -> ClientJsonRpcMessage {
    if let ClientJsonRpcMessage::Request(request) = &mut message {
        if let ClientRequest::InitializeRequest(initialize) = &mut request.request {
            if initialize.params.protocol_version.as_str() > NEWEST.as_str() {
                initialize.params.protocol_version = NEWEST;
            }
        }
    }
    message
}

/// What a request is answered with that comes before `initialize`; `None` for those that may.
pub(crate) fn before_initialize(message: &ClientJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    match request.request {
        ClientRequest::InitializeRequest(_) | ClientRequest::PingRequest(_) => None,
        _ => Some(too_early(request.id.clone())),
    }
}

fn too_early(id: RequestId) -> ServerJsonRpcMessage {
    let why = "the first request must be initialize";
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None), Some(id))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(method: &str, params: serde_json::Value) -> ClientJsonRpcMessage {
        serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).unwrap()
    }

    #[test]
    fn only_versions_that_have_a_handshake_are_agreed_on() {
        for (asked, agreed) in
            [("2026-07-28", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")]
        {
            let client = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": client });
            let ClientJsonRpcMessage::Request(request) = incoming(message("initialize", params)) else { panic!() };
            let ClientRequest::InitializeRequest(initialize) = request.request else { panic!("{:?}", request.request) };
            assert_eq!(initialize.params.protocol_version.as_str(), agreed);
        }
    }

    #[test]
    fn a_probe_for_another_protocol_is_answered() {
        assert!(before_initialize(&message("server/discover", json!({}))).is_some());
        assert!(before_initialize(&message("tools/list", json!({}))).is_some());
        assert!(before_initialize(&message("ping", json!({}))).is_none());
    }
}
