//! Compiles a module's source to V8's module, for all kinds of modules; uses the code cache where
//! it has the code.

use std::collections::HashMap;
use std::sync::Arc;

use hearth_core::failure::LoadFailure;
use hearth_core::module::{ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleSource};
use v8::script_compiler::{CachedData, CompileOptions, NoCacheReason, Source};

use super::{Known, Uncached, synthetic};
use crate::app::App;
use crate::code_cache::{CacheKey, CachedCode, Exercised, SourceKind};
use crate::context_state::ContextState;
use crate::op_error::OpError;
use crate::ops::text_value;

/// Sources up to this size are compiled whole. V8 would skip functions and compile each when it is
/// called, which pays where most are not called.
const MAX_EAGER_LENGTH: usize = 2048;

/// Why a module cannot be had: the app's fault, or the exception that V8 holds.
pub(super) enum CompileError {
    Module(ModuleError),
    Pending,
}

impl From<ModuleError> for CompileError {
    fn from(error: ModuleError) -> Self {
        Self::Module(error)
    }
}

impl From<OpError> for CompileError {
    fn from(_: OpError) -> Self {
        Self::Pending
    }
}

impl CompileError {
    /// Makes it the pending exception, unless there is one.
    pub(super) fn throw(self, scope: &mut v8::PinScope<'_, '_>) {
        if let Self::Module(error) = self {
            let message = v8::String::new(scope, &error.to_string()).unwrap_or_else(|| v8::String::empty(scope));
            let exception = match error {
                ModuleError::Syntax { .. } => v8::Exception::syntax_error(scope, message),
                _ => v8::Exception::type_error(scope, message),
            };
            scope.throw_exception(exception);
        }
    }
}

/// An app's entry that has begun to run.
pub(crate) struct Started<'s> {
    /// A promise for modules, any value for scripts.
    pub(crate) value: v8::Local<'s, v8::Value>,
    pub(crate) module: Option<v8::Local<'s, v8::Module>>,
}

/// Loads, links and starts the app's entry. Nothing means that the exception is pending.
pub(crate) fn start_entry<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
) -> Result<Option<Started<'s>>, LoadFailure> {
    let entry = state.app.loader.entry();
    let source = state.app.loader.load(&entry, ImportType::Default)?;
    if let ModuleCode::Script(text) = &source.code {
        state.modules.borrow_mut().add_source(&source);
        let value = compile_script(scope, state, &source, text).and_then(|script| script.run(scope));
        return Ok(value.map(|value| Started { value, module: None }));
    }
    let module = match load_graph(scope, state, &entry, ImportType::Default) {
        Ok(module) => module,
        Err(CompileError::Module(error)) => return Err(error.into()),
        Err(CompileError::Pending) => return Ok(None),
    };
    if module.instantiate_module(scope, super::import::resolve_import).is_none() {
        return Ok(None);
    }
    Ok(module.evaluate(scope).map(|value| Started { value, module: Some(module) }))
}

/// Compiles the app's entry and all that it imports, and runs nothing. Errors are ignored: the
/// worker that starts the entry reports them.
pub(crate) fn compile_entry(scope: &mut v8::PinScope<'_, '_>, state: &ContextState) {
    let entry = state.app.loader.entry();
    let Ok(source) = state.app.loader.load(&entry, ImportType::Default) else { return };
    v8::tc_scope!(let scope, scope);
    match &source.code {
        ModuleCode::Script(text) => drop(compile_script(scope, state, &source, text)),
        _ => drop(load_graph(scope, state, &entry, ImportType::Default)),
    }
}

/// Whether the code of the app's entry is cached.
pub(crate) fn is_compiled(app: &App) -> bool {
    let Ok(source) = app.loader.load(&app.loader.entry(), ImportType::Default) else { return false };
    match &source.code {
        ModuleCode::Script(text) => app.code_cache.has(CacheKey::new(SourceKind::Script, text)),
        ModuleCode::Module(text) => app.code_cache.has(CacheKey::new(SourceKind::Module, text)),
        // Not compiled at all.
        _ => true,
    }
}

/// Compiles a module and everything it imports, each once. Iterative: the depth of a graph is the app's choice.
pub(super) fn load_graph<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    root: &ModuleId,
    kind: ImportType,
) -> Result<v8::Local<'s, v8::Module>, CompileError> {
    let found = state.modules.borrow().find(root, kind);
    if let Some(module) = found {
        return Ok(v8::Local::new(scope, &module));
    }
    let mut waiting = vec![(root.clone(), kind)];
    while let Some((id, kind)) = waiting.pop() {
        if state.modules.borrow().find(&id, kind).is_some() {
            continue;
        }
        v8::scope!(let scope, scope);
        let module = compile(scope, state, &id, kind)?;
        let hash = module.get_identity_hash().get();
        let global = v8::Global::new(scope, module);
        let known = Known { module: global.clone(), id: id.clone(), kind, imports: HashMap::new() };
        state.modules.borrow_mut().insert(hash, known);
        if !module.is_source_text_module() {
            continue;
        }
        let mut imports = HashMap::new();
        let requests = module.get_module_requests();
        for index in 0..requests.length() {
            let request = requests.get(scope, index).ok_or(CompileError::Pending)?;
            let request: v8::Local<v8::ModuleRequest> = request.try_into().map_err(|_| CompileError::Pending)?;
            let specifier = request.get_specifier().to_rust_string_lossy(scope);
            let kind = import_type(scope, request.get_import_attributes(), 3, &id)?;
            let target = state.app.loader.resolve(&specifier, &id, ImportStyle::Import)?;
            waiting.push((target.clone(), kind));
            imports.insert((specifier, kind), target);
        }
        state.modules.borrow_mut().set_imports(hash, &global, imports);
    }
    let module = state.modules.borrow().find(root, kind).expect("the root was compiled first");
    Ok(v8::Local::new(scope, &module))
}

/// The `type` attribute among `[key, value, ...]`, `stride` values each.
pub(super) fn import_type(
    scope: &mut v8::PinScope<'_, '_>,
    attributes: v8::Local<v8::FixedArray>,
    stride: usize,
    from: &ModuleId,
) -> Result<ImportType, ModuleError> {
    let mut kind = ImportType::Default;
    for index in (0..attributes.length()).step_by(stride) {
        let text = |scope: &mut v8::PinScope<'_, '_>, index| {
            let value = attributes.get(scope, index).and_then(|data| v8::Local::<v8::Value>::try_from(data).ok());
            value.map(|value| value.to_rust_string_lossy(scope)).unwrap_or_default()
        };
        let (key, value) = (text(scope, index), text(scope, index + 1));
        kind = match (key.as_str(), value.as_str()) {
            ("type", "json") => ImportType::Json,
            ("type", "text") => ImportType::Text,
            ("type", "bytes" | "buffer") => ImportType::Bytes,
            _ => {
                return Err(ModuleError::Syntax {
                    id: from.to_string(),
                    message: format!(
                        "{from}: the import attribute {key}: {value:?} is not known; type: \"json\", \"text\" and \"bytes\" are"
                    ),
                });
            }
        };
    }
    Ok(kind)
}

fn compile<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: &ModuleId,
    kind: ImportType,
) -> Result<v8::Local<'s, v8::Module>, CompileError> {
    let source = state.app.loader.load(id, kind)?;
    state.modules.borrow_mut().add_source(&source);
    match &source.code {
        ModuleCode::Module(text) => compile_module(scope, state, id, text).ok_or(CompileError::Pending),
        // Only the entry may be a script, and only it can import itself.
        ModuleCode::Script(text) => compile_module(scope, state, id, text).ok_or(CompileError::Pending),
        _ => synthetic::create(scope, state, &source),
    }
}

fn compile_module<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: &ModuleId,
    text: &Arc<str>,
) -> Option<v8::Local<'s, v8::Module>> {
    let key = CacheKey::new(SourceKind::Module, text);
    let cached = state.app.code_cache.get(key);
    let (mut source, options) = source(scope, id, text, cached.as_ref(), SourceKind::Module)?;
    let module = v8::script_compiler::compile_module2(scope, &mut source, options, NoCacheReason::NoReason)?;
    update_cache(state, key, &source, cached.as_ref(), || Uncached::Module(key, v8::Global::new(scope, module)));
    Some(module)
}

fn compile_script<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    about: &ModuleSource,
    text: &Arc<str>,
) -> Option<v8::Local<'s, v8::Script>> {
    let key = CacheKey::new(SourceKind::Script, text);
    let cached = state.app.code_cache.get(key);
    let (mut source, options) = source(scope, &about.id, text, cached.as_ref(), SourceKind::Script)?;
    let script = v8::script_compiler::compile_unbound_script(scope, &mut source, options, NoCacheReason::NoReason)?;
    update_cache(state, key, &source, cached.as_ref(), || Uncached::Script(key, v8::Global::new(scope, script)));
    Some(script.bind_to_current_context(scope))
}

/// A CommonJS module's body as a function of `parameters`.
pub(crate) fn compile_function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: &ModuleId,
    text: &Arc<str>,
    parameters: &[&str],
) -> Option<v8::Local<'s, v8::Function>> {
    let key = CacheKey::new(SourceKind::Function, text);
    let cached = state.app.code_cache.get(key);
    let (source, options) = source(scope, id, text, cached.as_ref(), SourceKind::Function)?;
    function_of(scope, state, FunctionSource { key, source, options, cached }, parameters)
}

/// The same for a built-in module. Its text stays outside of V8's heap.
pub(crate) fn compile_built_in<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    name: &str,
    text: &'static str,
    parameters: &[&str],
) -> Option<v8::Local<'s, v8::Function>> {
    let key = CacheKey::new(SourceKind::Function, text);
    let cached = state.app.code_cache.get(key);
    let name = text_value(scope, &format!("node:{name}")).ok()?;
    let code = v8::String::new_external_onebyte_static(scope, text.as_bytes())?;
    let (source, options) = source_of(scope, name, code, cached.as_ref(), SourceKind::Function);
    function_of(scope, state, FunctionSource { key, source, options, cached }, parameters)
}

/// The text of a function's body, for V8.
struct FunctionSource {
    key: CacheKey,
    source: Source,
    options: CompileOptions,
    cached: Option<CachedCode>,
}

fn function_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    body: FunctionSource,
    parameters: &[&str],
) -> Option<v8::Local<'s, v8::Function>> {
    let FunctionSource { key, mut source, options, cached } = body;
    let mut names = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        names.push(text_value(scope, parameter).ok()?);
    }
    let function =
        v8::script_compiler::compile_function(scope, &mut source, &names, &[], options, NoCacheReason::NoReason)?;
    update_cache(state, key, &source, cached.as_ref(), || Uncached::Function(key, v8::Global::new(scope, function)));
    Some(function)
}

fn source<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    id: &ModuleId,
    text: &str,
    cached: Option<&CachedCode>,
    source_kind: SourceKind,
) -> Option<(Source, CompileOptions)> {
    let name = text_value(scope, &format!("file://{id}")).ok()?;
    let code = text_value(scope, text).ok()?;
    Some(source_of(scope, name, code, cached, source_kind))
}

fn source_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: v8::Local<'s, v8::String>,
    code: v8::Local<'s, v8::String>,
    cached: Option<&CachedCode>,
    source_kind: SourceKind,
) -> (Source, CompileOptions) {
    let is_module = matches!(source_kind, SourceKind::Module);
    let origin = v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, -1, None, false, false, is_module, None);
    match cached.and_then(CachedCode::code) {
        Some(data) => {
            (Source::new_with_cached_data(code, Some(&origin), CachedData::new(data)), CompileOptions::ConsumeCodeCache)
        }
        None if code.length() <= MAX_EAGER_LENGTH => (Source::new(code, Some(&origin)), CompileOptions::EagerCompile),
        None => (Source::new(code, Some(&origin)), CompileOptions::NoCompileOptions),
    }
}

/// Registers code that the cache lacks, or that had not served a request, to be stored; removes
/// cached code that V8 rejected.
fn update_cache(
    state: &ContextState,
    key: CacheKey,
    source: &Source,
    cached: Option<&CachedCode>,
    code: impl FnOnce() -> Uncached,
) {
    match (cached, source.get_cached_data().is_some_and(|data| !data.rejected())) {
        (Some(CachedCode { exercised: Exercised::Yes, .. }), true) => return,
        (Some(_), false) => state.app.code_cache.reject(key),
        (Some(_), true) | (None, _) => {}
    }
    state.modules.borrow_mut().add_uncached(code());
}
