//! The files of the app's folder, of which `js/file/app_file.js` makes blobs and `js/node/fs.js` a file system.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use hearth_core::RequestId;
use hearth_core::files::{AppFiles, FileRefusal, Links, PathKind};

use super::convert::{id_of, string_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::file_body::file_body;
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// Bytes that one call reads at most: so long the thread waits for the disk.
const MAX_READ: usize = 1 << 20;

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

fn files_of(scope: Scope<'_, '_, '_>) -> Result<Arc<dyn AppFiles>, FileRefusal> {
    ContextState::current(scope).app.loader.files().ok_or(FileRefusal::Missing)
}

fn kind_number(kind: PathKind) -> u32 {
    match kind {
        PathKind::File => 0,
        PathKind::Folder => 1,
        PathKind::Link => 2,
        PathKind::Other => 3,
    }
}

/// (path, whether a link at its end is kept) -> [kind, size, inode, modified, accessed, changed], or why not
pub(super) fn op_fs_stat<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let path = string_of(scope, args.get(0))?;
    let links = if args.get(1).is_true() { Links::Keep } else { Links::Follow };
    match files_of(scope).and_then(|files| files.stat(&path, links)) {
        Ok(facts) => {
            let kind = f64::from(kind_number(facts.kind));
            let values = [kind, facts.len as f64, facts.inode as f64, facts.modified, facts.accessed, facts.changed];
            let values = values.map(|value| v8::Number::new(scope, value).into());
            rv.set(v8::Array::new_with_elements(scope, &values).into());
        }
        Err(refusal) => rv.set_int32(number(&refusal)),
    }
    Ok(())
}

/// (path) -> [name, kind, name, kind...], or why not
pub(super) fn op_fs_list<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let path = string_of(scope, args.get(0))?;
    match files_of(scope).and_then(|files| files.list(&path)) {
        Ok(entries) => {
            let mut values = Vec::with_capacity(entries.len() * 2);
            for (name, kind) in entries {
                values.push(text_value(scope, &name)?.into());
                values.push(v8::Integer::new_from_unsigned(scope, kind_number(kind)).into());
            }
            rv.set(v8::Array::new_with_elements(scope, &values).into());
        }
        Err(refusal) => rv.set_int32(number(&refusal)),
    }
    Ok(())
}

/// (path) -> the path without links, or why not
pub(super) fn op_fs_real<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let path = string_of(scope, args.get(0))?;
    match files_of(scope).and_then(|files| files.real_path(&path)) {
        Ok(path) => rv.set(text_value(scope, &path)?.into()),
        Err(refusal) => rv.set_int32(number(&refusal)),
    }
    Ok(())
}

/// (path, bytes, offset, length, position) -> how many were read, at most 1 MiB, or why not. No descriptor outlives it.
pub(super) fn op_fs_read<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let path = string_of(scope, args.get(0))?;
    let [offset, length, position] = [id_of(args.get(2))?, id_of(args.get(3))?, id_of(args.get(4))?];
    let opened = match files_of(scope).and_then(|files| files.open(&path)) {
        Ok(opened) => opened,
        Err(refusal) => {
            rv.set_int32(number(&refusal));
            return Ok(());
        }
    };
    let read = with_bytes(args.get(1), |bytes| {
        let offset = bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let length = MAX_READ.min(usize::try_from(length).unwrap_or(usize::MAX)).min(bytes.len() - offset);
        opened.file.read_at(&mut bytes[offset..offset + length], position)
    })?;
    match read {
        Ok(read) => rv.set_double(read as f64),
        Err(error) => rv.set_int32(number(&FileRefusal::Unreadable { reason: error.to_string() })),
    }
    Ok(())
}
