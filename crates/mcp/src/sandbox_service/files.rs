//! Operations on a sandbox's files: read, write, list, delete, move; and links, by which files are transferred over HTTP
//! without passing through a model.

use std::time::Duration;

use hearth_sandbox::{Direction, LINK_TTL, MAX_LINK_TTL, PAGE_LIMIT, Remove, WriteFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SandboxService;
use crate::arguments::Encoding;
use crate::dto::{FileView, time};
use crate::error::ToolError;

/// What `read_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// Absolute, or below /work.
    pub path: String,
    /// Default utf8.
    pub(crate) encoding: Option<Encoding>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FileContent {
    pub path: String,
    pub content: String,
    pub(crate) encoding: Encoding,
    /// Of the file, in bytes.
    pub size: u64,
}

/// What `write_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFileRequest {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// Absolute, or below /work.
    pub path: String,
    /// All of the new content.
    pub content: String,
    /// Of `content`; default utf8.
    pub(crate) encoding: Option<Encoding>,
    /// Octal permissions; default as before, or 644.
    #[schemars(regex(pattern = "^0?[0-7]{3}$"))]
    pub mode: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WrittenFile {
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// What `list_directory` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// Absolute, or below /work.
    pub path: String,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DirectoryListing {
    pub path: String,
    pub entries: Vec<FileView>,
    /// There is more: call again with this as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What `delete_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteFile {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// Absolute, or below /work.
    pub path: String,
    /// Default false.
    pub recursive: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedFile {
    pub path: String,
    pub deleted: bool,
}

/// What `move_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// Absolute, or below /work.
    pub from: String,
    /// Absolute, or below /work.
    pub to: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct MovedFile {
    pub from: String,
    pub to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LinkDirection {
    Download,
    Upload,
}

/// What `create_file_link` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFileLink {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// Absolute, or below /work.
    pub path: String,
    /// Out of the sandbox, or into it.
    direction: LinkDirection,
    /// Default 300.
    #[schemars(range(min = 1, max = 3600))]
    pub expires_in_s: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FileLink {
    pub url: String,
    /// GET or PUT.
    pub method: &'static str,
    /// RFC 3339.
    pub expires_at: String,
}

impl SandboxService {
    pub async fn read_file(&self, request: ReadFile) -> Result<FileContent, ToolError> {
        let ReadFile { sandbox_id, path, encoding } = request;
        let encoding = encoding.unwrap_or_default();
        let content = self.sandbox(&sandbox_id)?.read_file(&path).await?;
        let text = encoding.encode(&path, &content)?;
        Ok(FileContent { path, content: text, encoding, size: content.len() as u64 })
    }

    pub async fn write_file(&self, request: WriteFileRequest) -> Result<WrittenFile, ToolError> {
        let WriteFileRequest { sandbox_id, path, content, encoding, mode } = request;
        let sandbox = self.sandbox(&sandbox_id)?;
        let content = encoding.unwrap_or_default().decode("content", content)?;
        let mode = mode.map(|mode| permissions(&mode)).transpose()?;
        let size = content.len() as u64;
        let file = WriteFile { path: path.clone(), content, mode };
        sandbox.write_file(file).await?;
        Ok(WrittenFile { path, size })
    }

    pub async fn list_directory(&self, request: ListDirectory) -> Result<DirectoryListing, ToolError> {
        let ListDirectory { sandbox_id, path, cursor } = request;
        let page = self.sandbox(&sandbox_id)?.list_directory(&path, cursor.as_deref(), PAGE_LIMIT).await?;
        let entries = page.entries.iter().map(FileView::new).collect();
        Ok(DirectoryListing { path, entries, next_cursor: page.next })
    }

    pub async fn delete_file(&self, request: DeleteFile) -> Result<DeletedFile, ToolError> {
        let DeleteFile { sandbox_id, path, recursive } = request;
        let remove = if recursive == Some(true) { Remove::Tree } else { Remove::One };
        self.sandbox(&sandbox_id)?.remove(&path, remove).await?;
        Ok(DeletedFile { path, deleted: true })
    }

    pub async fn move_file(&self, request: MoveFile) -> Result<MovedFile, ToolError> {
        let MoveFile { sandbox_id, from, to } = request;
        self.sandbox(&sandbox_id)?.rename(&from, &to).await?;
        Ok(MovedFile { from, to })
    }

    pub fn create_file_link(&self, request: CreateFileLink) -> Result<FileLink, ToolError> {
        let CreateFileLink { sandbox_id, path, direction, expires_in_s } = request;
        let lifetime = expires_in_s.map_or(LINK_TTL, Duration::from_secs);
        if lifetime.is_zero() || lifetime > MAX_LINK_TTL {
            let (seconds, most) = (lifetime.as_secs(), MAX_LINK_TTL.as_secs());
            return Err(ToolError::argument("expires_in_s", format!("{seconds} is not between 1 and {most}")));
        }
        let base =
            self.session.links().ok_or_else(|| ToolError::argument("direction", "this server has no file links"))?;
        let (direction, method) = match direction {
            LinkDirection::Download => (Direction::Download, "GET"),
            LinkDirection::Upload => (Direction::Upload, "PUT"),
        };
        let (sandboxes, caller) = (self.session.sandboxes(), self.session.caller());
        let token = sandboxes.link(&caller, sandbox_id.parse()?, &path, direction, lifetime)?;
        let expires_at = time(std::time::SystemTime::now() + lifetime);
        Ok(FileLink { url: base.link(token.reveal()), method, expires_at })
    }
}

fn permissions(text: &str) -> Result<u32, ToolError> {
    let bits = u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o777 && !text.starts_with('+'));
    bits.ok_or_else(|| ToolError::argument("mode", format!("{text:?} is not permissions in octal, such as 644")))
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
