//! Paths of entries, which are untrusted. A path that [`EntryPath::parse`] accepts names something
//! below the folder that it is joined to, on every system, and has one spelling only.

use std::path::{Path, PathBuf};

const MAX_PATH_BYTES: usize = 1024;
const MAX_NAME_BYTES: usize = 255;
/// The length to which a refused path is cut in errors.
const SHOWN: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryPathError {
    #[error("is absolute: paths must be relative to the app's folder")]
    Absolute,
    #[error("has \"..\" in it: paths must stay inside the app's folder")]
    Parent,
    #[error("has a backslash in it: write paths with /")]
    Backslash,
    #[error("begins with a drive letter: paths must be relative to the app's folder")]
    Drive,
    #[error("has a control character in it: rename the file")]
    Control,
    #[error("is not UTF-8: rename the file")]
    NotUtf8,
    #[error("is longer than {MAX_PATH_BYTES} bytes, or a part of it than {MAX_NAME_BYTES}: shorten it")]
    TooLong,
    #[error("is empty: pack the folder anew")]
    Empty,
}

/// Relative, with `/` between its parts, none of which is empty, `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryPath(String);

impl EntryPath {
    /// `None` is the folder itself (`./`).
    pub(super) fn parse(raw: &[u8]) -> Result<Option<Self>, EntryPathError> {
        if raw.len() > MAX_PATH_BYTES {
            return Err(EntryPathError::TooLong);
        }
        let text = std::str::from_utf8(raw).map_err(|_| EntryPathError::NotUtf8)?;
        if text.is_empty() {
            return Err(EntryPathError::Empty);
        }
        if text.contains(char::is_control) {
            return Err(EntryPathError::Control);
        }
        if text.contains('\\') {
            return Err(EntryPathError::Backslash);
        }
        if text.starts_with('/') {
            return Err(EntryPathError::Absolute);
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => continue,
                ".." => return Err(EntryPathError::Parent),
                _ if part.len() > MAX_NAME_BYTES => return Err(EntryPathError::TooLong),
                _ => {}
            }
            if parts.is_empty() && matches!(part.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic()) {
                return Err(EntryPathError::Drive);
            }
            parts.push(part);
        }
        Ok(if parts.is_empty() { None } else { Some(Self(parts.join("/"))) })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn below(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }

    /// The folders that contain it, the outermost first.
    pub(super) fn parents(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }

    /// Files that desktop systems add to archives and that no app needs.
    pub(super) fn is_desktop_file(&self) -> bool {
        let name = self.0.rsplit('/').next().unwrap_or(&self.0);
        self.0.split('/').next() == Some("__MACOSX") || name == ".DS_Store" || name.starts_with("._")
    }
}

/// The path as shown in an error.
pub(super) fn shown(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    if text.chars().count() <= SHOWN {
        return text.into_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_one_spelling() {
        for raw in ["a/b", "./a/b", "a//b", "a/./b/", "././a/b//"] {
            assert_eq!(EntryPath::parse(raw.as_bytes()).unwrap().unwrap().as_str(), "a/b", "{raw}");
        }
        for raw in [".", "./", "././/"] {
            assert_eq!(EntryPath::parse(raw.as_bytes()), Ok(None));
        }
        let path = EntryPath::parse(b"a/b/c").unwrap().unwrap();
        assert_eq!(path.parents().collect::<Vec<_>>(), ["a", "a/b"]);
    }

    #[test]
    fn paths_that_could_leave_the_folder() {
        use EntryPathError::*;
        let long = "x/".repeat(600);
        let wide = "x".repeat(256);
        let cases: [(&[u8], EntryPathError); 16] = [
            (b"/etc/passwd", Absolute),
            (b"//a", Absolute),
            (b"..", Parent),
            (b"../a", Parent),
            (b"a/../b", Parent),
            (b"a/..", Parent),
            (b"a\\..\\b", Backslash),
            (b"\\\\server\\x", Backslash),
            (b"C:/x", Drive),
            (b"./c:x", Drive),
            (b"a\0b", Control),
            (b"a\nb", Control),
            (b"a\xff", NotUtf8),
            (b"", Empty),
            (long.as_bytes(), TooLong),
            (wide.as_bytes(), TooLong),
        ];
        for (raw, fault) in cases {
            assert_eq!(EntryPath::parse(raw), Err(fault), "{}", shown(raw));
        }
        for fine in ["...", "a..b", "..a", "ab:c", "d/a:b", "héllo", " ", "-rf"] {
            assert!(EntryPath::parse(fine.as_bytes()).unwrap().is_some(), "{fine}");
        }
    }

    #[test]
    fn desktop_files() {
        for (raw, litter) in
            [("__MACOSX/a", true), ("a/.DS_Store", true), ("._a", true), ("a/__MACOSX", false), ("_a", false)]
        {
            assert_eq!(EntryPath::parse(raw.as_bytes()).unwrap().unwrap().is_desktop_file(), litter, "{raw}");
        }
    }
}
