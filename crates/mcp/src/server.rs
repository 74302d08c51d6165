//! The protocol's side: what a client may ask, answered for one session.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, InitializeResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
};
use rmcp::service::RequestContext;

use crate::output::whole_characters;
use crate::progress::Progress;
use crate::resources;
use crate::session::Session;
use crate::tools::{self, Call, Done};

const INSTRUCTIONS: &str = "Sandboxes to run code and commands in. Make one with create_sandbox, use its sandbox_id in the \
other tools, and destroy it when you are done; it ends with this session in any case. Files are below /work and stay there as \
long as the sandbox does. There is no network unless create_sandbox says otherwise. A command that fails is not an error of \
the tool: look at exit_code, timed_out and truncated (of long output the beginning and the end are kept). Use start_job for what should go on while you do something else.";

/// Of the text of an answer whose reader has the same in another form.
const LONGEST_TEXT: usize = 64 * 1024;

/// For how long a client may keep the list of tools: it does not change while the program runs.
const TOOLS_TTL_MS: u64 = 60 * 60 * 1000;

/// Methods that exist: a request for one of them that was not understood has wrong parameters.
const METHODS: &[&str] =
    &["initialize", "ping", "tools/call", "tools/list", "resources/list", "resources/read", "resources/templates/list"];

pub(crate) struct McpServer {
    session: Arc<Session>,
}

impl McpServer {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let server = Implementation::new("hearth", env!("CARGO_PKG_VERSION")).with_title("Hearth sandboxes");
        let mut info = InitializeResult::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS);
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(&self.session)).with_ttl_ms(TOOLS_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let reader = Reader::of(&context);
        let call = Call {
            session: self.session.clone(),
            arguments: request.arguments,
            progress: Progress::of(&context),
            cancelled: context.ct,
        };
        // A tool that fails says why in its answer; only one that does not exist is an error of the protocol.
        let done = tools::call(&request.name, call).await;
        let result = match done.map_err(|none| ErrorData::invalid_params(none.to_string(), None))? {
            Ok(Done { structured, text, images }) => {
                let images = images.into_iter().map(|image| ContentBlock::image(image.base64, image.mime_type));
                let content = std::iter::once(ContentBlock::text(reader.shown(text))).chain(images).collect();
                let mut result = CallToolResult::success(content);
                result.structured_content = Some(structured);
                result
            }
            Err(error) => error.into_result(),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.session, request.and_then(|request| request.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.session, &request.uri).await.map(Into::into)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(if METHODS.contains(&request.method.as_str()) {
            ErrorData::invalid_params(format!("{} has other parameters", request.method), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no {}", request.method), None)
        })
    }
}

/// What a client reads of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The text only: its protocol has nothing else.
    Text,
    Structured,
}

impl Reader {
    /// The first protocol with structured answers.
    const STRUCTURED: ProtocolVersion = ProtocolVersion::V_2025_06_18;

    fn of(context: &RequestContext<RoleServer>) -> Self {
        let is_old = |version: ProtocolVersion| version.as_str() < Self::STRUCTURED.as_str();
        if context.protocol_version().is_some_and(is_old) { Self::Text } else { Self::Structured }
    }

    /// Nothing long is said twice: clients have limits for the length of a message.
    fn shown(self, mut text: String) -> String {
        if self == Self::Text || text.len() <= LONGEST_TEXT {
            return text;
        }
        let rest = text.len() - LONGEST_TEXT;
        text.truncate(whole_characters(&text.as_bytes()[..LONGEST_TEXT]).len());
        text.push_str(&format!("\n[… {rest} bytes more: structuredContent has everything]"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_said_once() {
        let long = "😀".repeat(LONGEST_TEXT);
        assert_eq!(Reader::Text.shown(long.clone()), long);
        let shown = Reader::Structured.shown(long.clone());
        assert!(shown.len() < LONGEST_TEXT + 100 && shown.contains("structuredContent"), "{}", shown.len());
        assert_eq!(Reader::Structured.shown("short".to_owned()), "short");
    }
}
