//! A sandbox's files as resources: `sandbox://ID/path`. The files in /work are listed; every file can be read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hearth_core::percent::{self, decode};
use hearth_sandbox::{ErrorCode, FileKind, PAGE_LIMIT, SandboxError, SandboxId};
use hearth_static::MimeType;
use rmcp::model::{ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::session::Session;

const SCHEME: &str = "sandbox://";
const LISTED: &str = "/work";

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("sandbox://{sandbox_id}/{+path}", "sandbox_file")
            .with_title("A file of a sandbox")
            .with_description("The file with this absolute path in the sandbox with this id, up to 50 MB."),
    ]
}

/// One page of one sandbox's files at a time, the oldest sandbox first. `cursor` is that of the previous page.
pub(crate) async fn list(session: &Session, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let (from, mut after) = match cursor {
        None => (None, None),
        Some(cursor) => {
            let (id, name) = cursor.split_once('/').unwrap_or((&cursor, ""));
            let bad = |_| ErrorData::invalid_params(format!("{cursor:?} is no cursor of this list"), None);
            (Some(id.parse::<SandboxId>().map_err(bad)?), Some(name.to_owned()).filter(|name| !name.is_empty()))
        }
    };
    let (sandboxes, caller) = (session.sandboxes(), session.caller());
    let all = sandboxes.list(&caller);
    let at = from.map_or(Some(0), |from| all.iter().position(|one| one.id == from));
    let Some(at) = at else {
        return Err(ErrorData::invalid_params("the sandbox that this cursor names is gone: begin again", None));
    };
    for (at, info) in all.iter().enumerate().skip(at) {
        // A sandbox that was destroyed meanwhile or has no such folder is skipped.
        let Ok(sandbox) = sandboxes.get(&caller, info.id) else { continue };
        let Ok(page) = sandbox.list_directory(LISTED, after.take().as_deref(), PAGE_LIMIT).await else { continue };
        let files = page.entries.iter().filter(|entry| entry.kind == FileKind::File);
        let resources = files.map(|file| {
            let path = format!("{LISTED}/{}", file.name);
            Resource::new(address(sandbox.id(), &path), file.name.clone())
                .with_size(file.size.bytes())
                .with_mime_type(MimeType::from_name(&file.name).as_str())
        });
        let mut result = ListResourcesResult::with_all_items(resources.collect());
        result.next_cursor = match page.next {
            Some(name) => Some(format!("{}/{name}", sandbox.id())),
            None => all.get(at + 1).map(|next| next.id.to_string()),
        };
        return Ok(result);
    }
    Ok(ListResourcesResult::default())
}

pub(crate) async fn read(session: &Session, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let bad = || {
        let why = format!("{uri:?} is no address of a file: use sandbox://SANDBOX_ID/path");
        ErrorData::resource_not_found(why, Some(json!({ "uri": uri })))
    };
    let (id, path) = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')).ok_or_else(bad)?;
    let id: SandboxId = id.parse().map_err(|_| bad())?;
    let path = decode(path).map(|path| format!("/{path}")).ok_or_else(bad)?;
    let refused = |error: SandboxError| failed(&error, uri);
    let sandbox = session.sandboxes().get(&session.caller(), id).map_err(refused)?;
    let content = sandbox.read_file(&path).await.map_err(refused)?;
    let contents = match std::str::from_utf8(&content) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(_) => ResourceContents::blob(STANDARD.encode(&content), uri),
    };
    let media = MimeType::from_name(path.rsplit('/').next().unwrap_or_default());
    Ok(ReadResourceResult::new(vec![contents.with_mime_type(media.as_str())]))
}

fn address(id: SandboxId, path: &str) -> String {
    let mut address = format!("{SCHEME}{id}");
    percent::encode(&mut address, path, |byte| byte == b'/' || percent::is_unreserved(byte));
    address
}

fn failed(error: &SandboxError, uri: &str) -> ErrorData {
    let data = Some(json!({ "uri": uri, "code": error.code().as_str() }));
    match error.code() {
        ErrorCode::NotFound => ErrorData::resource_not_found(error.to_string(), data),
        ErrorCode::InvalidArgument | ErrorCode::Limit | ErrorCode::File => {
            ErrorData::invalid_params(error.to_string(), data)
        }
        _ => ErrorData::internal_error(error.to_string(), data),
    }
}
