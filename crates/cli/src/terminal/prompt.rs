//! Questions to the user at a terminal. Without a terminal there is no answer: input from a program is no consent.

use std::io::{self, BufRead, IsTerminal, Write, stderr, stdin};
use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error("interrupted")]
    Interrupted,
    #[error("the terminal cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Asks a yes-or-no question; `None` without a terminal.
pub fn confirm(question: &str) -> Result<Option<bool>, PromptError> {
    if !stdin().is_terminal() || !stderr().is_terminal() {
        return Ok(None);
    }
    eprint!("{question} [y/N] ");
    stderr().flush()?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")))
}

/// Asks for a value that is not echoed.
pub fn hidden(question: &str) -> Result<String, PromptError> {
    eprint!("{question} ");
    stderr().flush()?;
    let silence = Silence::begin()?;
    let typed = line(stdin().lock());
    drop(silence);
    eprintln!();
    typed
}

/// Switches off echo and line mode, and restores the terminal on drop. Ctrl-C then arrives as a key, so that the terminal is
/// restored before the program ends by it.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> io::Result<Self> {
        let input = stdin();
        let before = tcgetattr(input.as_fd())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(input.as_fd(), OptionalActions::Flush, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // If the terminal is gone there is nothing to restore.
        let _ = tcsetattr(stdin().as_fd(), OptionalActions::Now, &self.before);
    }
}

/// The typed line, with the editing keys applied.
fn line(input: impl BufRead) -> Result<String, PromptError> {
    let mut typed = Vec::new();
    for byte in input.bytes() {
        match byte? {
            b'\r' | b'\n' => break,
            // Ctrl-C, and Ctrl-D on an empty line.
            0x03 => return Err(PromptError::Interrupted),
            0x04 if typed.is_empty() => return Err(PromptError::Interrupted),
            0x04 => break,
            // Ctrl-U.
            0x15 => typed.clear(),
            // Backspace: all bytes of the last character.
            0x08 | 0x7f => while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            byte => typed.push(byte),
        }
    }
    String::from_utf8(typed).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> Option<String> {
        line(keys.as_bytes()).ok()
    }

    #[test]
    fn keys_do_what_people_expect() {
        assert_eq!(typed("abc\nd").as_deref(), Some("abc"));
        assert_eq!(typed("abö\x7f\x7fc\r").as_deref(), Some("ac"));
        assert_eq!(typed("wrong\x15right\n").as_deref(), Some("right"));
        assert_eq!(typed("\x7f\x7fa").as_deref(), Some("a"));
        assert_eq!(typed("a\x04b").as_deref(), Some("a"));
        assert_eq!(typed("a\x03"), None);
        assert_eq!(typed("\x04"), None);
    }
}
