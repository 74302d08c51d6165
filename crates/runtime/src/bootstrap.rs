//! The list of built-in JavaScript files, and how a context gets them. The snapshot is made from
//! this list, and every context of every execution mode comes from the snapshot, so all have the
//! same APIs.

use std::borrow::Cow;

use v8::script_compiler::{CachedData, CompileOptions, NoCacheReason, Source, compile_function};

use crate::js_entry_points::JsEntryPoints;
use crate::lazy_code;
use crate::lazy_globals;
use crate::op_injection;
use crate::ops::natives;
use crate::snapshot::ENTRY;

/// A built-in file: the name that `require` knows, and its text, which must be ASCII. V8 needs the
/// texts for functions that it has not compiled yet; they lie outside of its heaps, in this
/// program, so that no isolate has a copy of them.
struct File {
    name: &'static str,
    when: When,
    text: &'static v8::OneByteConst,
}

/// When a file runs.
enum When {
    /// When the snapshot is made: every context has its exports.
    Now,
    /// When a context first uses it, with the code of the snapshot. For what a plain request does
    /// not need: each function, class and object of a file that has run is read anew for each
    /// context.
    Lazy,
    /// The same, but the snapshot's heap does not have the code either (`lazy_code.rs`): each
    /// isolate would read it anew.
    Rare,
}

macro_rules! files {
    ($($when:ident $name:literal),* $(,)?) => {
        &[$(File {
            name: $name,
            when: When::$when,
            text: {
                static TEXT: v8::OneByteConst =
                    v8::String::create_external_onebyte_const(include_bytes!(concat!("../js/", $name, ".js")));
                &TEXT
            },
        }),*]
    };
}

/// In order: a file can require the files before it only.
static FILES: &[File] = files![
    Now "primordials",
    Now "webidl",
    Now "request_scope",
    Now "platform_classes",
    Lazy "dom/exception",
    Now "dom/report",
    Rare "dom/event",
    Rare "dom/events",
    Lazy "timers",
    Rare "dom/abort",
    Now "infra/bytes",
    Rare "infra/base64",
    Rare "infra/mime",
    Lazy "encoding/text",
    Rare "structured_clone",
    Rare "performance/entries",
    Rare "performance/observer",
    Rare "performance",
    Rare "navigator",
    Rare "scheduler",
    Rare "dom/message_port",
    Rare "dom/broadcast_channel",
    Rare "crypto/key",
    Rare "crypto/algorithms",
    Rare "crypto/jwk",
    Rare "crypto/secrets",
    Rare "crypto/pairs",
    Rare "crypto/subtle",
    Lazy "crypto/random",
    Rare "node/crypto",
    Lazy "inspect_text",
    Lazy "inspect_kinds",
    Lazy "inspect",
    Lazy "console_format",
    Lazy "console",
    Rare "node/async_hooks",
    Rare "node/events",
    Rare "streams/queue",
    Rare "streams/promises",
    Rare "streams/strategies",
    Rare "streams/views",
    Rare "streams/readable_core",
    Rare "streams/controller",
    Rare "streams/readable_default",
    Rare "streams/byte_controller",
    Rare "streams/readable_byte",
    Rare "streams/writable_core",
    Rare "streams/writable_controller",
    Rare "streams/writable",
    Rare "streams/pipe",
    Rare "streams/tee",
    Rare "streams/async_iteration",
    Rare "streams/readable",
    Rare "streams/transform",
    Rare "streams/transfer",
    Rare "streams/encoding",
    Rare "streams/compression",
    Rare "streams/native",
    Rare "streams/interfaces",
    Rare "crypto/digest_stream",
    Now "url/search_params",
    Now "url/url",
    Rare "urlpattern/tokens",
    Rare "urlpattern/parts",
    Rare "urlpattern/canonicalize",
    Rare "urlpattern/constructor_string",
    Rare "urlpattern/init",
    Rare "urlpattern/url_pattern",
    Rare "file/text_stream",
    Rare "file/blob",
    Rare "file/types",
    Rare "file/app_file",
    Rare "file/form_data",
    Rare "file/multipart",
    Now "fetch/headers",
    Rare "fetch/header_guards",
    Now "fetch/inner_body",
    Now "fetch/json",
    Now "fetch/body",
    Now "fetch/settings",
    Lazy "fetch/request_init",
    Now "fetch/request",
    Rare "websocket/arguments",
    Rare "websocket/socket",
    Rare "websocket/pair",
    Now "fetch/response",
    Rare "fetch/data_url",
    Rare "fetch/integrity",
    Rare "fetch/response_parts",
    Rare "html_rewriter/tokens",
    Rare "html_rewriter/source",
    Rare "html_rewriter/html_rewriter",
    Lazy "fetch/fetch",
    Rare "event_source/parser",
    Rare "event_source/event_source",
    Rare "cache/policy",
    Rare "cache/store",
    Rare "cache/caches",
    Rare "fetch/assets",
    Rare "routes/pattern",
    Rare "routes/table",
    Rare "routes/entry",
    Rare "routes/router",
    Now "environment",
    Rare "node/ticks",
    Rare "node/net",
    Rare "node/process",
    Rare "node/timers",
    Rare "node/util",
    Rare "node/buffer",
    Rare "commonjs",
    Rare "node/module",
    Rare "node/v8",
    Rare "node/vm",
    Rare "node/zlib",
    Rare "node/fs",
    Rare "node/modules",
    Rare "node/globals",
    Now "events/pending",
    Now "events/scope",
    Now "events/context",
    Rare "node/workers",
    Rare "events/extendable",
    Rare "node/http",
    Now "hearth",
    Rare "bun",
    Now "intl",
    Now "globals",
    Rare "bindings",
    Rare "wasm",
    Now "stack",
    Now "main",
];

/// Makes `require` and `define`; see `js/README.md`.
const LOADER: &str = include_str!("../js/loader.js");
const WARM_UP: &str = include_str!("../js/warm_up.js");

#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    #[error("{file}: {message}")]
    Threw { file: String, message: String },
    #[error("V8 made no snapshot")]
    NoBlob,
}

/// The addresses of natives and texts, which the snapshot names by their index in this list.
pub(crate) fn external_references() -> Cow<'static, [v8::ExternalReference]> {
    let natives = natives().iter().map(|native| v8::ExternalReference { function: native.callback });
    let text = |file: &File| v8::ExternalReference { pointer: std::ptr::from_ref(file.text).cast_mut().cast() };
    let own = [lazy_globals::reference(), lazy_code::reference(), op_injection::reference()];
    Cow::Owned(natives.chain(FILES.iter().map(text)).chain(own).collect())
}

/// Runs all built-in files in a fresh context and returns the entry points: those of `main.js`'s exports that Rust calls.
pub(crate) fn run<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
) -> Result<v8::Local<'s, v8::Array>, BootstrapError> {
    v8::tc_scope!(let scope, scope);
    let [compile, supply] = [lazy_code::callback(), op_injection::callback()]
        .map(|native| native_function(scope, native).expect("a function can be made in a fresh context"));
    let extras = context.get_extras_binding_object(scope);
    let undefined = v8::undefined(scope).into();

    let code = text(scope, LOADER);
    let loader = function(scope, "loader", code, &["extras", "compile", "supply"])
        .and_then(|loader| loader.call(scope, undefined, &[extras.into(), compile.into(), supply.into()]))
        .and_then(|made| v8::Local::<v8::Object>::try_from(made).ok());
    let Some(loader) = loader else { return Err(thrown(scope, "loader")) };
    let (define, finish) = (method(scope, loader, "define"), method(scope, loader, "finish"));
    let mut last = None;
    for (number, file) in FILES.iter().enumerate() {
        let name = text(scope, file.name).into();
        let body: Option<v8::Local<v8::Value>> = match file.when {
            When::Now | When::Lazy => body(scope, number, None).map(Into::into),
            When::Rare => Some(undefined),
        };
        let text = match file.when {
            When::Now => undefined,
            When::Lazy | When::Rare => file_text(scope, file).into(),
        };
        let exports = body.and_then(|body| define.call(scope, undefined, &[name, body, text]));
        let Some(exports) = exports else { return Err(thrown(scope, file.name)) };
        last = Some(exports);
    }
    let main = last.and_then(|exports| exports.to_object(scope)).ok_or_else(|| thrown(scope, "main"))?;
    let globals = lazy_globals::list(scope).into();
    if finish.call(scope, undefined, &[globals]).is_none() {
        return Err(thrown(scope, "loader"));
    }
    lazy_globals::install(scope);
    lazy_globals::hide_shared_memory(scope);
    Ok(JsEntryPoints::list(scope, main))
}

/// Runs all files that have not run yet.
pub(crate) fn use_all(scope: &mut v8::PinScope<'_, '_>) -> Result<(), BootstrapError> {
    v8::tc_scope!(let scope, scope);
    let extras = scope.get_current_context().get_extras_binding_object(scope);
    let load = method(scope, extras, "load");
    let (undefined, nothing) = (v8::undefined(scope).into(), v8::String::empty(scope).into());
    for file in FILES {
        let name = text(scope, file.name).into();
        if load.call(scope, undefined, &[name, nothing]).is_none() {
            return Err(thrown(scope, file.name));
        }
    }
    Ok(())
}

/// The text of a file.
pub(crate) fn source(number: usize) -> Option<&'static str> {
    let file = FILES.get(number)?;
    #[cfg(debug_assertions)]
    if let Some(text) = from_disk(file) {
        return Some(text.as_str());
    }
    Some(file.text.as_str())
}

/// For work on rare files, in debug builds alone: the text as it is on the disk now, in the checkout that `HEARTH_JS` names.
#[cfg(debug_assertions)]
fn from_disk(file: &File) -> Option<&'static v8::OneByteConst> {
    let checkout = std::env::var_os("HEARTH_JS").filter(|_| matches!(file.when, When::Rare))?;
    let path = std::path::PathBuf::from(checkout).join(format!("crates/runtime/js/{}.js", file.name));
    let text = std::fs::read(path).ok()?.leak();
    Some(Box::leak(Box::new(v8::String::create_external_onebyte_const(text))))
}

/// The body of a file: `(require, module, lazy)`.
pub(crate) fn body<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    number: usize,
    code: Option<v8::UniqueRef<CachedData<'_>>>,
) -> Option<v8::Local<'s, v8::Function>> {
    let file = FILES.get(number)?;
    #[cfg(debug_assertions)]
    if let Some(text) = from_disk(file) {
        let text = v8::String::new_from_onebyte_const(scope, text).expect("built-in files are short");
        return compiled(scope, file.name, text, &["require", "module", "lazy"], None);
    }
    let text = file_text(scope, file);
    compiled(scope, file.name, text, &["require", "module", "lazy"], code)
}

/// Makes the context of the future snapshot handle a request without a client (`js/main.js`).
pub(crate) fn rehearse<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    list: v8::Local<'s, v8::Array>,
) -> Result<(), BootstrapError> {
    v8::tc_scope!(let scope, scope);
    let main = JsEntryPoints::named(scope, list);
    let (rehearse, undefined) = (method(scope, main, "rehearse"), v8::undefined(scope).into());
    if rehearse.call(scope, undefined, &[]).is_none() { Err(thrown(scope, "main")) } else { Ok(()) }
}

/// Calls what a first request calls, in a context made from a snapshot, which is of no use
/// afterwards.
pub(crate) fn warm_up(scope: &mut v8::PinScope<'_, '_>) -> Result<(), BootstrapError> {
    v8::tc_scope!(let scope, scope);
    let list = entry(scope);
    let main = JsEntryPoints::named(scope, list).into();
    let undefined = v8::undefined(scope).into();
    let code = text(scope, WARM_UP);
    let done = function(scope, "warm_up", code, &["main"]).and_then(|run| run.call(scope, undefined, &[main]));
    scope.perform_microtask_checkpoint();
    if done.is_none() { Err(thrown(scope, "warm_up")) } else { Ok(()) }
}

/// The entry points, in a context made from a snapshot; works once per context.
pub(crate) fn entry<'s>(scope: &mut v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Array> {
    scope.get_context_data_from_snapshot_once(ENTRY).expect("the snapshot was made with the entry points")
}

fn method<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
    name: &str,
) -> v8::Local<'s, v8::Function> {
    let name = text(scope, name).into();
    let value = object.get(scope, name).and_then(|value| value.try_into().ok());
    value.expect("it is an object of functions")
}

pub(crate) fn text<'s>(scope: &mut v8::PinScope<'s, '_, ()>, text: &str) -> v8::Local<'s, v8::String> {
    v8::String::new(scope, text).expect("built-in names and texts are short")
}

/// None at a time limit or at the end of the stack.
pub(crate) fn native_function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    callback: v8::FunctionCallback,
) -> Option<v8::Local<'s, v8::Function>> {
    v8::Function::builder_raw(callback).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)
}

fn file_text<'s>(scope: &mut v8::PinScope<'s, '_>, file: &File) -> v8::Local<'s, v8::String> {
    v8::String::new_from_onebyte_const(scope, file.text).expect("built-in files are short")
}

fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    code: v8::Local<'s, v8::String>,
    parameters: &[&str],
) -> Option<v8::Local<'s, v8::Function>> {
    compiled(scope, name, code, parameters, None)
}

/// `cached` is V8's code of the same text.
fn compiled<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    code: v8::Local<'s, v8::String>,
    parameters: &[&str],
    cached: Option<v8::UniqueRef<CachedData<'_>>>,
) -> Option<v8::Local<'s, v8::Function>> {
    let resource = text(scope, &format!("hearth:{name}"));
    let origin = v8::ScriptOrigin::new(scope, resource.into(), 0, 0, false, -1, None, false, false, false, None);
    let (mut source, options) = match cached {
        Some(cached) => (Source::new_with_cached_data(code, Some(&origin), cached), CompileOptions::ConsumeCodeCache),
        None => (Source::new(code, Some(&origin)), CompileOptions::NoCompileOptions),
    };
    let parameters: Vec<_> = parameters.iter().map(|name| text(scope, name)).collect();
    compile_function(scope, &mut source, &parameters, &[], options, NoCacheReason::NoReason)
}

fn thrown(scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>, file: &str) -> BootstrapError {
    let message = match (scope.exception(), scope.message()) {
        (Some(exception), Some(message)) => {
            let line = message.get_line_number(scope).unwrap_or(0);
            format!("line {line}: {}", exception.to_rust_string_lossy(scope))
        }
        _ => "nothing was thrown, and nothing was returned".to_owned(),
    };
    BootstrapError::Threw { file: file.to_owned(), message }
}
