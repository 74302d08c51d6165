//! The same tools without a protocol, for the operator, who sees every sandbox: what the admin API and the command line use.

use std::sync::Arc;

use hearth_sandbox::Sandboxes;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::error::ToolError;
use crate::progress::Progress;
use crate::session::Session;
use crate::tools::{self, Call};

#[derive(Clone)]
pub struct Operator {
    session: Arc<Session>,
}

impl Operator {
    pub fn new(sandboxes: Sandboxes) -> Self {
        Self { session: Arc::new(Session::operator(sandboxes)) }
    }

    /// Dropping the future cancels the call.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        let call = Call {
            session: self.session.clone(),
            arguments: Some(arguments),
            progress: Progress::default(),
            cancelled: CancellationToken::new(),
        };
        match tools::call(tool, call).await {
            Ok(done) => done.map(|done| done.structured),
            Err(none) => Err(ToolError::argument("tool", none.to_string())),
        }
    }
}
