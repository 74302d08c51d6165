//! Reading and writing files, in chunks. The agent opens paths inside the sandbox, so none leads
//! out of it.

use bytes::{Bytes, BytesMut};
use hearth_core::ByteSize;
use hearth_sandbox_agent::{
    AgentReply, AgentRequest, Blob, CHUNK, CallFailure, EntryKind, FailureKind, FileEntry, Missing, Removal,
};
use tokio::time::timeout;

use super::{Agent, CALL_TIMEOUT};
use crate::error::SandboxError;
use crate::files::{DirectoryPage, FILE_LIMIT, FileInfo, FileKind, PAGE_LIMIT, Remove, WriteFile};

impl Agent {
    /// The whole content of a file, up to the size limit.
    pub(crate) async fn read_file(&self, path: &str) -> Result<Bytes, SandboxError> {
        let mut content = BytesMut::new();
        loop {
            let (path_, offset, limit) = (path.to_owned(), content.len() as u64, CHUNK as u32);
            let answer =
                self.ask_with_timeout("reading", |id| AgentRequest::Read { id, path: path_, offset, limit }).await?;
            let AgentReply::Data { bytes, end, size, .. } = answer else { return Err(self.file_refused(path, answer)) };
            if size.max(offset + bytes.0.len() as u64) > FILE_LIMIT.bytes() {
                return Err(too_large(path));
            }
            content.extend_from_slice(&bytes.0);
            // An empty chunk that is not the last would loop for ever.
            if end || bytes.0.is_empty() {
                return Ok(content.freeze());
            }
        }
    }

    pub(crate) async fn write_file(&self, file: WriteFile) -> Result<(), SandboxError> {
        if file.content.len() as u64 > FILE_LIMIT.bytes() {
            return Err(too_large(&file.path));
        }
        let late = |_| SandboxError::TimedOut { what: "writing", limit: CALL_TIMEOUT };
        timeout(CALL_TIMEOUT, self.write_in_chunks(file)).await.map_err(late)?
    }

    async fn write_in_chunks(&self, file: WriteFile) -> Result<(), SandboxError> {
        let WriteFile { path, content, mode } = file;
        let begin = |id| AgentRequest::Write { id, path: path.clone(), mode, missing: Missing::Create };
        let mut call = self.begin(0, begin).await?;
        let id = call.id;
        for piece in content.chunks(CHUNK) {
            // The agent may have refused already; then the rest is not sent.
            if !call.answers.is_empty() {
                break;
            }
            self.connection.write_queue.send(&AgentRequest::Chunk { id, bytes: Blob(piece.to_vec()) }).await?;
        }
        if call.answers.is_empty() {
            self.connection.write_queue.send(&AgentRequest::Finish { id }).await?;
        }
        match call.next().await? {
            AgentReply::Done { .. } => Ok(()),
            answer => Err(self.file_refused(&path, answer)),
        }
    }

    pub(crate) async fn list(
        &self,
        path: &str,
        after: Option<String>,
        limit: usize,
    ) -> Result<DirectoryPage, SandboxError> {
        let limit = u32::try_from(limit.clamp(1, PAGE_LIMIT)).expect("a page is small");
        let path_ = path.to_owned();
        let answer =
            self.ask_with_timeout("listing", |id| AgentRequest::List { id, path: path_, after, limit }).await?;
        let AgentReply::Entries { entries, more, .. } = answer else { return Err(self.file_refused(path, answer)) };
        let next = entries.last().filter(|_| more).map(|entry| entry.name.clone());
        Ok(DirectoryPage { entries: entries.into_iter().map(FileInfo::from).collect(), next })
    }

    pub(crate) async fn stat(&self, path: &str) -> Result<FileInfo, SandboxError> {
        let path_ = path.to_owned();
        match self.ask_with_timeout("reading file information", |id| AgentRequest::Stat { id, path: path_ }).await? {
            AgentReply::Found { entry, .. } => Ok(entry.into()),
            answer => Err(self.file_refused(path, answer)),
        }
    }

    pub(crate) async fn remove(&self, path: &str, remove: Remove) -> Result<(), SandboxError> {
        let removal = match remove {
            Remove::One => Removal::One,
            Remove::Tree => Removal::Tree,
        };
        let path_ = path.to_owned();
        let answer = self.ask_with_timeout("removing", |id| AgentRequest::Remove { id, path: path_, removal }).await?;
        self.file_done(path, answer)
    }

    pub(crate) async fn make_directory(&self, path: &str) -> Result<(), SandboxError> {
        let path_ = path.to_owned();
        let request = |id| AgentRequest::Mkdir { id, path: path_, missing: Missing::Create };
        let answer = self.ask_with_timeout("making a directory", request).await?;
        self.file_done(path, answer)
    }

    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), SandboxError> {
        let (from_, to) = (from.to_owned(), to.to_owned());
        let answer = self.ask_with_timeout("renaming", |id| AgentRequest::Rename { id, from: from_, to }).await?;
        self.file_done(from, answer)
    }

    fn file_done(&self, path: &str, answer: AgentReply) -> Result<(), SandboxError> {
        match answer {
            AgentReply::Done { .. } => Ok(()),
            answer => Err(self.file_refused(path, answer)),
        }
    }

    fn file_refused(&self, path: &str, answer: AgentReply) -> SandboxError {
        match answer {
            AgentReply::Failed { failure, .. } => file_error(path, failure),
            other => self.protocol_error(&other),
        }
    }
}

fn too_large(path: &str) -> SandboxError {
    SandboxError::TooLarge { what: path.to_owned(), limit: FILE_LIMIT }
}

fn file_error(path: &str, failure: CallFailure) -> SandboxError {
    let path = path.to_owned();
    match failure.kind {
        FailureKind::NotFound => SandboxError::NoFile { path },
        FailureKind::Full => SandboxError::NoSpace { path },
        _ => SandboxError::File { path, reason: failure.message },
    }
}

impl From<FileEntry> for FileInfo {
    fn from(entry: FileEntry) -> Self {
        let kind = match entry.kind {
            EntryKind::File => FileKind::File,
            EntryKind::Folder => FileKind::Directory,
            EntryKind::Link => FileKind::Symlink,
            EntryKind::Other => FileKind::Other,
        };
        let FileEntry { name, size, mode, modified, target, .. } = entry;
        Self { name, kind, size: ByteSize(size), mode, modified, target }
    }
}
