//! Tools that answer at once, or send requests to the client on its open stream.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ErrorData, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ResourceContents, SamplingMessage, ServerRequest, Tool,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::input::{self, elicitation};
use super::{Conformance, PNG, WAV, unknown};

/// Between two notifications, so that they are sent one by one.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

const NAMES: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
];

pub(super) fn list() -> Vec<Tool> {
    let tool = |name: &'static str, schema: Value| {
        let Value::Object(schema) = schema else { unreachable!("every schema here is an object") };
        Tool::new(name, "For the conformance suite", schema)
    };
    let plain = NAMES.iter().chain(input::TOOLS).map(|name| tool(name, json!({ "type": "object", "properties": {} })));
    let address = json!({
        "$anchor": "addressDef",
        "type": "object",
        "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": address },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    plain.chain([tool("json_schema_2020_12_tool", schema)]).collect()
}

impl Conformance {
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = |text: &str| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match request.name.as_ref() {
            "test_simple_text" | "json_schema_2020_12_tool" | "test_reconnection" => text("This is a simple text."),
            "test_image_content" => CallToolResult::success(vec![ContentBlock::image(PNG, "image/png")]),
            "test_audio_content" => {
                CallToolResult::success(vec![ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))])
            }
            "test_embedded_resource" => {
                CallToolResult::success(vec![embedded("test://embedded-resource", "text/plain")])
            }
            "test_multiple_content_types" => CallToolResult::success(vec![
                ContentBlock::text("Several:"),
                ContentBlock::image(PNG, "image/png"),
                embedded("test://mixed-content-resource", "application/json"),
            ]),
            "test_error_handling" => CallToolResult::error(vec![ContentBlock::text("It fails, as it should.")]),
            "test_tool_with_logging" => {
                for message in ["started", "processing", "completed"] {
                    log(&context, LoggingLevel::Info, message).await;
                    tokio::time::sleep(NOTIFICATION_INTERVAL).await;
                }
                text("logged")
            }
            "test_logging_tool" => {
                if let Some(level) = context.meta.log_level() {
                    log(&context, level, "asked for").await;
                }
                text("done")
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    if let Some(token) = context.meta.get_progress_token() {
                        let notification = ProgressNotificationParam::new(token, done).with_total(100.0);
                        // A client that is gone needs no progress.
                        let _ = context.peer.notify_progress(notification).await;
                    }
                    tokio::time::sleep(NOTIFICATION_INTERVAL).await;
                }
                text("done")
            }
            "test_sampling" => sample(&request, &context).await,
            "test_elicitation" | "test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums" => {
                elicit(&request.name, &context).await
            }
            "test_trigger_tool_change" | "test_trigger_prompt_change" => {
                let sinks: Vec<_> = self.state().subscriptions.values().cloned().collect();
                for sink in sinks {
                    // A subscriber that is gone, or did not subscribe to this, needs no notification.
                    let _ = match request.name.as_ref() {
                        "test_trigger_tool_change" => sink.notify_tool_list_changed().await,
                        _ => sink.notify_prompt_list_changed().await,
                    };
                }
                text("triggered")
            }
            "test_missing_capability" => {
                let declared = context.meta.client_capabilities().is_some_and(|all| all.sampling.is_some());
                if !declared {
                    let wanted = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(wanted));
                }
                text("declared")
            }
            "test_streaming_elicitation" => return Ok(input::streaming()),
            name => return Err(unknown("tool", name)),
        };
        Ok(result.into())
    }
}

fn embedded(uri: &str, kind: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text("{\"test\":\"data\",\"value\":123}", uri).with_mime_type(kind))
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, message: &str) {
    let message = LoggingMessageNotificationParam::new(level, json!(message)).with_logger("conformance");
    // A client that is gone needs no log.
    let _ = context.peer.notify_logging_message(message).await;
}

async fn sample(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> CallToolResult {
    let prompt =
        request.arguments.as_ref().and_then(|all| all.get("prompt")).and_then(Value::as_str).unwrap_or("Hello");
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    request_client(context, ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params))).await
}

async fn elicit(name: &str, context: &RequestContext<RoleServer>) -> CallToolResult {
    let properties = match name {
        "test_elicitation" => json!({
            "username": { "type": "string", "description": "Your name" },
            "email": { "type": "string", "description": "Your address" },
        }),
        "test_elicitation_sep1034_defaults" => json!({
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        }),
        _ => {
            let titled = |all: [&str; 3]| all.map(|one| json!({ "const": one, "title": format!("The {one}") }));
            json!({
                "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
                "titledSingle": { "type": "string", "oneOf": titled(["value1", "value2", "value3"]) },
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {
                    "type": "array",
                    "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
                },
                "titledMulti": { "type": "array", "items": { "anyOf": titled(["value1", "value2", "value3"]) } },
            })
        }
    };
    let required = if name == "test_elicitation" { json!(["username", "email"]) } else { json!([]) };
    let params = elicitation("Tell me", &properties, &required);
    request_client(context, ServerRequest::ElicitRequest(ElicitRequest::new(params))).await
}

/// What the client answers, as text.
async fn request_client(context: &RequestContext<RoleServer>, request: ServerRequest) -> CallToolResult {
    match context.peer.send_request(request).await {
        Ok(answer) => {
            let answer = serde_json::to_string(&answer).unwrap_or_default();
            CallToolResult::success(vec![ContentBlock::text(format!("answered: {answer}"))])
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    }
}
