//! Names of apps, versions and owners. They are used in URLs, host names, file names and logs, so
//! few characters are allowed.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error(
        "{0:?} is not a name for an app: write letters, digits, -, _ and ., beginning with a letter or a digit; @scope/name works too"
    )]
    App(String),
    #[error("{0:?} is not a version: write it as 1.2.3")]
    Version(String),
    #[error("{0:?} is not a name for an owner: write up to 128 visible ASCII characters, without spaces")]
    Owner(String),
}

/// The limit of npm.
const MAX_NAME_BYTES: usize = 214;

pub(crate) fn app(text: &str) -> Result<(), InvalidName> {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let good = match text.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| part(scope) && part(name)),
        None => part(text),
    };
    if good && text.len() <= MAX_NAME_BYTES { Ok(()) } else { Err(InvalidName::App(text.to_owned())) }
}

/// Only refuses text that cannot be a version; the versions themselves are defined elsewhere.
pub(crate) fn version(text: &str) -> Result<(), InvalidName> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+');
    if (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(good) && !text.starts_with('.') {
        Ok(())
    } else {
        Err(InvalidName::Version(text.to_owned()))
    }
}

pub(crate) fn owner(text: &str) -> Result<(), InvalidName> {
    if (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(())
    } else {
        Err(InvalidName::Owner(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_few_characters() {
        for name in ["shop", "Shop-2", "a.b_c", "@scope/name", "1"] {
            assert_eq!(app(name), Ok(()), "{name}");
        }
        for name in ["", "_hearth", ".git", "-x", "a/b", "@a", "@/a", "@a/", "@a/b/c", "a b", "ä", "..", "@a/.."] {
            assert!(app(name).is_err(), "{name}");
        }
        assert!(app(&"a".repeat(215)).is_err());
        for (text, good) in
            [("1.2.3", true), ("v1", true), ("1.0.0-rc.1+5", true), ("", false), ("..", false), ("1/2", false)]
        {
            assert_eq!(version(text).is_ok(), good, "{text}");
        }
        for (text, good) in [("alice", true), ("a@b.example", true), ("", false), ("a b", false), ("a\n", false)] {
            assert_eq!(owner(text).is_ok(), good, "{text}");
        }
    }
}
