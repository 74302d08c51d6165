//! One aspect that was examined.

use serde_json::{Value, json};

use crate::terminal::Tint;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The aspect, such as `landlock`.
    pub check: &'static str,
    pub state: State,
    /// The result, in a few words.
    pub found: String,
    /// What to do; for all that is weak or bad.
    pub advice: Option<Advice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Not available, and not needed.
    Absent,
    /// Hearth serves, with a restriction.
    Weak,
    /// Hearth does not serve, or not as it is configured.
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The consequence.
    pub means: String,
    pub fix: String,
}

// === impl DoctorFinding ===

impl DoctorFinding {
    pub fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Good, found: found.into(), advice: None }
    }

    pub fn absent(check: &'static str, found: impl Into<String>) -> Self {
        Self { state: State::Absent, ..Self::good(check, found) }
    }

    pub fn weak(check: &'static str, found: impl Into<String>, means: &str, fix: impl Into<String>) -> Self {
        let advice = Some(Advice { means: means.to_owned(), fix: fix.into() });
        Self { check, state: State::Weak, found: found.into(), advice }
    }

    pub fn bad(check: &'static str, found: impl Into<String>, means: &str, fix: impl Into<String>) -> Self {
        Self { state: State::Bad, ..Self::weak(check, found, means, fix) }
    }

    pub fn json(&self) -> Value {
        let advice = self.advice.as_ref();
        json!({
            "check": self.check,
            "state": self.state.word().0,
            "found": self.found,
            "means": advice.map(|advice| &advice.means),
            "fix": advice.map(|advice| &advice.fix),
        })
    }
}

// === impl State ===

impl State {
    pub fn word(self) -> (&'static str, Tint) {
        match self {
            State::Good => ("good", Tint::Green),
            State::Absent => ("absent", Tint::Dim),
            State::Weak => ("weak", Tint::Yellow),
            State::Bad => ("bad", Tint::Red),
        }
    }
}
