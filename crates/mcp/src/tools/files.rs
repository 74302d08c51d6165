//! A sandbox's files: read, written, listed, removed, moved; and links, by which they go in and out over HTTP without passing
//! through a model.

use std::time::Duration;

use hearth_sandbox::{Direction, LINK_TTL, MAX_LINK_TTL, PAGE_LIMIT, Remove, WriteFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{Call, Effect, Entry, Given, Needs};
use crate::arguments::Encoding;
use crate::error::ToolError;
use crate::view::{FileView, time};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "read_file",
            "Read a file",
            "Reads a file, up to 50 MB; what is no text with encoding \"base64\".",
            Effect::Reads,
            read_file,
        ),
        Entry::new(
            "write_file",
            "Write a file",
            "Writes a whole file, up to 50 MB, and the folders above it.",
            Effect::Sets,
            write_file,
        ),
        Entry::new(
            "list_directory",
            "List a folder",
            "Lists a folder, sorted by name, 1000 entries at a time.",
            Effect::Reads,
            list_directory,
        ),
        Entry::new(
            "delete_file",
            "Delete a file",
            "Deletes a file or an empty folder; with `recursive`, all that is in it too.",
            Effect::Removes,
            delete_file,
        ),
        Entry::new(
            "move_file",
            "Move a file",
            "Moves or renames a file or folder, in place of a file that is there.",
            Effect::Sets,
            move_file,
        ),
        Entry::new(
            "create_file_link",
            "Make a link to a file",
            "Makes a short-lived address for one file, which anybody who has it can GET (download) or PUT (upload), so that \
             the content does not pass through the conversation.",
            Effect::Adds,
            create_file_link,
        )
        .needs(Needs::Links),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// From create_sandbox.
    sandbox_id: String,
    /// Absolute, or below /work.
    path: String,
    /// Default utf8.
    encoding: Option<Encoding>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileContent {
    path: String,
    content: String,
    encoding: Encoding,
    /// Of the file, in bytes.
    size: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFileArguments {
    /// From create_sandbox.
    sandbox_id: String,
    /// Absolute, or below /work.
    path: String,
    /// All of the new content.
    content: String,
    /// Of `content`; default utf8.
    encoding: Option<Encoding>,
    /// Octal permissions; default as before, or 644.
    #[schemars(regex(pattern = "^0?[0-7]{3}$"))]
    mode: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Written {
    path: String,
    /// In bytes.
    size: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirectory {
    /// From create_sandbox.
    sandbox_id: String,
    /// Absolute, or below /work.
    path: String,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Directory {
    path: String,
    entries: Vec<FileView>,
    /// There is more: call again with this as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteFile {
    /// From create_sandbox.
    sandbox_id: String,
    /// Absolute, or below /work.
    path: String,
    /// Default false.
    recursive: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Deleted {
    path: String,
    deleted: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MoveFile {
    /// From create_sandbox.
    sandbox_id: String,
    /// Absolute, or below /work.
    from: String,
    /// Absolute, or below /work.
    to: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Moved {
    from: String,
    to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Way {
    Download,
    Upload,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateFileLink {
    /// From create_sandbox.
    sandbox_id: String,
    /// Absolute, or below /work.
    path: String,
    /// Out of the sandbox, or into it.
    direction: Way,
    /// Default 300.
    #[schemars(range(min = 1, max = 3600))]
    expires_in_s: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileLink {
    url: String,
    /// GET or PUT.
    method: &'static str,
    /// RFC 3339.
    expires_at: String,
}

async fn read_file(call: Call, arguments: ReadFile) -> Result<Given<FileContent>, ToolError> {
    let ReadFile { sandbox_id, path, encoding } = arguments;
    let encoding = encoding.unwrap_or_default();
    let content = call.sandbox(&sandbox_id)?.read_file(&path).await?;
    let text = encoding.encode(&path, &content)?;
    let size = content.len() as u64;
    Ok(Given::told(FileContent { path, content: text.clone(), encoding, size }, text))
}

async fn write_file(call: Call, arguments: WriteFileArguments) -> Result<Given<Written>, ToolError> {
    let WriteFileArguments { sandbox_id, path, content, encoding, mode } = arguments;
    let sandbox = call.sandbox(&sandbox_id)?;
    let content = encoding.unwrap_or_default().decode("content", content)?;
    let mode = mode.map(|mode| permissions(&mode)).transpose()?;
    let size = content.len() as u64;
    let file = WriteFile { path: path.clone(), content, mode };
    sandbox.write_file(file).await?;
    Ok(Written { path, size }.into())
}

fn permissions(text: &str) -> Result<u32, ToolError> {
    let bits = u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o777 && !text.starts_with('+'));
    bits.ok_or_else(|| ToolError::argument("mode", format!("{text:?} is not permissions in octal, such as 644")))
}

async fn list_directory(call: Call, arguments: ListDirectory) -> Result<Given<Directory>, ToolError> {
    let ListDirectory { sandbox_id, path, cursor } = arguments;
    let page = call.sandbox(&sandbox_id)?.list_directory(&path, cursor.as_deref(), PAGE_LIMIT).await?;
    let entries = page.entries.iter().map(FileView::new).collect();
    Ok(Directory { path, entries, next_cursor: page.next }.into())
}

async fn delete_file(call: Call, arguments: DeleteFile) -> Result<Given<Deleted>, ToolError> {
    let DeleteFile { sandbox_id, path, recursive } = arguments;
    let remove = if recursive == Some(true) { Remove::Tree } else { Remove::One };
    call.sandbox(&sandbox_id)?.remove(&path, remove).await?;
    Ok(Deleted { path, deleted: true }.into())
}

async fn move_file(call: Call, arguments: MoveFile) -> Result<Given<Moved>, ToolError> {
    let MoveFile { sandbox_id, from, to } = arguments;
    call.sandbox(&sandbox_id)?.rename(&from, &to).await?;
    Ok(Moved { from, to }.into())
}

async fn create_file_link(call: Call, arguments: CreateFileLink) -> Result<Given<FileLink>, ToolError> {
    let CreateFileLink { sandbox_id, path, direction, expires_in_s } = arguments;
    let lifetime = expires_in_s.map_or(LINK_TTL, Duration::from_secs);
    if lifetime.is_zero() || lifetime > MAX_LINK_TTL {
        let (seconds, most) = (lifetime.as_secs(), MAX_LINK_TTL.as_secs());
        return Err(ToolError::argument("expires_in_s", format!("{seconds} is not between 1 and {most}")));
    }
    let base = call.session.links().ok_or_else(|| ToolError::argument("direction", "nobody serves links here"))?;
    let (direction, method) = match direction {
        Way::Download => (Direction::Download, "GET"),
        Way::Upload => (Direction::Upload, "PUT"),
    };
    let caller = call.session.caller();
    let token = call.session.sandboxes().link(&caller, sandbox_id.parse()?, &path, direction, lifetime)?;
    let expires_at = time(std::time::SystemTime::now() + lifetime);
    Ok(FileLink { url: base.link(token.reveal()), method, expires_at }.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_octal() {
        assert_eq!(permissions("755").unwrap(), 0o755);
        assert_eq!(permissions("0644").unwrap(), 0o644);
        for wrong in ["", "888", "rwx", "+755", "4755"] {
            assert_eq!(permissions(wrong).unwrap_err().code(), "invalid_argument", "{wrong}");
        }
    }
}
