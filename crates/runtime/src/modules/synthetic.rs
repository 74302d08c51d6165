//! Modules that are not ES modules: JSON, text, bytes, Wasm, CommonJS and built-in ones. Each is a
//! synthetic module of V8 whose exports are set when it is evaluated.

use std::sync::Arc;

use hearth_core::module::{ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleSource};

use super::compile::{CompileError, load_graph};
use crate::callbacks::guarded;
use crate::context_state::ContextState;
use crate::op_error::OpError;
use crate::ops::{bytes_value, text_value};

/// CommonJS modules that export each other's names: deeper than this is a cycle.
const REEXPORT_DEPTH: usize = 16;

pub(super) fn create<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    source: &Arc<ModuleSource>,
) -> Result<v8::Local<'s, v8::Module>, CompileError> {
    let mut names = vec!["default".to_owned()];
    match &source.code {
        ModuleCode::CommonJs { .. } => commonjs_names(state, source, &mut names, 0),
        ModuleCode::BuiltIn => builtin_names(scope, state, &source.id, &mut names)?,
        _ => {}
    }
    let mut exports = Vec::with_capacity(names.len());
    for name in &names {
        exports.push(text_value(scope, name)?);
    }
    let name = text_value(scope, source.id.as_str())?;
    Ok(v8::Module::create_synthetic_module(scope, name, &exports, evaluate))
}

fn commonjs_names(state: &ContextState, source: &ModuleSource, names: &mut Vec<String>, depth: usize) {
    let ModuleCode::CommonJs { exports, reexports, .. } = &source.code else { return };
    for name in exports {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if depth == REEXPORT_DEPTH {
        return;
    }
    for specifier in reexports {
        // What cannot be resolved here fails when it is required, with a better message.
        let Ok(id) = state.app.loader.resolve(specifier, &source.id, ImportStyle::Require) else { continue };
        let Ok(source) = state.app.loader.load(&id, ImportType::Default) else { continue };
        commonjs_names(state, &source, names, depth + 1);
    }
}

fn builtin_names(
    scope: &mut v8::PinScope<'_, '_>,
    state: &ContextState,
    id: &ModuleId,
    names: &mut Vec<String>,
) -> Result<(), CompileError> {
    let exports = builtin(scope, state, id)?;
    let keys =
        exports.get_own_property_names(scope, v8::GetPropertyNamesArgs::default()).ok_or(CompileError::Pending)?;
    for index in 0..keys.length() {
        let key = keys.get_index(scope, index).ok_or(CompileError::Pending)?;
        let key = key.to_rust_string_lossy(scope);
        // The default export is the exports themselves.
        if key != "default" {
            names.push(key);
        }
    }
    Ok(())
}

/// The exports of a module of the runtime's own, as `main.js` has them.
fn builtin<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: &ModuleId,
) -> Result<v8::Local<'s, v8::Object>, CompileError> {
    let function = v8::Local::new(scope, &state.entry_points().builtin_module);
    let undefined = v8::undefined(scope).into();
    let name = text_value(scope, id.as_str())?;
    let exports = function.call(scope, undefined, &[name.into()]).ok_or(CompileError::Pending)?;
    v8::Local::<v8::Object>::try_from(exports).map_err(|_| {
        CompileError::Module(ModuleError::NotFound {
            specifier: id.to_string(),
            from: "the app".into(),
            reason: "there is no such built-in module".into(),
        })
    })
}

/// V8's evaluation steps: sets every export.
fn evaluate<'s>(
    context: v8::Local<'s, v8::Context>,
    module: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Value>> {
    v8::callback_scope!(unsafe scope, context);
    let state = ContextState::current(scope);
    match guarded(&state, || Some(evaluate_in(scope, &state, module))) {
        Some(Ok(promise)) => Some(promise),
        Some(Err(error)) => {
            error.throw(scope);
            None
        }
        None => {
            OpError::type_error("internal error in a module").throw(scope);
            None
        }
    }
}

fn evaluate_in<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    module: v8::Local<'s, v8::Module>,
) -> Result<v8::Local<'s, v8::Value>, CompileError> {
    let (id, kind) = {
        let hash = module.get_identity_hash().get();
        let global = v8::Global::new(scope, module);
        let map = state.modules.borrow();
        let known = map.known(hash, &global).expect("a module that is evaluated was made by `create`");
        (known.id.clone(), known.kind)
    };
    let source = state.app.loader.load(&id, kind)?;
    set_exports(scope, state, module, &source)?;
    let resolver = v8::PromiseResolver::new(scope).ok_or(CompileError::Pending)?;
    let undefined = v8::undefined(scope).into();
    resolver.resolve(scope, undefined);
    Ok(resolver.get_promise(scope).into())
}

fn set_exports<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    module: v8::Local<'s, v8::Module>,
    source: &Arc<ModuleSource>,
) -> Result<(), CompileError> {
    let default: v8::Local<v8::Value> = match &source.code {
        ModuleCode::CommonJs { .. } => {
            let exports = require(scope, state, &source.id).ok_or(CompileError::Pending)?;
            if let Ok(object) = v8::Local::<v8::Object>::try_from(exports) {
                let mut names = Vec::new();
                commonjs_names(state, source, &mut names, 0);
                for name in names.iter().filter(|name| *name != "default") {
                    let key = text_value(scope, name)?;
                    let value = object.get(scope, key.into()).ok_or(CompileError::Pending)?;
                    module.set_synthetic_module_export(scope, key, value).ok_or(CompileError::Pending)?;
                }
            }
            exports
        }
        ModuleCode::BuiltIn => {
            let exports = builtin(scope, state, &source.id)?;
            let mut names = Vec::new();
            builtin_names(scope, state, &source.id, &mut names)?;
            for name in &names {
                let key = text_value(scope, name)?;
                let value = exports.get(scope, key.into()).ok_or(CompileError::Pending)?;
                module.set_synthetic_module_export(scope, key, value).ok_or(CompileError::Pending)?;
            }
            exports.into()
        }
        ModuleCode::Json(text) => {
            let text = text_value(scope, text)?;
            v8::json::parse(scope, text).ok_or(CompileError::Pending)?
        }
        ModuleCode::Text(text) => text_value(scope, text)?.into(),
        ModuleCode::Bytes(bytes) => bytes_value(scope, bytes)?.into(),
        ModuleCode::Wasm(bytes) => v8::WasmModuleObject::compile(scope, bytes).ok_or(CompileError::Pending)?.into(),
        ModuleCode::Module(_) | ModuleCode::Script(_) => return Err(CompileError::Pending),
    };
    let key = text_value(scope, "default")?;
    module.set_synthetic_module_export(scope, key, default).ok_or(CompileError::Pending)?;
    Ok(())
}

fn require<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: &ModuleId,
) -> Option<v8::Local<'s, v8::Value>> {
    let function = v8::Local::new(scope, &state.entry_points().require_commonjs);
    let undefined = v8::undefined(scope).into();
    let name = text_value(scope, id.as_str()).ok()?;
    let is_main = v8::Boolean::new(scope, state.app.loader.entry() == *id);
    function.call(scope, undefined, &[name.into(), is_main.into()])
}

/// `require()` of something that is not CommonJS: its namespace, evaluated now. Nothing means that an exception is pending.
pub(crate) fn evaluate_for_require<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: &ModuleId,
) -> Option<v8::Local<'s, v8::Value>> {
    let module = match load_graph(scope, state, id, ImportType::Default) {
        Ok(module) => module,
        Err(error) => {
            error.throw(scope);
            return None;
        }
    };
    if module.get_status() == v8::ModuleStatus::Uninstantiated {
        module.instantiate_module(scope, super::import::resolve_import)?;
    }
    if module.is_graph_async() {
        let error = ModuleError::WrongType {
            id: id.to_string(),
            wanted: "CommonJS",
            reason: "it uses top-level await; import it instead of requiring it".into(),
        };
        CompileError::Module(error).throw(scope);
        return None;
    }
    if module.get_status() == v8::ModuleStatus::Instantiated {
        module.evaluate(scope)?;
    }
    if module.get_status() == v8::ModuleStatus::Errored {
        let exception = module.get_exception();
        scope.throw_exception(exception);
        return None;
    }
    Some(module.get_module_namespace())
}
