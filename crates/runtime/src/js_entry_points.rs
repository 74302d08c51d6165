//! The functions of `main.js` that Rust calls, taken from the snapshot when a context is created.
//! The snapshot has a list of them: an object would need twenty property descriptions and twenty
//! lookups.

use crate::bootstrap::text;

macro_rules! entry {
    ($($(#[$doc:meta])* $field:ident = $name:literal),* $(,)?) => {
        pub(crate) struct JsEntryPoints {
            $($(#[$doc])* pub(crate) $field: v8::Global<v8::Function>),*
        }

        /// In the order of the list.
        const NAMES: &[&str] = &[$($name),*];

        impl JsEntryPoints {
            /// Takes them out of the snapshot; works once per context.
            pub(crate) fn take(scope: &mut v8::PinScope<'_, '_>) -> Self {
                let list = crate::bootstrap::entry(scope);
                let mut places = 0..;
                let mut next = || {
                    let function = places.next().and_then(|place| list.get_index(scope, place));
                    let function = function.and_then(|value| v8::Local::<v8::Function>::try_from(value).ok());
                    v8::Global::new(scope, function.expect("the list was made of as many functions"))
                };
                // Fields are evaluated in the order in which they are written.
                Self { $($field: next()),* }
            }
        }
    };
}

entry! {
    /// ("spare" or undefined): before the context is a worker's
    rehearse = "rehearse",
    /// (request) -> the text of a plain 200, or nothing
    dispatch_fetch = "dispatchFetch",
    dispatch_scheduled = "dispatchScheduled",
    dispatch_task = "dispatchTask",
    /// (request, bit of the hook)
    dispatch_hook = "dispatchHook",
    fire_timer = "fireTimer",
    /// (socket, kind, data or code, reason)
    deliver_socket = "deliverSocket",
    /// (request): it has ended, and JavaScript's state of it can go
    drop_request = "dropRequest",
    /// (request, message)
    abort_request = "abortRequest",
    /// (environment, app, version, worker)
    set_environment = "setEnvironment",
    /// (namespace or undefined) -> which handlers there are
    set_handlers = "setHandlers",
    make_dom_exception = "makeDomException",
    describe_error = "describeError",
    /// (request, promise, reason, bit of the event) -> whether there is a listener, and whether it prevented what
    /// happens otherwise
    offer_rejection = "offerRejection",
    prepare_stack_trace = "prepareStackTrace",
    require_commonjs = "requireCommonJs",
    builtin_module = "builtinModule",
}

impl JsEntryPoints {
    /// The list, from the exports of `main.js`.
    pub(crate) fn list<'s>(
        scope: &mut v8::PinScope<'s, '_>,
        exports: v8::Local<'s, v8::Object>,
    ) -> v8::Local<'s, v8::Array> {
        let functions: Vec<_> = NAMES.iter().map(|name| function(scope, exports, name).into()).collect();
        v8::Array::new_with_elements(scope, &functions)
    }

    /// An object like the exports, from the list.
    pub(crate) fn named<'s>(
        scope: &mut v8::PinScope<'s, '_>,
        list: v8::Local<'s, v8::Array>,
    ) -> v8::Local<'s, v8::Object> {
        let object = v8::Object::new(scope);
        for (place, name) in (0..).zip(NAMES) {
            let (key, function) = (text(scope, name), list.get_index(scope, place));
            object.set(scope, key.into(), function.expect("the list has no getters"));
        }
        object
    }
}

fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exports: v8::Local<'s, v8::Object>,
    name: &str,
) -> v8::Local<'s, v8::Function> {
    let key = text(scope, name);
    let value = exports.get(scope, key.into()).and_then(|value| v8::Local::<v8::Function>::try_from(value).ok());
    value.unwrap_or_else(|| panic!("main.js exports {name}"))
}
