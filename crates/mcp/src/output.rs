//! What came of a command or of code, as agents and programs are told.

use hearth_sandbox::{ExecEnd, ExecResult, Hint};
use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::{Form, Image};

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
    /// It wrote more than is kept (1 MiB of each stream): the beginning and the end are there.
    pub truncated: bool,
    /// How many bytes are left out in between; only where some are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u64>,
    /// It was still running at its deadline: it was interrupted, and killed if it went on.
    pub timed_out: bool,
    /// The session's interpreter ended with it, and its variables are lost; only where that is so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session_lost: bool,
    pub duration_ms: u64,
    /// What the sandbox did not give it, and what helps; only where there is something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintView>,
    /// What a python session showed beside text, such as figures and tables; only where it did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Form>,
    /// For the content of the result.
    #[serde(skip)]
    pub(crate) images: Vec<Image>,
}

/// Why something went wrong that the sandbox's limits are behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HintView {
    /// out_of_memory, disk_full or network_refused; does not change.
    pub code: &'static str,
    pub message: String,
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

/// What a command writes, as it comes.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    pub(crate) session_lost: bool,
}

/// Of one stream, with a mark where some of it is left out.
#[derive(Default)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    omitted: u64,
    /// What comes next may begin within a character.
    is_cut: bool,
}

// === impl Kept ===

impl Kept {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        if std::mem::take(&mut self.is_cut) {
            let within = bytes.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
            bytes = &bytes[within..];
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn omit(&mut self, bytes: u64) {
        self.bytes.truncate(whole_characters(&self.bytes).len());
        self.bytes.extend_from_slice(format!("\n[… {bytes} bytes left out …]\n").as_bytes());
        self.omitted += bytes;
        self.is_cut = true;
    }
}

// === impl RunResult ===

impl RunResult {
    pub fn new(result: &ExecResult) -> Self {
        let ExecResult { exit_code, signal, truncated, timed_out, duration, .. } = *result;
        let end = ExecEnd { exit_code, signal, truncated, timed_out, duration };
        let hints = result.hints.iter().map(HintView::new).collect();
        Self { hints, ..Self::ended(&end, &result.stdout, &result.stderr) }
    }

    /// Of a command whose output came in pieces.
    pub(crate) fn collected(end: &ExecEnd, written: &Written) -> Self {
        let mut result = Self::ended(end, &written.stdout.bytes, &written.stderr.bytes);
        let omitted = written.stdout.omitted + written.stderr.omitted;
        result.omitted_bytes = (omitted > 0).then_some(omitted);
        result.session_lost = written.session_lost;
        result
    }

    fn ended(end: &ExecEnd, stdout: &[u8], stderr: &[u8]) -> Self {
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
            omitted_bytes: None,
            session_lost: false,
            timed_out: end.timed_out,
            duration_ms: u64::try_from(end.duration.as_millis()).unwrap_or(u64::MAX),
            hints: Vec::new(),
            shown: Vec::new(),
            images: Vec::new(),
        }
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.exit_code == 0 && !self.timed_out
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
        if self.session_lost {
            line(&mut told, "[the session ended with it: its variables are lost, and the next call begins a new one]");
        }
        for hint in &self.hints {
            line(&mut told, &format!("[{}]", hint.message));
        }
        match self.omitted_bytes {
            Some(bytes) => line(&mut told, &format!("[{bytes} bytes in the middle of its output are left out]")),
            None if self.truncated => line(&mut told, "[it wrote more than is kept and was ended]"),
            None => {}
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

// === impl HintView ===

impl HintView {
    pub(crate) fn new(hint: &Hint) -> Self {
        Self { code: hint.code(), message: hint.to_string() }
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
            whole.omitted_bytes =
                one.omitted_bytes.map(|bytes| bytes + whole.omitted_bytes.unwrap_or(0)).or(whole.omitted_bytes);
            whole.session_lost |= one.session_lost;
            whole.timed_out |= one.timed_out;
            whole.duration_ms += one.duration_ms;
            whole.hints.extend_from_slice(&one.hints);
            whole.images.extend_from_slice(&one.images);
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
    fn what_is_left_out_is_marked_and_splits_no_character() {
        let mut kept = Kept::default();
        let (euro, smile) = ("€".as_bytes(), "😀".as_bytes());
        kept.push(b"head");
        kept.push(&euro[..2]);
        kept.omit(7);
        kept.push(&smile[2..]);
        kept.push(b"tail");
        let written = Written { stdout: kept, ..Written::default() };
        let end =
            ExecEnd { exit_code: Some(0), signal: None, truncated: true, timed_out: false, duration: Duration::ZERO };
        let result = RunResult::collected(&end, &written);
        assert_eq!(result.stdout, "head\n[… 7 bytes left out …]\ntail");
        assert_eq!((result.truncated, result.omitted_bytes, result.succeeded()), (true, Some(7), true));
        assert!(result.told().ends_with("[7 bytes in the middle of its output are left out]"), "{}", result.told());
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
