//! The functions of `main.js` that Rust calls, taken from the snapshot when a context is made.

macro_rules! entry {
    ($($(#[$doc:meta])* $field:ident = $name:literal),* $(,)?) => {
        pub(crate) struct Entry {
            $($(#[$doc])* pub(crate) $field: v8::Global<v8::Function>),*
        }

        impl Entry {
            /// Takes them out of the snapshot; works once per context.
            pub(crate) fn take(scope: &mut v8::PinScope<'_, '_>) -> Self {
                let exports = crate::bootstrap::entry(scope);
                Self { $($field: function(scope, exports, $name)),* }
            }
        }
    };
}

entry! {
    /// (request) -> the text of a plain 200, or nothing
    dispatch_fetch = "dispatchFetch",
    dispatch_scheduled = "dispatchScheduled",
    dispatch_task = "dispatchTask",
    /// (request, bit of the hook)
    dispatch_hook = "dispatchHook",
    fire_timer = "fireTimer",
    /// (socket, kind, data or code, reason)
    deliver_socket = "deliverSocket",
    /// (request): it is over, and what JavaScript remembers of it can go
    drop_request = "dropRequest",
    /// (request, message)
    abort_request = "abortRequest",
    /// (): once in a new context, before it is an app's
    finish_context = "finishContext",
    /// (environment, app, version, worker)
    set_environment = "setEnvironment",
    /// (namespace or undefined) -> which handlers there are
    set_handlers = "setHandlers",
    make_dom_exception = "makeDomException",
    describe_error = "describeError",
    prepare_stack_trace = "prepareStackTrace",
    require_commonjs = "requireCommonJs",
    builtin_module = "builtinModule",
}

fn function(scope: &mut v8::PinScope<'_, '_>, exports: v8::Local<v8::Object>, name: &str) -> v8::Global<v8::Function> {
    let key = v8::String::new(scope, name).expect("built-in names are short");
    let value = exports.get(scope, key.into()).and_then(|value| v8::Local::<v8::Function>::try_from(value).ok());
    let value = value.unwrap_or_else(|| panic!("main.js exports {name}"));
    v8::Global::new(scope, value)
}
