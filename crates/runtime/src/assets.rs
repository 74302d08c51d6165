//! Assets bindings: objects in an app's `env` whose `fetch` is answered with files, without a network.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hearth_core::{Headers, Method, Response};

/// The names in `env`, and what answers.
#[derive(Clone)]
pub struct Assets {
    pub names: Vec<String>,
    pub source: Arc<dyn AssetSource>,
}

pub trait AssetSource: Send + Sync {
    /// The file, or a response that says why there is none.
    fn fetch(self: Arc<Self>, request: AssetRequest) -> Pin<Box<dyn Future<Output = Response> + Send>>;
}

/// A request without its body: files take none.
#[derive(Debug)]
pub struct AssetRequest {
    pub method: Method,
    /// Absolute.
    pub url: String,
    pub headers: Headers,
}
