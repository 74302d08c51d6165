//! Globals of lazy files (`js/loader.js`): who first looks at one of them makes its file run.
//!
//! To an app each is the data property that it will be, with the same attributes: V8 asks the getter below for the value, also
//! for a property descriptor, and an assignment or a definition replaces it. The getter puts the value in its own place, so
//! it is called once, unless the app has frozen its global object.

use v8::MapFnTo;

use crate::bootstrap::text;

/// A file, and what of its exports is global, under the same names.
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
    ("encoding/text", &["TextEncoder", "TextDecoder"]),
    ("performance", &["Performance"]),
    ("crypto/digest", &["SubtleCrypto"]),
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
    ("url/url", &["URL"]),
    ("url/search_params", &["URLSearchParams"]),
    ("file/blob", &["Blob", "File"]),
    ("file/form_data", &["FormData"]),
    ("websocket/socket", &["WebSocket"]),
    ("websocket/pair", &["WebSocketPair"]),
    ("events/extendable", &["ExtendableEvent", "FetchEvent", "ScheduledEvent", "TaskEvent"]),
];

/// Functions and attributes of the global scope: enumerable, as those of WindowOrWorkerGlobalScope are.
const MEMBERS: &[Exports] = &[
    ("timers", &["setTimeout", "setInterval", "clearTimeout", "clearInterval"]),
    ("structured_clone", &["structuredClone"]),
    ("infra/base64", &["atob", "btoa"]),
    ("fetch/fetch", &["fetch"]),
    ("crypto/random", &["crypto"]),
    ("performance", &["performance"]),
];

/// The getter's address, for the snapshot.
pub(crate) fn reference() -> v8::ExternalReference {
    v8::ExternalReference { pointer: getter() as *mut std::ffi::c_void }
}

/// Defines them all, in a context in which the built-in files are defined.
pub(crate) fn install(scope: &mut v8::PinScope<'_, '_>) {
    define(scope, INTERFACES, || v8::PropertyAttribute::DONT_ENUM);
    define(scope, MEMBERS, || v8::PropertyAttribute::NONE);
}

fn define(scope: &mut v8::PinScope<'_, '_>, list: &[Exports], attributes: fn() -> v8::PropertyAttribute) {
    let global = scope.get_current_context().global(scope);
    for &(file, names) in list {
        let file = text(scope, file);
        for name in names {
            let name = text(scope, name);
            let how = v8::AccessorConfiguration::new(get).property_attribute(attributes()).data(file.into());
            global.set_accessor_with_configuration(scope, name.into(), how);
        }
    }
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
    // What it throws (for want of stack, or because time is up) is thrown to whoever looked.
    let Some(value) = load.call(scope, undefined, &[arguments.data(), name.into()]) else { return };
    context.global(scope).set(scope, name.into(), value);
    result.set(value);
}
