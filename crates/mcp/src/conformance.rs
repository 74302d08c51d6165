//! The tools, resources and prompts that the protocol's official conformance suite expects of a server (`hearth mcp
//! --conformance`). The same HTTP service, sessions and streams serve them as serve sandboxes, so that the suite tests those.
//! None of them runs code.
//!
//! | file | |
//! |---|---|
//! | `conformance.rs` | the requests, and the lists |
//! | `conformance/tools.rs` | tools that answer at once, or send requests to the client on its open stream |
//! | `conformance/input.rs` | tools and a prompt that answer with requests for input (2026-07-28) |
// The suite tests features of 2025-11-25 that the SDK marks as deprecated.
#![allow(deprecated)]

mod input;
mod tools;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ImageContent, Implementation,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, Prompt, PromptArgument, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use serde_json::json;

/// An image of one red pixel, and an empty sound.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const TTL_MS: u64 = 60_000;

/// Clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Conformance {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// States that were issued to clients, which send them back, each with the number of earlier requests for input.
    issued: HashMap<String, u32>,
    subscriptions: HashMap<u64, SubscriptionSink>,
    last: u64,
}

fn unknown(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no {what} {name:?}"), None)
}

impl ServerHandler for Conformance {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_logging()
            .build();
        let server = Implementation::new("hearth-conformance", env!("CARGO_PKG_VERSION"));
        let mut info = InitializeResult::new(capabilities).with_server_info(server);
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()).with_ttl_ms(TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name.starts_with(input::PREFIX) {
            return self.ask_for_input(&request, &context);
        }
        self.call(request, context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = vec![
            Resource::new("test://static-text", "Static text").with_mime_type("text/plain"),
            Resource::new("test://static-binary", "Static binary").with_mime_type("image/png"),
        ];
        Ok(ListResourcesResult::with_all_items(resources).with_ttl_ms(TTL_MS))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("test://template/{id}/data", "Data").with_mime_type("application/json");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]).with_ttl_ms(TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let contents = match uri.strip_prefix("test://") {
            Some("static-text") => ResourceContents::text("the text", uri).with_mime_type("text/plain"),
            Some("static-binary") => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
            Some(path) if path.starts_with("template/") && path.ends_with("/data") => {
                let id = path.trim_start_matches("template/").trim_end_matches("/data");
                let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                ResourceContents::text(text.to_string(), uri).with_mime_type("application/json")
            }
            _ => {
                let why = format!("there is no resource {uri:?}");
                return Err(ErrorData::resource_not_found(why, Some(json!({ "uri": uri }))));
            }
        };
        Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(TTL_MS).into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let key = {
            let mut state = self.state();
            state.last += 1;
            let key = state.last;
            state.subscriptions.insert(key, context.sink().clone());
            key
        };
        context.cancelled().await;
        self.state().subscriptions.remove(&key);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = ["arg1", "arg2"].map(|name| PromptArgument::new(name).with_required(true)).to_vec();
        let mut prompts = vec![Prompt::new("test_prompt_with_arguments", Some("With arguments"), Some(arguments))];
        let others =
            ["test_simple_prompt", "test_prompt_with_embedded_resource", "test_prompt_with_image", input::PROMPT];
        prompts.extend(others.map(|name| Prompt::new(name, Some("For the conformance suite"), None)));
        Ok(ListPromptsResult::with_all_items(prompts).with_ttl_ms(TTL_MS))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let user = |text: String| PromptMessage::new_text(Role::User, text);
        let messages = match request.name.as_str() {
            "test_simple_prompt" => vec![user("This is a simple prompt.".to_owned())],
            "test_prompt_with_arguments" => {
                vec![user(format!("arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]
            }
            "test_prompt_with_embedded_resource" => {
                let uri = Some(argument("resourceUri")).filter(|uri| !uri.is_empty());
                let uri = uri.unwrap_or_else(|| "test://static-text".to_owned());
                let resource = ResourceContents::text("the text", uri).with_mime_type("text/plain");
                vec![PromptMessage::new(Role::User, ContentBlock::resource(resource)), user("See above.".to_owned())]
            }
            "test_prompt_with_image" => {
                let image = ContentBlock::Image(ImageContent::new(PNG, "image/png"));
                vec![PromptMessage::new(Role::User, image), user("See above.".to_owned())]
            }
            input::PROMPT => return Ok(input::prompt(&request)),
            name => return Err(unknown("prompt", name)),
        };
        Ok(GetPromptResult::new(messages).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let all = ["paris", "park", "party"].map(str::to_owned);
        let values = all.into_iter().filter(|value| value.starts_with(&request.argument.value)).collect();
        let found = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(found))
    }
}

impl Conformance {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
