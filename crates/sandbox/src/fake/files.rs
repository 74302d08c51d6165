//! Fake files: a map from paths to contents. Folders exist when something is in them, or when they
//! were made.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use hearth_sandbox_agent::{
    AgentCallId, AgentReply, AgentRequest, Blob, CHUNK, CallFailure, EntryKind, FailureKind, FileEntry, Removal,
};

pub(super) struct Files {
    files: BTreeMap<String, File>,
    folders: BTreeSet<String>,
    /// Files that are being written.
    writing: HashMap<AgentCallId, (String, File)>,
}

#[derive(Clone)]
struct File {
    content: Vec<u8>,
    mode: u32,
}

impl Files {
    pub(super) fn new() -> Self {
        let folders = ["/", "/work", "/tmp"].map(str::to_owned).into();
        Self { files: BTreeMap::new(), folders, writing: HashMap::new() }
    }

    pub(super) fn cancel(&mut self, id: AgentCallId) {
        self.writing.remove(&id);
    }

    /// `None` where there is no answer yet.
    pub(super) fn answer(&mut self, request: AgentRequest) -> Option<AgentReply> {
        match request {
            AgentRequest::Read { id, path, offset, limit } => {
                Some(self.read(id, &whole(&path), offset, limit as usize))
            }
            AgentRequest::Write { id, path, mode, .. } => {
                let file = File { content: Vec::new(), mode: mode.unwrap_or(0o644) };
                self.writing.insert(id, (whole(&path), file));
                None
            }
            AgentRequest::Chunk { id, bytes } => {
                if let Some((_, file)) = self.writing.get_mut(&id) {
                    file.content.extend_from_slice(&bytes.0);
                }
                None
            }
            AgentRequest::Finish { id } => {
                let (path, file) = self.writing.remove(&id)?;
                if path.starts_with("/full/") {
                    return Some(fail(id, FailureKind::Full, "no space left"));
                }
                self.make_folders(parent(&path));
                self.files.insert(path, file);
                Some(AgentReply::Done { id })
            }
            AgentRequest::List { id, path, after, limit } => Some(self.list(id, &whole(&path), after, limit as usize)),
            AgentRequest::Stat { id, path } => {
                let path = whole(&path);
                let entry = self.entry(&path, name(&path));
                Some(entry.map_or_else(|| missing(id), |entry| AgentReply::Found { id, entry }))
            }
            AgentRequest::Remove { id, path, removal } => Some(self.remove(id, &whole(&path), removal)),
            AgentRequest::Mkdir { id, path, .. } => {
                self.make_folders(&whole(&path));
                Some(AgentReply::Done { id })
            }
            AgentRequest::Rename { id, from, to } => {
                let Some(file) = self.files.remove(&whole(&from)) else { return Some(missing(id)) };
                self.files.insert(whole(&to), file);
                Some(AgentReply::Done { id })
            }
            _ => None,
        }
    }

    fn read(&self, id: AgentCallId, path: &str, offset: u64, limit: usize) -> AgentReply {
        let Some(file) = self.files.get(path) else {
            return match self.folders.contains(path) {
                true => fail(id, FailureKind::Invalid, "it is a folder"),
                false => missing(id),
            };
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(file.content.len());
        let rest = &file.content[from..];
        let piece = &rest[..rest.len().min(limit).min(CHUNK)];
        let end = piece.len() == rest.len();
        AgentReply::Data { id, bytes: Blob(piece.to_vec()), end, size: file.content.len() as u64 }
    }

    fn list(&self, id: AgentCallId, path: &str, after: Option<String>, limit: usize) -> AgentReply {
        if self.files.contains_key(path) {
            return fail(id, FailureKind::Invalid, "it is no folder");
        }
        if !self.folders.contains(path) {
            return missing(id);
        }
        let below = self.files.keys().chain(&self.folders).filter(|other| parent(other) == path && *other != path);
        let names: BTreeSet<&str> = below.map(|path| name(path)).collect();
        let rest: Vec<_> =
            names.into_iter().filter(|name| after.as_deref().is_none_or(|after| *name > after)).collect();
        let prefix = if path == "/" { "" } else { path };
        let entries =
            rest.iter().take(limit).filter_map(|name| self.entry(&format!("{prefix}/{name}"), name)).collect();
        AgentReply::Entries { id, entries, more: rest.len() > limit }
    }

    fn entry(&self, path: &str, name: &str) -> Option<FileEntry> {
        let entry = |kind, size, mode| FileEntry {
            name: name.to_owned(),
            kind,
            size,
            mode,
            modified: Duration::from_secs(1_800_000_000),
            target: None,
        };
        match self.files.get(path) {
            Some(file) => Some(entry(EntryKind::File, file.content.len() as u64, file.mode)),
            None => self.folders.contains(path).then(|| entry(EntryKind::Folder, 0, 0o755)),
        }
    }

    fn remove(&mut self, id: AgentCallId, path: &str, removal: Removal) -> AgentReply {
        let inside = |other: &String| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let is_folder = self.folders.contains(path);
        if !is_folder && !self.files.contains_key(path) {
            return missing(id);
        }
        let empty = !self.files.keys().chain(&self.folders).any(inside);
        if is_folder && removal == Removal::One && !empty {
            return fail(id, FailureKind::Invalid, "the folder is not empty");
        }
        self.files.retain(|other, _| other != path && !inside(other));
        self.folders.retain(|other| other != path && !inside(other));
        AgentReply::Done { id }
    }

    fn make_folders(&mut self, path: &str) {
        let mut path = path;
        while self.folders.insert(path.to_owned()) && path != "/" {
            path = parent(path);
        }
    }
}

/// From the root, without a slash at its end.
fn whole(path: &str) -> String {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/work/{path}") };
    match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        None | Some(("", _)) => "/",
        Some((parent, _)) => parent,
    }
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn missing(id: AgentCallId) -> AgentReply {
    fail(id, FailureKind::NotFound, "there is nothing of that name")
}

fn fail(id: AgentCallId, kind: FailureKind, message: &str) -> AgentReply {
    AgentReply::Failed { id, failure: CallFailure { kind, message: message.to_owned() } }
}
