//! Interpreters that are started ahead of their first program: those that take longer to start than
//! most programs take to run.

use hearth_sandbox_agent::Language;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpreter {
    Python,
    Node,
}

impl Interpreter {
    /// The interpreter of programs in `language`. A shell starts in a millisecond, and has none.
    pub fn for_language(language: Language) -> Option<Self> {
        match language {
            Language::Python => Some(Self::Python),
            Language::JavaScript | Language::TypeScript => Some(Self::Node),
            Language::Bash | Language::Sh => None,
        }
    }
}
