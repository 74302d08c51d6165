//! The MCP request handlers of one session.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, InitializeResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
};
use rmcp::service::RequestContext;

use crate::output::without_partial_character;
use crate::progress::Progress;
use crate::resources;
use crate::sandbox_service::SandboxService;
use crate::session::Session;
use crate::tools::{self, Call, ToolResult};

const INSTRUCTIONS: &str = "Sandboxes to run code and commands in. Make one with create_sandbox, use its sandbox_id in the \
other tools, and destroy it when you are done; it ends with this session in any case. Files are below /work and stay there as \
long as the sandbox does. There is no network unless create_sandbox says otherwise. A command that fails is not an error of \
the tool: look at exit_code, timed_out and truncated (of long output the beginning and the end are kept). Use start_job for what should go on while you do something else.";

/// Limit of the text of a result that the client also gets as structured content.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// How long a client may cache the list of tools, which does not change while the program runs.
const TOOLS_TTL_MS: u64 = 60 * 60 * 1000;

/// Known methods: if the SDK could not parse a request for one of them, its parameters are wrong.
const METHODS: &[&str] =
    &["initialize", "ping", "tools/call", "tools/list", "resources/list", "resources/read", "resources/templates/list"];

pub(crate) struct McpServer {
    service: SandboxService,
}

impl McpServer {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { service: SandboxService::for_session(session) }
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
        Ok(ListToolsResult::with_all_items(tools::list(self.service.session())).with_ttl_ms(TOOLS_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let format = ResultFormat::for_request(&context);
        let call = Call {
            service: self.service.clone(),
            arguments: request.arguments,
            progress: Progress::for_request(&context),
            cancelled: context.ct,
        };
        // A failed tool reports the error in its result; only an unknown tool is an error of the protocol.
        let done = tools::call(&request.name, call).await;
        let result = match done.map_err(|none| ErrorData::invalid_params(none.to_string(), None))? {
            Ok(ToolResult { structured, text, images }) => {
                let images = images.into_iter().map(|image| ContentBlock::image(image.base64, image.mime_type));
                let content = std::iter::once(ContentBlock::text(format.shorten(text))).chain(images).collect();
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
        resources::list(self.service.session(), request.and_then(|request| request.cursor)).await
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
        resources::read(self.service.session(), &request.uri).await.map(Into::into)
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

/// Which parts of a result a client reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultFormat {
    /// The text: its protocol has no structured content.
    TextOnly,
    Structured,
}

impl ResultFormat {
    /// The first protocol with structured content.
    const FIRST_STRUCTURED: ProtocolVersion = ProtocolVersion::V_2025_06_18;

    fn for_request(context: &RequestContext<RoleServer>) -> Self {
        let is_old = |version: ProtocolVersion| version.as_str() < Self::FIRST_STRUCTURED.as_str();
        if context.protocol_version().is_some_and(is_old) { Self::TextOnly } else { Self::Structured }
    }

    /// Shortens a long text that is repeated as structured content: clients limit the length of a message.
    fn shorten(self, mut text: String) -> String {
        if self == Self::TextOnly || text.len() <= MAX_TEXT_BYTES {
            return text;
        }
        let rest = text.len() - MAX_TEXT_BYTES;
        text.truncate(without_partial_character(&text.as_bytes()[..MAX_TEXT_BYTES]).len());
        text.push_str(&format!("\n[… {rest} bytes more: structuredContent has everything]"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_sent_once() {
        let long = "😀".repeat(MAX_TEXT_BYTES);
        assert_eq!(ResultFormat::TextOnly.shorten(long.clone()), long);
        let short = ResultFormat::Structured.shorten(long.clone());
        assert!(short.len() < MAX_TEXT_BYTES + 100 && short.contains("structuredContent"), "{}", short.len());
        assert_eq!(ResultFormat::Structured.shorten("short".to_owned()), "short");
    }
}
