//! What an app may be called: what npm allows, and capital letters.
//!
//! Names stand in paths, host names, file names and log lines; with these characters they need no quoting in any of them. A
//! name that begins with `_` could be taken for one of Hearth's own paths, one that begins with `.` for a hidden file.

const MAX_LENGTH: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name of an app has at least one character")]
    Empty,
    #[error("the name of an app has at most {MAX_LENGTH} characters")]
    TooLong,
    #[error("the name of an app does not begin with {0:?}; it begins with a letter or a digit")]
    Start(char),
    #[error("the name of an app has no {0:?}; it has letters (a-z), digits, \"-\", \"_\" and \".\" only")]
    Character(char),
    #[error("\"node_modules\" is where packages are, not the name of an app")]
    Packages,
}

/// `name`, or `@scope/name`.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.len() > MAX_LENGTH {
        return Err(NameError::TooLong);
    }
    match name.strip_prefix('@') {
        Some(rest) => {
            let (scope, name) = rest.split_once('/').unwrap_or((rest, ""));
            check_part(scope)?;
            check_part(name)
        }
        None => check_part(name),
    }
}

/// A name without scope, or the scope without its `@`.
pub(super) fn check_part(part: &str) -> Result<(), NameError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if part.len() > MAX_LENGTH {
        return Err(NameError::TooLong);
    }
    if let Some(odd) = part.chars().find(|c| !fits(*c)) {
        return Err(NameError::Character(odd));
    }
    match part.chars().next() {
        None => Err(NameError::Empty),
        Some(first) if !first.is_ascii_alphanumeric() => Err(NameError::Start(first)),
        Some(_) if part == "node_modules" => Err(NameError::Packages),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["a", "7", "Hello", "my-app", "my_app", "my.app", "@acme/hello", "@a.b/C", &"a".repeat(100)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(101);
        for (name, error) in [
            ("", NameError::Empty),
            ("@a", NameError::Empty),
            ("@/a", NameError::Empty),
            ("@a/", NameError::Empty),
            (&long, NameError::TooLong),
            (".a", NameError::Start('.')),
            ("_a", NameError::Start('_')),
            ("-a", NameError::Start('-')),
            ("@_a/b", NameError::Start('_')),
            ("..", NameError::Start('.')),
            ("a b", NameError::Character(' ')),
            ("a/b", NameError::Character('/')),
            ("@a/b/c", NameError::Character('/')),
            ("a@b", NameError::Character('@')),
            ("é", NameError::Character('é')),
            ("a\0", NameError::Character('\0')),
            ("node_modules", NameError::Packages),
        ] {
            assert_eq!(check_name(name), Err(error), "{name:?}");
        }
    }
}
