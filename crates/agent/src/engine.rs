//! Interpreters that are worth starting ahead of their first program: those that take longer to start than most programs
//! take to run.

use hearth_agent::Language;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Python,
    Node,
}

impl Engine {
    /// What runs programs in `language`. A shell starts in a millisecond, and has none.
    pub fn of(language: Language) -> Option<Self> {
        match language {
            Language::Python => Some(Self::Python),
            Language::JavaScript | Language::TypeScript => Some(Self::Node),
            Language::Bash | Language::Sh => None,
        }
    }
}
