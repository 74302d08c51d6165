//! CommonJS modules, and positions in sources.

use hearth_core::module::{ImportStyle, ImportType, ModuleCode, ModuleId};

use super::convert::{string_of, text_value};
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::modules;
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

const PARAMETERS: [&str; 5] = ["exports", "require", "module", "__filename", "__dirname"];

/// (file, line, column) -> "file:line:column" of the original source; nothing where that is the
/// same.
pub(super) fn op_source_position<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let file = string_of(scope, args.get(0))?;
    let line = args.get(1).uint32_value(scope).unwrap_or(0);
    let column = args.get(2).uint32_value(scope).unwrap_or(0);
    let original = state.modules.borrow().original(&file, line, column);
    if let Some((file, line, column)) = original {
        let text = text_value(scope, &format!("file://{file}:{line}:{column}"))?;
        rv.set(text.into());
    }
    Ok(())
}

/// (specifier, from) -> id
pub(super) fn op_commonjs_resolve<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let specifier = string_of(scope, args.get(0))?;
    let from = ModuleId::new(string_of(scope, args.get(1))?);
    let id = state
        .app
        .loader
        .resolve(&specifier, &from, ImportStyle::Require)
        .map_err(|error| OpError::type_error(error.to_string()))?;
    let id = text_value(scope, id.as_str())?;
    rv.set(id.into());
    Ok(())
}

/// id -> the name of the file of `hearth_node` that an app imports by it, or undefined
pub(super) fn op_node_file<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let id = string_of(scope, args.get(0))?;
    if let Some(file) = hearth_node::file(&id) {
        rv.set(text_value(scope, file)?.into());
    }
    Ok(())
}

/// name -> the body of one of the files of `hearth_node`, a function
pub(super) fn op_node_body<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let name = string_of(scope, args.get(0))?;
    let Some(text) = hearth_node::text(&name) else {
        return Err(OpError::type_error(format!("there is no built-in module {name}")));
    };
    let parameters = ["exports", "require", "module", "binding"];
    let body = modules::compile_built_in(scope, &state, &name, text, &parameters).ok_or(OpError::Pending)?;
    rv.set(body.into());
    Ok(())
}

/// id -> the module's body as a function, for CommonJS; else undefined after its namespace was put into the second
/// argument, an array.
pub(super) fn op_commonjs_load<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = ModuleId::new(string_of(scope, args.get(0))?);
    let source =
        state.app.loader.load(&id, ImportType::Default).map_err(|error| OpError::type_error(error.to_string()))?;
    if let ModuleCode::CommonJs { body, .. } = &source.code {
        let function = modules::compile_function(scope, &state, &id, body, &PARAMETERS).ok_or(OpError::Pending)?;
        rv.set(function.into());
        return Ok(());
    }
    let namespace = modules::evaluate_for_require(scope, &state, &id).ok_or(OpError::Pending)?;
    let out: v8::Local<v8::Array> =
        args.get(1).try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
    let value = match &source.code {
        // Their one export is the value itself. The default export of a built-in module is what its CommonJS form exports.
        ModuleCode::Json(_)
        | ModuleCode::Text(_)
        | ModuleCode::Bytes(_)
        | ModuleCode::Wasm(_)
        | ModuleCode::BuiltIn => {
            let namespace: v8::Local<v8::Object> =
                namespace.try_into().map_err(|_| OpError::type_error("internal: a namespace was expected"))?;
            let key = text_value(scope, "default")?;
            namespace.get(scope, key.into()).ok_or(OpError::Pending)?
        }
        _ => namespace,
    };
    out.set_index(scope, 0, value);
    Ok(())
}
