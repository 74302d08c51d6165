//! V8's questions while modules are linked and run: which module an import means, dynamic imports,
//! `import.meta`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hearth_core::module::{ImportStyle, ImportType, ModuleId};

use super::compile::{import_type, load_graph};
use crate::callbacks::guarded;
use crate::context_state::ContextState;
use crate::ops::text_value;

/// V8's resolve callback: all imports were resolved and compiled by `load_graph`.
pub(super) fn resolve_import<'s>(
    context: v8::Local<'s, v8::Context>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    v8::callback_scope!(unsafe scope, context);
    let state = ContextState::current(scope);
    let found = guarded(&state, || find_import(scope, &state, specifier, attributes, referrer));
    match found {
        Some(module) => Some(module),
        None => {
            let message = text_value(scope, "internal: an import was not loaded").ok()?;
            let exception = v8::Exception::error(scope, message);
            scope.throw_exception(exception);
            None
        }
    }
}

fn find_import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    let specifier = specifier.to_rust_string_lossy(scope);
    let kind = import_type(scope, attributes, 3, &ModuleId::new("")).unwrap_or(ImportType::Default);
    let hash = referrer.get_identity_hash().get();
    let referrer = v8::Global::new(scope, referrer);
    let found = {
        let map = state.modules.borrow();
        let target = map.known(hash, &referrer).and_then(|known| known.imports.get(&(specifier, kind)).cloned());
        target.and_then(|target| map.find(&target, kind))
    };
    Some(v8::Local::new(scope, &found?))
}

/// `import(specifier)`.
pub(crate) fn import_dynamically<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _options: v8::Local<'s, v8::Data>,
    resource: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let resolver = v8::PromiseResolver::new(scope)?;
    let promise = resolver.get_promise(scope);
    v8::tc_scope!(let scope, scope);
    // V8's frames are below: no panic may pass them. What a panic leaves half-done belongs to a
    // worker that is condemned.
    let imported = catch_unwind(AssertUnwindSafe(|| import(scope, resource, specifier, attributes)));
    let imported = imported.unwrap_or_else(|_| {
        ContextState::current(scope).poison();
        None
    });
    match imported {
        Some(result) => {
            resolver.resolve(scope, result);
        }
        None => {
            if scope.has_terminated() {
                return None;
            }
            let exception = scope.exception().unwrap_or_else(|| v8::undefined(scope).into());
            scope.reset();
            resolver.reject(scope, exception);
        }
    }
    Some(promise)
}

/// A promise of the namespace; nothing means that an exception is pending.
fn import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    resource: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Value>> {
    let state = ContextState::current(scope);
    let resource = resource.to_rust_string_lossy(scope);
    let from = ModuleId::new(resource.strip_prefix("file://").unwrap_or("/"));
    let specifier = specifier.to_rust_string_lossy(scope);
    let loaded = import_type(scope, attributes, 2, &from)
        .and_then(|kind| Ok((state.app.loader.resolve(&specifier, &from, ImportStyle::Import)?, kind)))
        .map_err(super::compile::CompileError::from)
        .and_then(|(id, kind)| load_graph(scope, &state, &id, kind));
    let module = match loaded {
        Ok(module) => module,
        Err(error) => {
            error.throw(scope);
            return None;
        }
    };
    if module.get_status() == v8::ModuleStatus::Uninstantiated {
        module.instantiate_module(scope, resolve_import)?;
    }
    let evaluated = module.evaluate(scope)?;
    let namespace = module.get_module_namespace();
    let evaluated: v8::Local<v8::Promise> = evaluated.try_into().ok()?;
    let give = v8::Function::builder(give_data).data(namespace).build(scope)?;
    evaluated.then(scope, give).map(Into::into)
}

fn give_data<'s>(
    _scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s>,
) {
    result.set(arguments.data());
}

/// `import.meta`: `url`, `filename` and `dirname`, all below the app's folder; `main` and `resolve`.
pub(crate) unsafe extern "C" fn initialize_import_meta(
    context: v8::Local<v8::Context>,
    module: v8::Local<v8::Module>,
    meta: v8::Local<v8::Object>,
) {
    v8::callback_scope!(unsafe scope, context);
    let Some(state) = ContextState::try_current(scope) else { return };
    guarded(&state, || fill_import_meta(scope, &state, module, meta));
}

fn fill_import_meta<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    module: v8::Local<'s, v8::Module>,
    meta: v8::Local<'s, v8::Object>,
) {
    let hash = module.get_identity_hash().get();
    let global = v8::Global::new(scope, module);
    let Some(id) = state.modules.borrow().known(hash, &global).map(|known| known.id.clone()) else { return };
    let folder = id.as_str().rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    let properties = [("url", format!("file://{id}")), ("filename", id.to_string()), ("dirname", folder.to_owned())];
    for (name, value) in properties {
        if let (Ok(name), Ok(value)) = (text_value(scope, name), text_value(scope, &value)) {
            meta.create_data_property(scope, name.into(), value.into());
        }
    }
    let main = v8::Boolean::new(scope, state.app.loader.entry() == id);
    if let Ok(name) = text_value(scope, "main") {
        meta.create_data_property(scope, name.into(), main.into());
    }
    let (Ok(name), Ok(from)) = (text_value(scope, "resolve"), text_value(scope, id.as_str())) else { return };
    if let Some(resolve) = v8::Function::builder(resolve_from).data(from.into()).build(scope) {
        meta.create_data_property(scope, name.into(), resolve.into());
    }
}

/// `import.meta.resolve(specifier)`: the URL of a module that exists, or the error that its import would be.
fn resolve_from<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s>,
) {
    let state = ContextState::current(scope);
    guarded(&state, || {
        let Ok(specifier) = v8::Local::<v8::String>::try_from(arguments.get(0)) else {
            if let Ok(message) = text_value(scope, "import.meta.resolve takes a string") {
                let exception = v8::Exception::type_error(scope, message);
                scope.throw_exception(exception);
            }
            return;
        };
        let specifier = specifier.to_rust_string_lossy(scope);
        let from = ModuleId::new(arguments.data().to_rust_string_lossy(scope));
        match state.app.loader.resolve(&specifier, &from, ImportStyle::Import) {
            Ok(id) => {
                let url = if id.is_built_in() { id.to_string() } else { format!("file://{id}") };
                if let Ok(url) = text_value(scope, &url) {
                    result.set(url.into());
                }
            }
            Err(error) => super::compile::CompileError::from(error).throw(scope),
        }
    });
}
