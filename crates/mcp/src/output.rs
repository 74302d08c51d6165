//! What came of a command or of code, as agents and programs are told.

use hearth_sandbox::{ExecEnd, ExecResult};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunResult {
    /// What it ended with; 0 means success. 128 and the signal's number where a signal ended it.
    pub exit_code: i32,
    /// The signal that ended it, such as SIGKILL; only where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What it wrote to standard output. Bytes that are no UTF-8 are shown as U+FFFD.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// It wrote more than is kept (1 MiB of each stream), and was ended for it.
    pub truncated: bool,
    /// It was still running at its deadline, and was ended with all its processes.
    pub timed_out: bool,
    pub duration_ms: u64,
}

/// Of code: the same, and each snippet's own result where there were several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CodeResult {
    #[serde(flatten)]
    pub(crate) whole: RunResult,
    /// The results of the snippets that ran, in order; only where `code` was a list. The first that fails is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snippets: Option<Vec<RunResult>>,
}

// === impl RunResult ===

impl RunResult {
    pub fn new(result: &ExecResult) -> Self {
        let ExecResult { exit_code, signal, truncated, timed_out, duration, .. } = *result;
        let end = ExecEnd { exit_code, signal, truncated, timed_out, duration };
        Self::ended(&end, &result.stdout, &result.stderr)
    }

    pub(crate) fn ended(end: &ExecEnd, stdout: &[u8], stderr: &[u8]) -> Self {
        let shown = |bytes| {
            let bytes = if end.truncated { whole_characters(bytes) } else { bytes };
            String::from_utf8_lossy(bytes).into_owned()
        };
        Self {
            exit_code: end.exit_code.or(end.signal.map(|signal| 128 + signal)).unwrap_or(-1),
            signal: end.signal.map(signal_name),
            stdout: shown(stdout),
            stderr: shown(stderr),
            truncated: end.truncated,
            timed_out: end.timed_out,
            duration_ms: u64::try_from(end.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.exit_code == 0 && !self.timed_out && !self.truncated
    }

    /// As an agent reads it best: what was written, and what is worth knowing about the end.
    pub(crate) fn told(&self) -> String {
        let mut told = self.stdout.clone();
        let line = |told: &mut String, text: &str| {
            if !told.is_empty() && !told.ends_with('\n') {
                told.push('\n');
            }
            told.push_str(text);
        };
        if !self.stderr.is_empty() {
            line(&mut told, "[stderr]\n");
            told.push_str(&self.stderr);
        }
        if self.timed_out {
            line(&mut told, &format!("[it was still running after {} ms and was ended]", self.duration_ms));
        }
        if self.truncated {
            line(&mut told, "[it wrote more than is kept and was ended]");
        }
        match &self.signal {
            Some(signal) => line(&mut told, &format!("[ended by {signal}]")),
            None if self.exit_code != 0 => line(&mut told, &format!("[exit code {}]", self.exit_code)),
            None if told.is_empty() => told.push_str("[it wrote nothing and succeeded]"),
            None => {}
        }
        told
    }
}

// === impl CodeResult ===

impl CodeResult {
    /// Of several, in order: the outputs one after the other, the end of the last.
    pub(crate) fn joined(snippets: Vec<RunResult>) -> Self {
        let mut whole = RunResult::default();
        for one in &snippets {
            whole.stdout.push_str(&one.stdout);
            whole.stderr.push_str(&one.stderr);
            whole.exit_code = one.exit_code;
            whole.signal.clone_from(&one.signal);
            whole.truncated |= one.truncated;
            whole.timed_out |= one.timed_out;
            whole.duration_ms += one.duration_ms;
        }
        Self { whole, snippets: Some(snippets) }
    }
}

/// Without the beginning of a character at the end: what was cut off in the midst of one loses that one, and nothing else.
pub(crate) fn whole_characters(bytes: &[u8]) -> &[u8] {
    // A character has at most four bytes.
    let tail = bytes.len().saturating_sub(4);
    for at in (tail..bytes.len()).rev() {
        let wanted = match bytes[at] {
            0x00..=0x7F => 1,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => continue,
        };
        return if bytes.len() - at < wanted { &bytes[..at] } else { bytes };
    }
    bytes
}

/// Those that commands meet; others by number.
pub fn signal_name(signal: i32) -> String {
    SIGNALS.iter().find(|(number, _)| *number == signal).map_or_else(|| signal.to_string(), |(_, name)| (*name).into())
}

/// `SIGTERM`, `TERM` or 15.
pub(crate) fn signal_number(text: &str) -> Option<u8> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let named = SIGNALS.iter().find(|(_, one)| &one[3..] == name).map(|(number, _)| *number);
    named
        .and_then(|number| u8::try_from(number).ok())
        .or_else(|| text.parse().ok().filter(|number| (1..=64).contains(number)))
}

/// As Linux numbers them.
const SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (17, "SIGCHLD"),
    (18, "SIGCONT"),
    (19, "SIGSTOP"),
    (20, "SIGTSTP"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (31, "SIGSYS"),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run(exit_code: Option<i32>, signal: Option<i32>, stdout: &str, stderr: &str) -> RunResult {
        let duration = Duration::from_millis(5);
        let end = ExecEnd { exit_code, signal, truncated: false, timed_out: false, duration };
        RunResult::ended(&end, stdout.as_bytes(), stderr.as_bytes())
    }

    #[test]
    fn a_cut_never_shows_half_a_character() {
        let whole = "aé€😀";
        for at in 0..=whole.len() {
            let shown = std::str::from_utf8(whole_characters(&whole.as_bytes()[..at]));
            assert!(shown.is_ok_and(|shown| whole.starts_with(shown)), "{at}");
        }
        assert_eq!(whole_characters(b"a\xFF"), b"a\xFF");
        assert_eq!(whole_characters(whole.as_bytes()), whole.as_bytes());
    }

    #[test]
    fn signals_have_names_and_numbers() {
        assert_eq!((signal_name(9), signal_name(63)), ("SIGKILL".to_owned(), "63".to_owned()));
        for text in ["SIGTERM", "TERM", "15"] {
            assert_eq!(signal_number(text), Some(15), "{text}");
        }
        for text in ["", "SIG", "0", "65", "term", "SIGNOTHING"] {
            assert_eq!(signal_number(text), None, "{text}");
        }
    }

    #[test]
    fn the_end_is_told_where_it_is_worth_it() {
        assert_eq!(run(Some(0), None, "hi\n", "").told(), "hi\n");
        assert_eq!(run(Some(42), None, "hi", "oh").told(), "hi\n[stderr]\noh\n[exit code 42]");
        assert_eq!(run(None, Some(9), "", "").told(), "[ended by SIGKILL]");
        assert_eq!(run(None, Some(9), "", "").exit_code, 137);
        assert!(run(Some(0), None, "", "").told().contains("nothing"));
    }

    #[test]
    fn several_are_told_as_one() {
        let joined = CodeResult::joined(vec![run(Some(0), None, "a\n", ""), run(Some(3), None, "b\n", "")]);
        assert_eq!((joined.whole.stdout.as_str(), joined.whole.exit_code, joined.whole.duration_ms), ("a\nb\n", 3, 10));
        assert_eq!(joined.snippets.map(|all| all.len()), Some(2));
    }
}
