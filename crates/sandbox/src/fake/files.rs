//! Fake files: a map from paths to contents. Folders exist when something is in them, or when they
//! were made.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use hearth_agent::{Answer, Blob, CHUNK, CallId, Entry, EntryKind, Failure, FailureKind, Removal, Request};

pub(super) struct Files {
    files: BTreeMap<String, File>,
    folders: BTreeSet<String>,
    /// Files that are being written.
    writing: HashMap<CallId, (String, File)>,
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

    pub(super) fn cancel(&mut self, id: CallId) {
        self.writing.remove(&id);
    }

    /// `None` where there is no answer yet.
    pub(super) fn answer(&mut self, request: Request) -> Option<Answer> {
        match request {
            Request::Read { id, path, offset, limit } => Some(self.read(id, &whole(&path), offset, limit as usize)),
            Request::Write { id, path, mode, .. } => {
                let file = File { content: Vec::new(), mode: mode.unwrap_or(0o644) };
                self.writing.insert(id, (whole(&path), file));
                None
            }
            Request::Chunk { id, bytes } => {
                if let Some((_, file)) = self.writing.get_mut(&id) {
                    file.content.extend_from_slice(&bytes.0);
                }
                None
            }
            Request::Finish { id } => {
                let (path, file) = self.writing.remove(&id)?;
                if path.starts_with("/full/") {
                    return Some(fail(id, FailureKind::Full, "no space left"));
                }
                self.make_folders(parent(&path));
                self.files.insert(path, file);
                Some(Answer::Done { id })
            }
            Request::List { id, path, after, limit } => Some(self.list(id, &whole(&path), after, limit as usize)),
            Request::Stat { id, path } => {
                let path = whole(&path);
                let entry = self.entry(&path, name(&path));
                Some(entry.map_or_else(|| missing(id), |entry| Answer::Found { id, entry }))
            }
            Request::Remove { id, path, removal } => Some(self.remove(id, &whole(&path), removal)),
            Request::Mkdir { id, path, .. } => {
                self.make_folders(&whole(&path));
                Some(Answer::Done { id })
            }
            Request::Rename { id, from, to } => {
                let Some(file) = self.files.remove(&whole(&from)) else { return Some(missing(id)) };
                self.files.insert(whole(&to), file);
                Some(Answer::Done { id })
            }
            _ => None,
        }
    }

    fn read(&self, id: CallId, path: &str, offset: u64, limit: usize) -> Answer {
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
        Answer::Data { id, bytes: Blob(piece.to_vec()), end, size: file.content.len() as u64 }
    }

    fn list(&self, id: CallId, path: &str, after: Option<String>, limit: usize) -> Answer {
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
        Answer::Entries { id, entries, more: rest.len() > limit }
    }

    fn entry(&self, path: &str, name: &str) -> Option<Entry> {
        let entry = |kind, size, mode| Entry {
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

    fn remove(&mut self, id: CallId, path: &str, removal: Removal) -> Answer {
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
        Answer::Done { id }
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

fn missing(id: CallId) -> Answer {
    fail(id, FailureKind::NotFound, "there is nothing of that name")
}

fn fail(id: CallId, kind: FailureKind, message: &str) -> Answer {
    Answer::Failed { id, failure: Failure { kind, message: message.to_owned() } }
}
