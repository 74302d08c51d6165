//! Relative paths that stay inside an app's folder. Only the text is checked; code that opens such
//! a file must also refuse symbolic links that lead out.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelativePathError {
    #[error("it is empty")]
    Empty,
    #[error("{0:?} is an absolute path: write it from the app's folder on, such as src/index.ts")]
    Absolute(String),
    #[error("{0:?} leads out of the app's folder")]
    Outside(String),
    #[error("{0:?} is the app's folder itself: name something in it")]
    Whole(String),
    #[error("{0:?} has a character that no path may have: write / between folders, and no control characters")]
    Character(String),
}

/// The path without `.` and `..`.
pub(crate) fn path_inside(text: &str) -> Result<PathBuf, RelativePathError> {
    let odd = |c: char| c == '\\' || c.is_control();
    if text.is_empty() {
        return Err(RelativePathError::Empty);
    }
    if text.contains(odd) {
        return Err(RelativePathError::Character(text.to_owned()));
    }
    if text.starts_with('/') {
        return Err(RelativePathError::Absolute(text.to_owned()));
    }
    let mut names = Vec::new();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop().ok_or_else(|| RelativePathError::Outside(text.to_owned()))?),
            name => names.push(name),
        }
    }
    if names.is_empty() { Err(RelativePathError::Whole(text.to_owned())) } else { Ok(names.iter().collect()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for (text, path) in [
            ("index.ts", "index.ts"),
            ("./src//a.ts", "src/a.ts"),
            ("a/../b", "b"),
            ("a/./b/", "a/b"),
            ("..a/b", "..a/b"),
        ] {
            assert_eq!(path_inside(text).unwrap().to_str(), Some(path), "{text}");
        }
        for text in ["", "/etc/passwd", "..", "../x", "a/../../x", ".", "a/..", "..\\x", "a\0b", "a\nb"] {
            assert!(path_inside(text).is_err(), "{text:?}");
        }
    }
}
