//! The code of rare files: built-in files that few apps use. An isolate has nothing of them until
//! it uses one; then V8 gets their text and the code that was compiled when the snapshot was made.

use v8::MapFnTo;
use v8::script_compiler::CachedData;

use crate::bootstrap::{self, BootstrapError};
use crate::lazy_globals;
use crate::snapshot::Snapshot;

/// While codes are made: what was compiled, with the file's number.
struct Compiled(Vec<(usize, v8::Global<v8::Function>)>);

/// The address of `compile`, for the snapshot.
pub(crate) fn reference() -> v8::ExternalReference {
    v8::ExternalReference { function: callback() }
}

/// (number of the file) -> its body
pub(crate) fn callback() -> v8::FunctionCallback {
    compile.map_fn_to()
}

fn compile<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s, v8::Value>,
) {
    let number = arguments.get(0).uint32_value(scope).map_or(usize::MAX, |number| number as usize);
    let snapshot = scope.get_slot::<Snapshot>().cloned();
    let code = snapshot.as_ref().and_then(|snapshot| snapshot.code(number)).map(CachedData::new);
    // An exception, for want of stack, is thrown to the code that requires the file.
    let Some(body) = bootstrap::body(scope, number, code) else { return };
    let kept = v8::Global::new(scope, body);
    if let Some(Compiled(list)) = scope.get_slot_mut::<Compiled>() {
        list.push((number, kept));
    }
    result.set(body.into());
}

/// Runs all files that have not run, in a context of the snapshot. Returns V8's code of the rare
/// ones, by their numbers.
pub(crate) fn codes(snapshot: &Snapshot) -> Result<Vec<(usize, Vec<u8>)>, BootstrapError> {
    let params = v8::Isolate::create_params()
        .external_references(bootstrap::external_references())
        .snapshot_blob(snapshot.blob());
    let mut isolate = v8::Isolate::new(params);
    isolate.set_slot(Compiled(Vec::new()));
    v8::scope!(let scope, &mut isolate);
    let context = v8::Context::new(scope, v8::ContextOptions::default());
    let scope = &mut v8::ContextScope::new(scope, context);
    lazy_globals::hide_webassembly(scope);
    bootstrap::use_all(scope)?;
    let Compiled(list) = scope.remove_slot().expect("it was set above");
    let mut codes = Vec::new();
    for (number, body) in list {
        let body = v8::Local::new(scope, body);
        codes.extend(body.create_code_cache().map(|code| (number, code.to_vec())));
    }
    Ok(codes)
}
