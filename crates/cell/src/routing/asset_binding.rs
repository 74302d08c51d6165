//! `env.ASSETS` of an app: requests of its worker for files of its static folder. Pages are found without `.html`, and what is
//! missing is the folder's `404.html`, as for a multi-page site.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hearth_config::BindingKind;
use hearth_core::{Body, Headers, Response};
use hearth_gateway::status_and_code;
use hearth_ipc::VersionSpec;
use hearth_runtime::{AssetRequest, AssetSource, Assets};
use hearth_static::{FileRequest, Site};

use super::files::{self, FilesError};
use super::url_parts::UrlParts;
use super::version::BASE;

struct BoundSite(Site);

/// What the app's manifest binds to its static folder.
pub(super) fn open(spec: &VersionSpec) -> Result<Option<Assets>, FilesError> {
    let bindings = spec.settings.bindings.iter();
    let names: Vec<String> =
        bindings.filter(|(_, kind)| **kind == BindingKind::Assets).map(|(name, _)| name.clone()).collect();
    match &spec.settings.static_folder {
        Some(folder) if !names.is_empty() => {
            let source = Arc::new(BoundSite(files::bound(spec, folder)?));
            Ok(Some(Assets { names, source }))
        }
        _ => Ok(None),
    }
}

impl AssetSource for BoundSite {
    fn fetch(self: Arc<Self>, request: AssetRequest) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        Box::pin(async move { self.respond(&request).await })
    }
}

impl BoundSite {
    async fn respond(&self, request: &AssetRequest) -> Response {
        let AssetRequest { method, url, headers } = request;
        let UrlParts { path, query, .. } = UrlParts::parse(url);
        let base = headers.get(BASE).and_then(|base| std::str::from_utf8(base).ok()).unwrap_or_default();
        let failure = match self.0.answer(FileRequest { method, headers, path, query, base }).await {
            Ok(Some(response)) => return response,
            Ok(None) => hearth_core::Failure::NotFound,
            Err(error) => error.into(),
        };
        Response::new(status_and_code(&failure).0, Headers::new(), Body::Empty)
    }
}
