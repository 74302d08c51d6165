//! Globals of lazy files (`js/loader.js`): the first access to one of them runs its file.
//!
//! To an app each is the data property that it will be, with the same attributes: V8 calls the
//! getter below for the value, also for a property descriptor, and an assignment or a definition
//! replaces it. The getter replaces itself by the value, so it is called once, unless the app has
//! frozen its global object.

use v8::MapFnTo;

use crate::bootstrap::text;

/// A file and those of its exports that are global, under the same names.
type Exports = (&'static str, &'static [&'static str]);

/// Interfaces, and `console`, which Web IDL has as a namespace: not enumerable.
const INTERFACES: &[Exports] = &[
    ("dom/exception", &["DOMException", "QuotaExceededError"]),
    ("dom/event", &["Event", "EventTarget"]),
    (
        "dom/events",
        &["CustomEvent", "ErrorEvent", "MessageEvent", "CloseEvent", "PromiseRejectionEvent", "ProgressEvent"],
    ),
    ("dom/abort", &["AbortController", "AbortSignal"]),
    ("dom/message_port", &["MessageChannel", "MessagePort"]),
    ("dom/broadcast_channel", &["BroadcastChannel"]),
    ("encoding/text", &["TextEncoder", "TextDecoder"]),
    ("performance", &["Performance"]),
    ("performance/entries", &["PerformanceEntry", "PerformanceMark", "PerformanceMeasure"]),
    ("performance/observer", &["PerformanceObserver", "PerformanceObserverEntryList"]),
    ("navigator", &["Navigator"]),
    ("scheduler", &["Scheduler"]),
    ("event_source/event_source", &["EventSource"]),
    ("cache/caches", &["Cache", "CacheStorage"]),
    ("html_rewriter/html_rewriter", &["HTMLRewriter"]),
    ("crypto/subtle", &["SubtleCrypto"]),
    ("crypto/key", &["CryptoKey"]),
    ("crypto/random", &["Crypto"]),
    ("console", &["console"]),
    (
        "streams/interfaces",
        &[
            "ByteLengthQueuingStrategy",
            "CountQueuingStrategy",
            "ReadableByteStreamController",
            "ReadableStream",
            "ReadableStreamBYOBReader",
            "ReadableStreamBYOBRequest",
            "ReadableStreamDefaultController",
            "ReadableStreamDefaultReader",
            "TextDecoderStream",
            "TextEncoderStream",
            "TransformStream",
            "TransformStreamDefaultController",
            "WritableStream",
            "WritableStreamDefaultController",
            "WritableStreamDefaultWriter",
        ],
    ),
    ("streams/compression", &["CompressionStream", "DecompressionStream"]),
    ("node/globals", &["Buffer", "global", "process"]),
    ("url/url", &["URL"]),
    ("url/search_params", &["URLSearchParams"]),
    ("urlpattern/url_pattern", &["URLPattern"]),
    ("file/blob", &["Blob", "File"]),
    ("file/form_data", &["FormData"]),
    ("websocket/socket", &["WebSocket"]),
    ("websocket/pair", &["WebSocketPair"]),
    ("bun", &["Bun"]),
    ("events/extendable", &["ExtendableEvent", "FetchEvent", "ScheduledEvent", "TaskEvent"]),
];

/// Functions and attributes of the global scope: enumerable, as those of WindowOrWorkerGlobalScope are.
const MEMBERS: &[Exports] = &[
    ("timers", &["setTimeout", "setInterval", "clearTimeout", "clearInterval"]),
    ("structured_clone", &["structuredClone"]),
    ("infra/base64", &["atob", "btoa"]),
    ("fetch/fetch", &["fetch"]),
    ("crypto/random", &["crypto"]),
    ("node/globals", &["setImmediate", "clearImmediate"]),
    ("performance", &["performance"]),
    ("navigator", &["navigator"]),
    ("scheduler", &["scheduler"]),
    ("cache/caches", &["caches"]),
];

/// The getter's address, for the snapshot.
pub(crate) fn reference() -> v8::ExternalReference {
    v8::ExternalReference { pointer: getter() as *mut std::ffi::c_void }
}

/// The list of them for the loader: file, name, file, name...
pub(crate) fn list<'s>(scope: &mut v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Array> {
    let all = INTERFACES.iter().chain(MEMBERS);
    let pairs = all.flat_map(|(file, names)| names.iter().flat_map(move |name| [*file, *name]));
    let pairs: Vec<_> = pairs.map(|part| text(scope, part).into()).collect();
    v8::Array::new_with_elements(scope, &pairs)
}

/// Defines them all, in a context in which the built-in files are defined.
pub(crate) fn install(scope: &mut v8::PinScope<'_, '_>) {
    define_all(scope, INTERFACES, || v8::PropertyAttribute::DONT_ENUM);
    define_all(scope, MEMBERS, || v8::PropertyAttribute::NONE);
}

/// Removes from the prototype of shared buffers, which a Wasm module can create, the constructor
/// that would make others.
pub(crate) fn hide_shared_memory(scope: &mut v8::PinScope<'_, '_>) {
    let prototype = v8::SharedArrayBuffer::new(scope, 0).and_then(|buffer| buffer.get_prototype(scope));
    let prototype = prototype.and_then(|prototype| prototype.to_object(scope));
    let name = text(scope, "constructor");
    let hidden = prototype.and_then(|prototype| prototype.delete(scope, name.into()));
    assert_eq!(hidden, Some(true), "V8 has shared buffers, and what is on their prototype can be deleted");
}

/// V8 adds WebAssembly to every context after the snapshot has been read. This hides it until an
/// app first accesses it; then `wasm.js` changes it.
pub(crate) fn hide_webassembly(scope: &mut v8::PinScope<'_, '_>) {
    let context = scope.get_current_context();
    let (global, name) = (context.global(scope), text(scope, "WebAssembly"));
    let away = text(scope, "away");
    let away = context.get_extras_binding_object(scope).get(scope, away.into()).and_then(|away| away.to_object(scope));
    let (wasm, away) = (global.get(scope, name.into()), away.expect("the loader has made a place for it"));
    let wasm = wasm.expect("nothing of an app's can throw yet");
    let file = text(scope, "wasm");
    away.set(scope, file.into(), wasm);
    define(scope, global, file, name, v8::PropertyAttribute::DONT_ENUM);
}

fn define_all(scope: &mut v8::PinScope<'_, '_>, list: &[Exports], attributes: fn() -> v8::PropertyAttribute) {
    let global = scope.get_current_context().global(scope);
    for &(file, names) in list {
        let file = text(scope, file);
        for name in names {
            let name = text(scope, name);
            define(scope, global, file, name, attributes());
        }
    }
}

fn define(
    scope: &mut v8::PinScope<'_, '_>,
    global: v8::Local<v8::Object>,
    file: v8::Local<v8::String>,
    name: v8::Local<v8::String>,
    attributes: v8::PropertyAttribute,
) {
    let how = v8::AccessorConfiguration::new(get).property_attribute(attributes).data(file.into());
    global.set_accessor_with_configuration(scope, name.into(), how);
}

fn getter() -> v8::AccessorNameGetterCallback {
    get.map_fn_to()
}

fn get<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: v8::Local<'s, v8::Name>,
    arguments: v8::PropertyCallbackArguments<'s>,
    mut result: v8::ReturnValue<'_, v8::Value>,
) {
    let context = scope.get_current_context();
    let load = text(scope, "load");
    let load = context.get_extras_binding_object(scope).get(scope, load.into());
    let Some(load) = load.and_then(|load| v8::Local::<v8::Function>::try_from(load).ok()) else { return };
    let undefined = v8::undefined(scope).into();
    // An exception (for want of stack, or at a time limit) is thrown to the code that accessed the
    // global.
    let Some(value) = load.call(scope, undefined, &[arguments.data(), name.into()]) else { return };
    context.global(scope).set(scope, name.into(), value);
    result.set(value);
}
