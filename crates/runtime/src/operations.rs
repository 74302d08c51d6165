//! What an embedding program replaces: outgoing requests and connections, the log, and bindings, which are objects
//! in the app's `env` whose methods call Rust.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hearth_core::{Request, RequestId, Response};
use hearth_egress::{Client, FetchRequest, RedirectMode};

use crate::app::App;
use crate::console::Level;

/// The result of an operation, later.
pub type OperationFuture<T> = Pin<Box<dyn Future<Output = Result<T, OperationError>> + Send>>;

/// A script's access to the outside. Every method has a default: what Hearth itself does, but no
/// bindings, sockets or look-ups.
///
/// Methods are called on threads that run JavaScript: they must not block. A panic in one costs the
/// worker.
pub trait Operations: Send + Sync + 'static {
    /// A `fetch()` of the script. The default sends the request, under the app's policy for
    /// outgoing connections.
    fn fetch(&self, request: Request, network: Network) -> OperationFuture<Fetched> {
        network.send(request)
    }

    /// Whether the script may open a TCP connection, which `fetch` does not see. The app's policy for
    /// outgoing connections must allow it, too. The default refuses.
    fn connect(&self, host: &str, port: u16) -> Result<(), OperationError> {
        Err(OperationError::new(format!("sockets are not allowed here: a connection to {host}:{port} was refused")))
    }

    /// Whether the script may look up the addresses of a name, under the same policy. The default
    /// refuses.
    fn look_up(&self, host: &str) -> Result<(), OperationError> {
        Err(OperationError::new(format!("look-ups are not allowed here: the one of {host} was refused")))
    }

    /// A line of the script's console, or an uncaught error. The default writes it with `tracing`.
    /// Called at a bounded rate.
    fn log(&self, line: &LogLine<'_>) {
        line.trace();
    }

    /// The bindings in `env`. Called once for each worker.
    fn bindings(&self) -> Vec<Binding> {
        Vec::new()
    }

    /// A call of a binding's method: `await env.NAME.method(...)`.
    fn call(&self, call: BindingCall) -> OperationFuture<Option<String>> {
        let BindingCall { binding, method, .. } = call;
        Box::pin(async move { Err(OperationError::new(format!("{binding}.{method} is not implemented"))) })
    }
}

/// Hearth's own operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultOperations;

/// An object in `env`, with methods that return promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub name: String,
    pub methods: Vec<String>,
}

/// A call of a binding's method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingCall {
    /// The request that makes the call.
    pub request: RequestId,
    pub binding: String,
    pub method: String,
    /// The arguments as a JSON array. The result is JSON, too, or nothing for `undefined`.
    pub arguments: String,
}

/// Why an operation failed: the script gets a `TypeError` with this text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OperationError {
    message: String,
}

/// The result of a `fetch()`.
#[derive(Debug)]
pub struct Fetched {
    pub response: Response,
    /// The URL of the last request, after all redirects; empty: the requested one.
    pub url: String,
    pub redirected: bool,
}

/// The app's access to the network, under its policy.
pub struct Network {
    client: Arc<Client>,
    redirect: RedirectMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// A line of a script's log.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    pub app: &'a str,
    pub version: &'a str,
    pub request: RequestId,
    pub level: LogLevel,
    pub message: &'a str,
}

impl Operations for DefaultOperations {
    fn connect(&self, _: &str, _: u16) -> Result<(), OperationError> {
        Ok(())
    }

    fn look_up(&self, _: &str) -> Result<(), OperationError> {
        Ok(())
    }
}

// === impl Binding ===

impl Binding {
    pub fn new(name: impl Into<String>, methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: name.into(), methods: methods.into_iter().map(Into::into).collect() }
    }
}

// === impl OperationError ===

impl OperationError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

// === impl Fetched ===

impl From<Response> for Fetched {
    fn from(response: Response) -> Self {
        Self { response, url: String::new(), redirected: false }
    }
}

// === impl Network ===

impl Network {
    pub(crate) fn new(client: Arc<Client>, redirect: RedirectMode) -> Self {
        Self { client, redirect }
    }

    /// Sends it and follows redirects as the script asked for.
    pub fn send(self, request: Request) -> OperationFuture<Fetched> {
        let Request { method, url, headers, body, .. } = request;
        let Self { client, redirect } = self;
        Box::pin(async move {
            let outgoing = FetchRequest { method, url, headers, body, redirect };
            let answer = client.send(outgoing).await.map_err(|error| OperationError::new(error.to_string()))?;
            Ok(Fetched { response: answer.response, url: answer.url, redirected: answer.redirected })
        })
    }
}

// === impl LogLine ===

impl<'a> LogLine<'a> {
    pub(crate) fn new(app: &'a App, request: RequestId, level: Level, message: &'a str) -> Self {
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        Self { app: app.name.as_str(), version: app.version.as_str(), request, level, message }
    }

    /// Writes it with `tracing`, as Hearth does.
    pub fn trace(&self) {
        let Self { app, version, request, level, message } = *self;
        let request = request.raw();
        match level {
            LogLevel::Debug => tracing::debug!(target: "hearth::console", app, version, request, "{message}"),
            LogLevel::Info => tracing::info!(target: "hearth::console", app, version, request, "{message}"),
            LogLevel::Warn => tracing::warn!(target: "hearth::console", app, version, request, "{message}"),
            LogLevel::Error => tracing::error!(target: "hearth::console", app, version, request, "{message}"),
        }
    }
}
