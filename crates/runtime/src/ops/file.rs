//! The files of the app's folder, of which `js/file/app_file.js` makes blobs.

use std::time::UNIX_EPOCH;

use hearth_core::RequestId;
use hearth_core::files::FileRefusal;

use super::convert::{id_of, string_of};
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::file_body::file_body;
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// Why there is no file, as in `js/types/ops.d.ts`.
fn number(refusal: &FileRefusal) -> i32 {
    match refusal {
        FileRefusal::Missing => -1,
        FileRefusal::Outside => -2,
        FileRefusal::Hidden => -3,
        FileRefusal::NotAFile => -4,
        FileRefusal::Unreadable { .. } => -5,
    }
}

/// (path) -> [size, milliseconds since the epoch], or why not
pub(super) fn op_file_stat<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let path = string_of(scope, args.get(0))?;
    let files = ContextState::current(scope).app.loader.files();
    match files.map_or(Err(FileRefusal::Missing), |files| files.metadata(&path)) {
        Ok(facts) => {
            let since = facts.modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
            let modified = since.map_or(0, |since| since.as_millis());
            let facts = [facts.len as f64, modified as f64].map(|number| v8::Number::new(scope, number).into());
            let facts = v8::Array::new_with_elements(scope, &facts);
            rv.set(facts.into());
        }
        Err(refusal) => rv.set_int32(number(&refusal)),
    }
    Ok(())
}

/// (request, path, start, end or -1) -> a body that belongs to the request, or why not
pub(super) fn op_file_open<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let path = string_of(scope, args.get(1))?;
    let start = id_of(args.get(2))?;
    let end = match args.get(3).number_value(scope) {
        Some(end) if end >= 0.0 => end as u64,
        _ => u64::MAX,
    };
    match state.app.loader.files().map_or(Err(FileRefusal::Missing), |files| files.open(&path)) {
        Ok(opened) => {
            let body = file_body(opened, start, end, state.worker.runtime().clone());
            let id = state.next_id();
            state.bodies.borrow_mut().insert(id, request, body);
            state.requests.borrow_mut().add_body(request, id);
            rv.set_double(id as f64);
        }
        Err(refusal) => rv.set_int32(number(&refusal)),
    }
    Ok(())
}
