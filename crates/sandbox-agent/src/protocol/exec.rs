//! A program to run in a sandbox, and how it ended.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::wire::{Blob, Malformed, WireValue, wire_enum, wire_struct, wire_tags};

wire_struct! {
    /// A program and everything that it is started with.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Exec {
        pub command: GuestCommand,
        /// Set over the sandbox's own variables.
        pub env: Vec<(String, String)>,
        /// Working directory; `/work` by default.
        pub cwd: Option<String>,
        pub stdin: Stdin,
        /// After it the program is interrupted (SIGINT), and its whole process tree killed if it
        /// does not end.
        pub timeout: Duration,
        /// Bytes for each of stdout and stderr: the first half and the last half are passed on, the rest is left out.
        pub output_limit: u64,
    }
}

wire_enum! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum GuestCommand, "command" {
        /// A program and its arguments, found in `PATH`. No shell is involved.
        0 => Argv { argv: Vec<String> },
        /// A line for `/bin/sh`.
        1 => Shell { line: String },
        /// Source text. It goes into a file, never into an argument. With a `session` the interpreter stays, with its
        /// variables, for the next one that names it.
        2 => Code { language: Language, source: Blob, session: Option<String> },
    }
}

wire_tags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Language, "language" {
        0 => Python,
        1 => JavaScript,
        2 => TypeScript,
        3 => Bash,
        4 => Sh,
    }
}

impl Language {
    pub const ALL: [Self; 5] = [Self::Python, Self::JavaScript, Self::TypeScript, Self::Bash, Self::Sh];

    /// Other accepted names: those of programs and file extensions.
    fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3", "py"],
            Self::JavaScript => &["node", "nodejs", "js"],
            Self::TypeScript => &["ts"],
            Self::Bash => &[],
            Self::Sh => &["shell"],
        }
    }

    /// The name in requests and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Bash => "bash",
            Self::Sh => "sh",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Unknown language. The message lists the known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchLanguage(pub String);

impl fmt::Display for NoSuchLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no language is called {:?}; there are {}", self.0, Language::ALL.map(Language::name).join(", "))
    }
}

impl std::error::Error for NoSuchLanguage {}

impl FromStr for Language {
    type Err = NoSuchLanguage;

    fn from_str(text: &str) -> Result<Self, NoSuchLanguage> {
        let is_meant = |language: &Self| language.name() == text || language.aliases().contains(&text);
        Self::ALL.into_iter().find(is_meant).ok_or_else(|| NoSuchLanguage(text.to_owned()))
    }
}

wire_enum! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Stdin, "stdin" {
        /// Empty from the beginning.
        0 => Empty {},
        /// These bytes, then the end.
        1 => Bytes { bytes: Blob },
        /// What `AgentRequest::Stdin` brings, until `AgentRequest::CloseStdin`.
        2 => Open {},
    }
}

wire_tags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum OutputStream, "stream" {
        1 => Stdout,
        2 => Stderr,
    }
}

/// A signal's number on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signal(pub u8);

impl WireValue for Signal {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        u8::take(from).map(Self)
    }
}

wire_enum! {
    /// How a program ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum End, "end" {
        0 => Code { code: u8 },
        1 => Killed { signal: Signal },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_their_programs_and_files_too() {
        for (text, language) in [
            ("python", Language::Python),
            ("python3", Language::Python),
            ("py", Language::Python),
            ("node", Language::JavaScript),
            ("js", Language::JavaScript),
            ("ts", Language::TypeScript),
            ("shell", Language::Sh),
        ] {
            assert_eq!(text.parse(), Ok(language), "{text}");
        }
        for language in Language::ALL {
            assert_eq!(language.name().parse(), Ok(language));
        }
        let unknown = "python2".parse::<Language>().unwrap_err().to_string();
        assert!(unknown.contains("python, javascript, typescript, bash, sh"), "{unknown}");
    }
}
