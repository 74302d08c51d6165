//! Node's `vm`, as far as it runs code in the app's own context: what `eval` and `new Function` could do as well, with a
//! file name and a position.

use v8::script_compiler::{CompileOptions, NoCacheReason, Source, compile_function};

use super::convert::{strings_of, text_of, text_value};
use super::{Arguments, Return};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// Arguments from `first`: file name, lines and columns that precede the code.
fn origin<'s>(scope: Scope<'_, 's, '_>, args: &Arguments<'s>, first: i32) -> Result<v8::ScriptOrigin<'s>, OpError> {
    let name = text_of(args.get(first))?;
    let line = args.get(first + 1).int32_value(scope).unwrap_or(0);
    let column = args.get(first + 2).int32_value(scope).unwrap_or(0);
    Ok(v8::ScriptOrigin::new(scope, name.into(), line, column, false, -1, None, false, false, false, None))
}

/// (code, file name, line, column, run) -> what the script comes to; nothing where it is only to be compiled
pub(super) fn op_vm_script<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let code = text_of(args.get(0))?;
    let origin = origin(scope, args, 1)?;
    let script = v8::Script::compile(scope, code, Some(&origin)).ok_or(OpError::Pending)?;
    if args.get(4).is_true() {
        rv.set(script.run(scope).ok_or(OpError::Pending)?);
    }
    Ok(())
}

/// (code, file name, line, column, parameters) -> a function with this body
pub(super) fn op_vm_function<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let code = text_of(args.get(0))?;
    let origin = origin(scope, args, 1)?;
    let mut parameters = Vec::new();
    for name in strings_of(scope, args.get(4))? {
        parameters.push(text_value(scope, &name)?);
    }
    let mut source = Source::new(code, Some(&origin));
    let (options, reason) = (CompileOptions::NoCompileOptions, NoCacheReason::NoReason);
    let function = compile_function(scope, &mut source, &parameters, &[], options, reason).ok_or(OpError::Pending)?;
    rv.set(function.into());
    Ok(())
}
