//! Tools and a prompt that answer with requests for input, and are called again with the responses (2026-07-28).

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateMessageRequest,
    CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ListRootsRequest, PromptMessage, Role, SamplingMessage,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::{Conformance, unknown};

pub(super) const PREFIX: &str = "test_input_required_result_";
pub(super) const PROMPT: &str = "test_input_required_result_prompt";

pub(super) const TOOLS: &[&str] = &[
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

pub(super) fn elicitation(message: &str, properties: &Value, required: &Value) -> ElicitRequestParams {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema).expect("the schemas here are of forms"),
    }
}

fn form(message: &str, field: &str) -> InputRequest {
    let properties = Value::Object([(field.to_owned(), json!({ "type": "string" }))].into_iter().collect());
    InputRequest::Elicitation(ElicitRequest::new(elicitation(message, &properties, &json!([field]))))
}

fn sampling(prompt: &str) -> InputRequest {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn input_requests(all: impl IntoIterator<Item = (&'static str, InputRequest)>) -> InputRequests {
    all.into_iter().map(|(key, request)| (key.to_owned(), request)).collect()
}

/// A response that is no object does not count, and is requested again.
fn has_response(responses: Option<&InputResponses>, key: &str) -> bool {
    responses.and_then(|all| all.get(key)).is_some_and(Value::is_object)
}

pub(super) fn streaming() -> CallToolResponse {
    InputRequiredResult::from_input_requests(input_requests([("streaming_elicitation", form("A value?", "value"))]))
        .into()
}

pub(super) fn prompt(request: &GetPromptRequestParams) -> GetPromptResponse {
    if !has_response(request.input_responses.as_ref(), "user_context") {
        let wanted = input_requests([("user_context", form("Which context?", "context"))]);
        return InputRequiredResult::from_input_requests(wanted).into();
    }
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, "With the context that was given.")]).into()
}

impl Conformance {
    pub(super) fn ask_for_input(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let responses = request.input_responses.as_ref();
        let round = self.round(request.request_state.as_deref())?;
        let once = |key: &'static str, input: InputRequest| match has_response(responses, key) {
            true => done(),
            false => InputRequiredResult::from_input_requests(input_requests([(key, input)])).into(),
        };
        Ok(match request.name.trim_start_matches(PREFIX) {
            "elicitation" => once("user_name", form("What is your name?", "name")),
            "sampling" => once("capital_question", sampling("What is the capital of France?")),
            "list_roots" => once("client_roots", roots()),
            "request_state" | "tampered_state" if round == 0 => {
                self.ask(input_requests([("confirm", form("Go on?", "ok"))]), 1)
            }
            "request_state" | "tampered_state" => text("state-ok"),
            "multiple_inputs" => {
                let keys = ["user_name", "greeting", "client_roots"];
                match round > 0 && keys.iter().all(|key| has_response(responses, key)) {
                    true => done(),
                    false => self.ask(
                        input_requests([
                            ("user_name", form("What is your name?", "name")),
                            ("greeting", sampling("Greet")),
                            ("client_roots", roots()),
                        ]),
                        1,
                    ),
                }
            }
            "multi_round" => match round {
                0 => self.ask(input_requests([("step1", form("What is your name?", "name"))]), 1),
                1 => self.ask(input_requests([("step2", form("Which colour?", "color"))]), 2),
                _ => done(),
            },
            "capabilities" if responses.is_some() => done(),
            "capabilities" => for_capabilities(context),
            _ => return Err(unknown("tool", &request.name)),
        })
    }

    /// The number of earlier requests for input. A state that was not issued is refused.
    fn round(&self, state: Option<&str>) -> Result<u32, ErrorData> {
        let refused = || ErrorData::invalid_params("requestState is none that was given here", None);
        state.map_or(Ok(0), |state| self.state().issued.get(state).copied().ok_or_else(refused))
    }

    fn ask(&self, wanted: InputRequests, round: u32) -> CallToolResponse {
        let name = hearth_sandbox::SandboxId::random().to_string();
        self.state().issued.insert(name.clone(), round);
        InputRequiredResult::new(Some(wanted), Some(name)).into()
    }
}

/// Requests only what the client declared that it can answer.
fn for_capabilities(context: &RequestContext<RoleServer>) -> CallToolResponse {
    let can = context.meta.client_capabilities().unwrap_or_default();
    let all = [
        (can.elicitation.is_some(), "user_name", form("What is your name?", "name")),
        (can.sampling.is_some(), "greeting", sampling("Greet")),
        (can.roots.is_some(), "client_roots", roots()),
    ];
    let wanted = input_requests(all.into_iter().filter(|(can, ..)| *can).map(|(_, key, input)| (key, input)));
    if wanted.is_empty() { done() } else { InputRequiredResult::from_input_requests(wanted).into() }
}

fn text(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn done() -> CallToolResponse {
    text("complete")
}
