//! Valid app names: those of npm, and capital letters.
//!
//! Names are used in paths, host names, file names and log lines, where these characters need no
//! quoting. A leading `_` is reserved for Hearth's own paths, and a leading `.` would make a hidden
//! file.

const MAX_LENGTH: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppNameError {
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
pub fn check_name(name: &str) -> Result<(), AppNameError> {
    if name.len() > MAX_LENGTH {
        return Err(AppNameError::TooLong);
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

/// A name without scope, or a scope without its `@`.
pub(super) fn check_part(part: &str) -> Result<(), AppNameError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if part.len() > MAX_LENGTH {
        return Err(AppNameError::TooLong);
    }
    if let Some(odd) = part.chars().find(|c| !fits(*c)) {
        return Err(AppNameError::Character(odd));
    }
    match part.chars().next() {
        None => Err(AppNameError::Empty),
        Some(first) if !first.is_ascii_alphanumeric() => Err(AppNameError::Start(first)),
        Some(_) if part == "node_modules" => Err(AppNameError::Packages),
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
            ("", AppNameError::Empty),
            ("@a", AppNameError::Empty),
            ("@/a", AppNameError::Empty),
            ("@a/", AppNameError::Empty),
            (&long, AppNameError::TooLong),
            (".a", AppNameError::Start('.')),
            ("_a", AppNameError::Start('_')),
            ("-a", AppNameError::Start('-')),
            ("@_a/b", AppNameError::Start('_')),
            ("..", AppNameError::Start('.')),
            ("a b", AppNameError::Character(' ')),
            ("a/b", AppNameError::Character('/')),
            ("@a/b/c", AppNameError::Character('/')),
            ("a@b", AppNameError::Character('@')),
            ("é", AppNameError::Character('é')),
            ("a\0", AppNameError::Character('\0')),
            ("node_modules", AppNameError::Packages),
        ] {
            assert_eq!(check_name(name), Err(error), "{name:?}");
        }
    }
}
