//! An app of one module, given as text, and requests to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_core::module::{ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleLoader, ModuleSource};
use hearth_core::{AppName, Body, ByteSize, Headers, Limits, Method, Owner, Request, Response, VersionName};
use hearth_egress::{Client, EgressPolicy};
use hearth_runtime::{App, CodeCache, LatencyProfile, Meters};

#[derive(Debug)]
struct OneModule {
    source: Arc<ModuleSource>,
    has_loaded: AtomicBool,
}

/// A module that can be loaded once.
const PANICS_LATER: &str = "./panic-when-evaluated.txt";

impl ModuleLoader for OneModule {
    fn entry(&self) -> ModuleId {
        self.source.id.clone()
    }

    fn resolve(&self, specifier: &str, from: &ModuleId, _: ImportStyle) -> Result<ModuleId, ModuleError> {
        assert!(specifier != "./panic.js", "a loader that panics, as a test wants it");
        if specifier == PANICS_LATER {
            return Ok(ModuleId::new(PANICS_LATER));
        }
        let reason = "there is one module".to_owned();
        Err(ModuleError::NotFound { specifier: specifier.to_owned(), from: from.to_string(), reason })
    }

    fn load(&self, id: &ModuleId, _: ImportType) -> Result<Arc<ModuleSource>, ModuleError> {
        if id.as_str() != PANICS_LATER {
            return Ok(self.source.clone());
        }
        assert!(!self.has_loaded.swap(true, Ordering::Relaxed), "a loader that panics, as a test wants it");
        Ok(Arc::new(ModuleSource { id: id.clone(), code: ModuleCode::Text("text".into()), source_map: None }))
    }
}

pub fn app(code: &str, cache: ByteSize) -> Arc<App> {
    named("one", code, no_egress(), Arc::new(CodeCache::new(cache)))
}

/// An app whose name is also its owner's; the caller passes what it shares with others.
pub fn named(name: &str, code: &str, egress: Arc<Client>, code_cache: Arc<CodeCache>) -> Arc<App> {
    let id = ModuleId::new("/index.js");
    let source = ModuleSource { id, code: ModuleCode::Module(code.into()), source_map: None };
    Arc::new(App {
        name: AppName::new(name),
        version: VersionName::new("latest"),
        owner: Owner::new(name),
        loader: Arc::new(OneModule { source: Arc::new(source), has_loaded: AtomicBool::new(false) }),
        limits: Limits::default(),
        env: Vec::new(),
        egress,
        code_cache,
        assets: None,
        operations: None,
        latency: LatencyProfile::new(std::time::Instant::now()),
        meters: Meters::new(&Limits::default()),
    })
}

pub fn no_egress() -> Arc<Client> {
    let egress = hearth_egress::Config::new(|_: &str, _: &str| None).build().unwrap();
    Arc::new(egress.client(EgressPolicy::none()))
}

pub fn request(body: &'static [u8]) -> Request {
    let mut headers = Headers::new();
    headers.push(b"host", b"127.0.0.1:8080");
    Request {
        method: if body.is_empty() { Method::Get } else { Method::Post },
        headers,
        body: Body::from(bytes::Bytes::from_static(body)),
        ..Request::get("http://127.0.0.1:8080/")
    }
}

pub fn get(path: &str) -> Request {
    Request { url: format!("http://one.test{path}"), ..request(b"") }
}

pub async fn text(response: Response) -> String {
    String::from_utf8(response.body.collect().await.unwrap().to_vec()).unwrap()
}
