//! Results of commands and of code, as agents and programs get them.

use hearth_sandbox::{ExecEnd, ExecResult, Hint};
use schemars::JsonSchema;
use serde::Serialize;

use crate::rich_output::{DisplayedForm, Image};

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
    pub shown: Vec<DisplayedForm>,
    /// Sent as content of the tool result, not as JSON.
    #[serde(skip)]
    pub(crate) images: Vec<Image>,
}

/// A limit of the sandbox that explains a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HintView {
    /// out_of_memory, disk_full or network_refused; does not change.
    pub code: &'static str,
    pub message: String,
}

/// The result of code: that of all snippets together, and each snippet's own if there were several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CodeResult {
    #[serde(flatten)]
    pub(crate) whole: RunResult,
    /// The results of the snippets that ran, in order; only where `code` was a list. The first that fails is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snippets: Option<Vec<RunResult>>,
}

/// The output of a running command.
#[derive(Default)]
pub(crate) struct CollectedOutput {
    pub(crate) stdout: OutputBuffer,
    pub(crate) stderr: OutputBuffer,
    pub(crate) session_lost: bool,
}

/// The kept bytes of one stream, with a mark where bytes are left out.
#[derive(Default)]
pub(crate) struct OutputBuffer {
    bytes: Vec<u8>,
    omitted: u64,
    /// The next bytes may begin within a character.
    is_cut: bool,
}

// === impl OutputBuffer ===

impl OutputBuffer {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        if std::mem::take(&mut self.is_cut) {
            let within = bytes.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
            bytes = &bytes[within..];
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn omit(&mut self, bytes: u64) {
        self.bytes.truncate(without_partial_character(&self.bytes).len());
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

    /// The result of a command whose output was collected while it ran.
    pub(crate) fn collected(end: &ExecEnd, written: &CollectedOutput) -> Self {
        let mut result = Self::ended(end, &written.stdout.bytes, &written.stderr.bytes);
        let omitted = written.stdout.omitted + written.stderr.omitted;
        result.omitted_bytes = (omitted > 0).then_some(omitted);
        result.session_lost = written.session_lost;
        result
    }

    fn ended(end: &ExecEnd, stdout: &[u8], stderr: &[u8]) -> Self {
        let shown = |bytes| {
            let bytes = if end.truncated { without_partial_character(bytes) } else { bytes };
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

    /// As text for a model: the output, then what is notable about the end.
    pub(crate) fn to_text(&self) -> String {
        let mut all = self.stdout.clone();
        let line = |all: &mut String, text: &str| {
            if !all.is_empty() && !all.ends_with('\n') {
                all.push('\n');
            }
            all.push_str(text);
        };
        if !self.stderr.is_empty() {
            line(&mut all, "[stderr]\n");
            all.push_str(&self.stderr);
        }
        if self.timed_out {
            line(&mut all, &format!("[it was still running after {} ms and was ended]", self.duration_ms));
        }
        if self.session_lost {
            line(&mut all, "[the session ended with it: its variables are lost, and the next call begins a new one]");
        }
        for hint in &self.hints {
            line(&mut all, &format!("[{}]", hint.message));
        }
        match self.omitted_bytes {
            Some(bytes) => line(&mut all, &format!("[{bytes} bytes in the middle of its output are left out]")),
            None if self.truncated => line(&mut all, "[it wrote more than is kept and was ended]"),
            None => {}
        }
        match &self.signal {
            Some(signal) => line(&mut all, &format!("[ended by {signal}]")),
            None if self.exit_code != 0 => line(&mut all, &format!("[exit code {}]", self.exit_code)),
            None if all.is_empty() => all.push_str("[it wrote nothing and succeeded]"),
            None => {}
        }
        all
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
    /// Joins results in order: all outputs, and the end of the last.
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

/// The bytes without an incomplete UTF-8 character at their end.
pub(crate) fn without_partial_character(bytes: &[u8]) -> &[u8] {
    // A character has at most four bytes.
    let tail = bytes.len().saturating_sub(4);
    for at in (tail..bytes.len()).rev() {
        let length = match bytes[at] {
            0x00..=0x7F => 1,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => continue,
        };
        return if bytes.len() - at < length { &bytes[..at] } else { bytes };
    }
    bytes
}

/// The name of a common signal; others by number.
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

/// Linux's signal numbers.
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
    fn a_cut_never_splits_a_character() {
        let whole = "aé€😀";
        for at in 0..=whole.len() {
            let shown = std::str::from_utf8(without_partial_character(&whole.as_bytes()[..at]));
            assert!(shown.is_ok_and(|shown| whole.starts_with(shown)), "{at}");
        }
        assert_eq!(without_partial_character(b"a\xFF"), b"a\xFF");
        assert_eq!(without_partial_character(whole.as_bytes()), whole.as_bytes());
    }

    #[test]
    fn omitted_bytes_are_marked_and_split_no_character() {
        let mut buffer = OutputBuffer::default();
        let (euro, smile) = ("€".as_bytes(), "😀".as_bytes());
        buffer.push(b"head");
        buffer.push(&euro[..2]);
        buffer.omit(7);
        buffer.push(&smile[2..]);
        buffer.push(b"tail");
        let written = CollectedOutput { stdout: buffer, ..CollectedOutput::default() };
        let end =
            ExecEnd { exit_code: Some(0), signal: None, truncated: true, timed_out: false, duration: Duration::ZERO };
        let result = RunResult::collected(&end, &written);
        assert_eq!(result.stdout, "head\n[… 7 bytes left out …]\ntail");
        assert_eq!((result.truncated, result.omitted_bytes, result.succeeded()), (true, Some(7), true));
        assert!(
            result.to_text().ends_with("[7 bytes in the middle of its output are left out]"),
            "{}",
            result.to_text()
        );
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
    fn the_text_has_the_end_if_it_is_notable() {
        assert_eq!(run(Some(0), None, "hi\n", "").to_text(), "hi\n");
        assert_eq!(run(Some(42), None, "hi", "oh").to_text(), "hi\n[stderr]\noh\n[exit code 42]");
        assert_eq!(run(None, Some(9), "", "").to_text(), "[ended by SIGKILL]");
        assert_eq!(run(None, Some(9), "", "").exit_code, 137);
        assert!(run(Some(0), None, "", "").to_text().contains("nothing"));
    }

    #[test]
    fn snippets_are_joined_in_order() {
        let joined = CodeResult::joined(vec![run(Some(0), None, "a\n", ""), run(Some(3), None, "b\n", "")]);
        assert_eq!((joined.whole.stdout.as_str(), joined.whole.exit_code, joined.whole.duration_ms), ("a\nb\n", 3, 10));
        assert_eq!(joined.snippets.map(|all| all.len()), Some(2));
    }
}
