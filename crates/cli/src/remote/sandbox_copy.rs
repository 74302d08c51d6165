//! `hearth sandbox cp`: copies one file into a sandbox or out of it; folders are in `sandbox_tree.rs`.

use std::io::{Read as _, Write as _, stdin, stdout};
use std::path::Path;

use hearth_control::action::Action;
use hearth_control::sandboxes::SandboxAction;
use serde_json::Value;

use super::Session;
use super::error::RemoteError;
use super::progress::Progress;
use super::sandbox_tree;

/// The source or the target of a copy.
#[derive(Debug, PartialEq, Eq)]
enum End<'a> {
    /// A local path; `-` is standard input or output.
    Here(&'a str),
    Sandbox {
        id: &'a str,
        path: &'a str,
    },
}

pub(super) fn copy(session: &Session, from: &str, to: &str) -> Result<(), RemoteError> {
    match (End::read(from), End::read(to)) {
        (End::Sandbox { id, path }, End::Here(file)) => download(session, id, path, file),
        (End::Here(file), End::Sandbox { id, path }) => upload(session, file, id, path),
        _ => Err(RemoteError::NoCopy { text: from.to_owned(), other: to.to_owned() }),
    }
}

/// A folder that is copied to a path with a slash at its end keeps its name, as with `cp`.
pub(super) fn copy_folder(session: &Session, from: &str, to: &str) -> Result<(), RemoteError> {
    match (End::read(from), End::read(to)) {
        (End::Sandbox { id, path }, End::Here(folder)) => {
            sandbox_tree::download(session, id, path, &target(Path::new(folder), path.trim_end_matches('/')))
        }
        (End::Here(folder), End::Sandbox { id, path }) => {
            let folder = Path::new(folder);
            let path = match (path.ends_with('/'), folder.file_name().and_then(|name| name.to_str())) {
                (true, Some(name)) => format!("{path}{name}"),
                _ => path.to_owned(),
            };
            sandbox_tree::upload(session, folder, id, &path)
        }
        _ => Err(RemoteError::NoCopy { text: from.to_owned(), other: to.to_owned() }),
    }
}

fn download(session: &Session, id: &str, path: &str, file: &str) -> Result<(), RemoteError> {
    let read = SandboxAction::ReadFile { id: id.to_owned(), path: path.to_owned() };
    let content = session.server.bytes(&Action::Sandbox(read))?;
    if file == "-" {
        return stdout().write_all(&content).map_err(RemoteError::Output);
    }
    let to = target(Path::new(file), path);
    std::fs::write(&to, content).map_err(|source| RemoteError::File { action: "write", path: to, source })
}

fn upload(session: &Session, file: &str, id: &str, path: &str) -> Result<(), RemoteError> {
    let mut content = Vec::new();
    match file {
        "-" => stdin().lock().read_to_end(&mut content).map(drop).map_err(RemoteError::Input)?,
        file => {
            content = std::fs::read(file).map_err(|source| RemoteError::File {
                action: "read",
                path: file.into(),
                source,
            })?;
        }
    }
    // As cp does: a target that ends with a slash is a folder.
    let path = match (path.ends_with('/'), Path::new(file).file_name().and_then(|name| name.to_str())) {
        (true, Some(name)) => format!("{path}{name}"),
        _ => path.to_owned(),
    };
    let write = SandboxAction::WriteFile { id: id.to_owned(), path, mode: None };
    let length = content.len() as u64;
    let mut progress = Progress::new();
    session.server.upload::<Value>(&Action::Sandbox(write), std::io::Cursor::new(content), length, &mut progress)?;
    Ok(())
}

/// A file that is copied to a folder keeps its name.
fn target(to: &Path, from: &str) -> std::path::PathBuf {
    match from.rsplit('/').next() {
        Some(name) if to.is_dir() && !name.is_empty() => to.join(name),
        _ => to.to_owned(),
    }
}

impl<'a> End<'a> {
    /// A sandbox's id has no slash in it, which tells `ID:PATH` from a file whose name has a colon.
    fn read(text: &'a str) -> Self {
        match text.split_once(':') {
            Some((id, path)) if id.len() == 36 && !id.contains('/') => {
                Self::Sandbox { id, path: if path.is_empty() { "/work/" } else { path } }
            }
            _ => Self::Here(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_end_is_in_a_sandbox() {
        let id = "b07c2d49-204c-4478-9fbe-377690a3cf5e";
        let inside = format!("{id}:/work/a:b");
        assert_eq!(End::read(&inside), End::Sandbox { id, path: "/work/a:b" });
        assert_eq!(End::read(&format!("{id}:")), End::Sandbox { id, path: "/work/" });
        for here in ["file", "./a:b", "-", "a:b"] {
            assert_eq!(End::read(here), End::Here(here));
        }
    }
}
