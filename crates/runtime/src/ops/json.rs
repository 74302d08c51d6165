//! JSON bodies, as a tape from which `js/fetch/json.js` makes the value (see `hearth_json`).

use hearth_json::{TapeReader, Unsupported};

use super::body::{Everything, collect_later, take_all};
use super::convert::{id_of, string_bytes, text_of, with_bytes};
use super::encoding::decode_text;
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// (body, tables): the text where the reader does not support it, a promise of the text where it
/// has not all arrived, else the tape's fresh strings, or `true` where there are none. The tables
/// are entries, numbers, cached strings, factories, and `read`.
pub(super) fn op_body_json<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    match take_all(&state, id)? {
        Everything::Now(_, bytes) => {
            if !read(scope, &state, args, rv, &bytes)? {
                let text = decode_text(scope, &bytes)?;
                rv.set(text.into());
            }
        }
        Everything::Later(body) => {
            let promise = collect_later(scope, &state, id, body, OpValue::Text)?;
            rv.set(promise.into());
        }
    }
    Ok(())
}

/// The same for a text, which must be well-formed: nothing where the reader does not support it.
pub(super) fn op_json_text<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let text = text_of(args.get(0))?;
    let bytes = string_bytes(scope, text);
    read(scope, &state, args, rv, &bytes)?;
    Ok(())
}

/// Whether there is a tape.
fn read<'s>(
    scope: Scope<'_, 's, '_>,
    state: &ContextState,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
    bytes: &[u8],
) -> Result<bool, OpError> {
    // Taken out of its place while V8 runs.
    let mut reader = state.bodies.borrow_mut().take_json_reader();
    let result = match reader.read(bytes) {
        Ok(()) => give_tape(scope, args, rv, &mut reader, bytes).map(|()| true),
        Err(Unsupported) => {
            reader.make_factories(|number, keys| make_factory(scope, args, number, keys).is_some());
            Ok(false)
        }
    };
    state.bodies.borrow_mut().put_json_reader(reader);
    result
}

fn give_tape<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
    reader: &mut TapeReader,
    bytes: &[u8],
) -> Result<(), OpError> {
    if cache_strings(scope, args, reader, bytes).is_none() {
        reader.forget_kept();
        return Err(OpError::Pending);
    }
    write(args.get(1), reader.entries())?;
    if !reader.numbers().is_empty() {
        write(args.get(2), reader.numbers())?;
    }
    if reader.fresh().is_empty() {
        rv.set_bool(true);
        return Ok(());
    }
    let mut fresh: Vec<v8::Local<v8::Value>> = Vec::with_capacity(reader.fresh().len());
    for one in reader.fresh() {
        let text = reader.text_of(bytes, one);
        let made = if one.is_ascii {
            v8::String::new_from_one_byte(scope, text, v8::NewStringType::Normal)
        } else {
            v8::String::new_from_utf8(scope, text, v8::NewStringType::Normal)
        };
        fresh.push(made.ok_or_else(|| OpError::Range("the string is too long".into()))?.into());
    }
    let fresh = v8::Array::new_with_elements(scope, &fresh);
    rv.set(fresh.into());
    Ok(())
}

/// Copies numbers to the beginning of a typed array of their kind, which has room for a whole tape.
fn write<T: Copy>(into: v8::Local<v8::Value>, numbers: &[T]) -> Result<(), OpError> {
    // SAFETY: `from_raw_parts` demands initialised bytes and alignment: u32 and f64, the only two
    // types that are written, have no padding, and a byte may lie anywhere.
    let bytes = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) };
    with_bytes(into, |into| into[..bytes.len()].copy_from_slice(bytes))
}

/// Stores the strings that are to be cached in their places.
fn cache_strings(
    scope: &mut v8::PinScope<'_, '_>,
    args: &Arguments<'_>,
    reader: &TapeReader,
    bytes: &[u8],
) -> Option<()> {
    for kept in reader.kept() {
        let places = v8::Local::<v8::Array>::try_from(args.get(3)).ok()?;
        let text = v8::String::new_from_one_byte(scope, &bytes[kept.start..kept.end], v8::NewStringType::Internalized)?;
        places.set_index(scope, kept.place as u32, text.into())?;
    }
    Some(())
}

/// Creates the factory of objects with these keys: it reads one value for each key, and V8 knows
/// their hidden class beforehand. Keys are ASCII without quotes and backslashes, as the reader
/// promises, and none is `__proto__`.
fn make_factory(scope: &mut v8::PinScope<'_, '_>, args: &Arguments<'_>, number: u32, keys: &[&str]) -> Option<()> {
    v8::tc_scope!(let scope, scope);
    let mut code = String::from("\"use strict\"; return () => ({");
    for key in keys {
        code.extend(["\"", key, "\": read(), "]);
    }
    code.push_str("});");
    let code = v8::String::new(scope, &code)?;
    let resource = v8::String::new(scope, "hearth:json")?;
    let origin = v8::ScriptOrigin::new(scope, resource.into(), 0, 0, false, -1, None, false, false, false, None);
    let mut source = v8::script_compiler::Source::new(code, Some(&origin));
    let parameter = v8::String::new(scope, "read")?;
    let function = v8::script_compiler::compile_function(
        scope,
        &mut source,
        &[parameter],
        &[],
        v8::script_compiler::CompileOptions::NoCompileOptions,
        v8::script_compiler::NoCacheReason::NoReason,
    )?;
    let undefined = v8::undefined(scope).into();
    let factory = function.call(scope, undefined, &[args.get(5)])?;
    let factories = v8::Local::<v8::Array>::try_from(args.get(4)).ok()?;
    factories.set_index(scope, number, factory)?;
    Some(())
}
