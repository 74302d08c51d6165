//! The one list of built-in JavaScript, and how a context gets it. The snapshot is made from it, and every context of
//! every execution mode comes from the snapshot, so none can have another set of APIs than the rest.

use std::borrow::Cow;

use crate::ops::natives;
use crate::snapshot::ENTRY;

/// A built-in file: the name that `require` knows, and its text, which must be ASCII. V8 needs the texts for functions that it
/// has not compiled yet; they lie outside of its heaps, in this program, so that no isolate has a copy of them.
struct File {
    name: &'static str,
    text: &'static v8::OneByteConst,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File {
            name: $name,
            text: {
                static TEXT: v8::OneByteConst =
                    v8::String::create_external_onebyte_const(include_bytes!(concat!("../js/", $name, ".js")));
                &TEXT
            },
        }),*]
    };
}

/// In order: a file can require those before it and no other.
static FILES: &[File] = files![
    "primordials",
    "webidl",
    "request_scope",
    "dom/exception",
    "dom/report",
    "dom/event",
    "dom/events",
    "timers",
    "dom/abort",
    "infra/bytes",
    "infra/base64",
    "infra/mime",
    "encoding/text",
    "performance",
    "structured_clone",
    "crypto/digest",
    "crypto/random",
    "inspect_text",
    "inspect_kinds",
    "inspect",
    "console_format",
    "console",
    "node/async_hooks",
    "streams/queue",
    "streams/promises",
    "streams/strategies",
    "streams/views",
    "streams/readable_core",
    "streams/controller",
    "streams/readable_default",
    "streams/byte_controller",
    "streams/readable_byte",
    "streams/writable_core",
    "streams/writable_controller",
    "streams/writable",
    "streams/pipe",
    "streams/tee",
    "streams/async_iteration",
    "streams/readable",
    "streams/transform",
    "streams/encoding",
    "streams/native",
    "streams/interfaces",
    "url/search_params",
    "url/url",
    "file/text_stream",
    "file/blob",
    "file/types",
    "file/app_file",
    "file/form_data",
    "file/multipart",
    "fetch/headers",
    "fetch/inner_body",
    "fetch/json",
    "fetch/body",
    "fetch/request_init",
    "fetch/request",
    "websocket/arguments",
    "websocket/socket",
    "websocket/pair",
    "fetch/response",
    "fetch/data_url",
    "fetch/integrity",
    "fetch/fetch",
    "routes/pattern",
    "routes/table",
    "routes/entry",
    "routes/router",
    "events/pending",
    "events/scope",
    "events/extendable",
    "wasm",
    "hearth",
    "globals",
    "commonjs",
    "stack",
    "main",
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

/// The addresses of natives and texts, which the snapshot names by their place in this list.
pub(crate) fn external_references() -> Cow<'static, [v8::ExternalReference]> {
    let natives = natives().iter().map(|native| v8::ExternalReference { function: native.callback });
    let text = |file: &File| v8::ExternalReference { pointer: std::ptr::from_ref(file.text).cast_mut().cast() };
    Cow::Owned(natives.chain(FILES.iter().map(text)).collect())
}

/// Runs all built-in files in a fresh context and returns what `main.js` exports: the functions that Rust calls.
pub(crate) fn run<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
) -> Result<v8::Local<'s, v8::Object>, BootstrapError> {
    v8::tc_scope!(let scope, scope);
    let ops = v8::Object::new(scope);
    for native in natives() {
        let name = text(scope, native.name);
        let function = v8::Function::builder_raw(native.callback)
            .constructor_behavior(v8::ConstructorBehavior::Throw)
            .build(scope)
            .expect("a function can be made in a fresh context");
        function.set_name(name);
        ops.set(scope, name.into(), function.into());
    }
    let extras = context.get_extras_binding_object(scope);
    let undefined = v8::undefined(scope).into();

    let code = text(scope, LOADER);
    let made = function(scope, "loader", code, &["ops", "extras"])
        .and_then(|loader| loader.call(scope, undefined, &[ops.into(), extras.into()]))
        .and_then(|define| v8::Local::<v8::Function>::try_from(define).ok());
    let Some(define) = made else { return Err(thrown(scope, "loader")) };
    let mut last = None;
    for file in FILES {
        let name = text(scope, file.name).into();
        let code = v8::String::new_from_onebyte_const(scope, file.text);
        let exports = code
            .and_then(|code| function(scope, file.name, code, &["require", "module"]))
            .and_then(|body| define.call(scope, undefined, &[name, body.into()]));
        let Some(exports) = exports else { return Err(thrown(scope, file.name)) };
        last = Some(exports);
    }
    last.and_then(|exports| exports.to_object(scope)).ok_or_else(|| thrown(scope, "main"))
}

/// Calls what a first request calls, in a context made from a snapshot, which is of no use afterwards.
pub(crate) fn warm_up(scope: &mut v8::PinScope<'_, '_>) -> Result<(), BootstrapError> {
    v8::tc_scope!(let scope, scope);
    let main = entry(scope).into();
    let undefined = v8::undefined(scope).into();
    let code = text(scope, WARM_UP);
    let done = function(scope, "warm_up", code, &["main"]).and_then(|run| run.call(scope, undefined, &[main]));
    scope.perform_microtask_checkpoint();
    if done.is_none() { Err(thrown(scope, "warm_up")) } else { Ok(()) }
}

/// What `main.js` exports, in a context made from a snapshot; works once per context.
pub(crate) fn entry<'s>(scope: &mut v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Object> {
    scope.get_context_data_from_snapshot_once(ENTRY).expect("the snapshot was made with the entry points")
}

fn text<'s>(scope: &mut v8::PinScope<'s, '_, ()>, text: &str) -> v8::Local<'s, v8::String> {
    v8::String::new(scope, text).expect("built-in names and texts are short")
}

fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    code: v8::Local<'s, v8::String>,
    parameters: &[&str],
) -> Option<v8::Local<'s, v8::Function>> {
    let resource = text(scope, &format!("hearth:{name}"));
    let origin = v8::ScriptOrigin::new(scope, resource.into(), 0, 0, false, -1, None, false, false, false, None);
    let mut source = v8::script_compiler::Source::new(code, Some(&origin));
    let parameters: Vec<_> = parameters.iter().map(|name| text(scope, name)).collect();
    v8::script_compiler::compile_function(
        scope,
        &mut source,
        &parameters,
        &[],
        v8::script_compiler::CompileOptions::NoCompileOptions,
        v8::script_compiler::NoCacheReason::NoReason,
    )
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
