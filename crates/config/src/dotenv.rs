//! `.env`: lines of `NAME=value`, with the conventions of shells and common tools.
//!
//! - `export ` before a name is allowed; `#` begins a comment at the start of a line or after a
//!   blank.
//! - An unquoted value ends with its line; surrounding blanks are not part of it.
//! - In `'single quotes'` all characters are literal, on one line. In `"double quotes"` `\n`, `\r`,
//!   `\t`, `\\`, `\"`, `\'` and `\$` stand for one character, other backslashes are literal, and
//!   the value may span lines.
//! - `$NAME` is not expanded.
//! - Of two equal names the last one counts.

use std::path::Path;

use hearth_core::ByteSize;

use crate::error::{ConfigErrors, ConfigProblem, Position};
use crate::fields::Fault;
use crate::settings::Env;
use crate::yaml::MAX_FILE_SIZE;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DotenvError {
    #[error("there is no = in this line: write NAME=value")]
    NoEquals,
    /// The text is not shown: it may be a part of a secret that lost its quotes.
    #[error("what stands before the = is not a name: write letters, digits and _, beginning with no digit")]
    Name,
    #[error("this {0} is never closed")]
    Unclosed(char),
    #[error("there is something after the closing quote: put all of the value in quotes, or none")]
    AfterQuote,
    #[error("a value cannot have a NUL character")]
    Nul,
}

/// `file` is named in errors; the file is not read.
pub fn parse_dotenv(text: &str, file: &Path) -> Result<Env, ConfigErrors> {
    let size = ByteSize(text.len() as u64);
    let (mut env, mut faults) = (Env::new(), Vec::new());
    if size > MAX_FILE_SIZE {
        faults.push(Fault::at(Position::START, ConfigProblem::TooLarge { size, limit: MAX_FILE_SIZE }));
    } else {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let mut cursor = Cursor { rest: &text, at: Position::START };
        while let Some(entry) = cursor.entry() {
            match entry {
                Ok((name, value)) => drop(env.insert(name, value)),
                Err(fault) => {
                    let unclosed = matches!(fault.problem, ConfigProblem::Dotenv(DotenvError::Unclosed('"')));
                    faults.push(fault);
                    if unclosed {
                        // After an error the parser cannot know where the value ends.
                        break;
                    }
                    cursor.line();
                }
            }
        }
    }
    ConfigErrors::from_faults(file, faults).map_or(Ok(env), Err)
}

struct Cursor<'a> {
    rest: &'a str,
    at: Position,
}

// === impl Cursor ===

impl<'a> Cursor<'a> {
    /// The next pair, after comments and empty lines.
    fn entry(&mut self) -> Option<Result<(String, String), Fault>> {
        loop {
            self.skip(char::is_whitespace);
            if !self.rest.starts_with('#') {
                break;
            }
            self.line();
        }
        (!self.rest.is_empty()).then(|| self.pair())
    }

    fn pair(&mut self) -> Result<(String, String), Fault> {
        let at = self.at;
        let end = self.rest.find(['=', '\n']).unwrap_or(self.rest.len());
        if !self.rest[end..].starts_with('=') {
            return Err(Fault::at(at, DotenvError::NoEquals.into()));
        }
        let head = self.take(end).trim_end();
        self.take(1);
        let name = match head.strip_prefix("export") {
            Some(name) if name.starts_with([' ', '\t']) => name.trim_start(),
            _ => head,
        };
        let wrong = |error: DotenvError| Fault { at, key: String::new(), problem: error.into() };
        if !is_name(name) {
            return Err(wrong(DotenvError::Name));
        }
        let value = self.value().map_err(|fault| fault.under(name))?;
        if value.contains('\0') { Err(wrong(DotenvError::Nul).under(name)) } else { Ok((name.to_owned(), value)) }
    }

    fn value(&mut self) -> Result<String, Fault> {
        let before = self.rest.len();
        self.skip(|c| c != '\n' && c.is_whitespace());
        let after_blank = self.rest.len() < before;
        let value = match self.rest.chars().next() {
            Some('"') => self.double_quoted()?,
            Some('\'') => self.single_quoted()?,
            Some('#') if after_blank => String::new(),
            _ => return Ok(unquoted(self.line()).to_owned()),
        };
        let at = self.at;
        match self.line().trim_start() {
            rest if rest.is_empty() || rest.starts_with('#') => Ok(value),
            _ => Err(Fault::at(at, DotenvError::AfterQuote.into())),
        }
    }

    fn single_quoted(&mut self) -> Result<String, Fault> {
        match self.rest[1..].find(['\'', '\n']).map(|end| end + 1) {
            Some(end) if self.rest[end..].starts_with('\'') => Ok(self.take(end + 1)[1..end].to_owned()),
            _ => Err(Fault::at(self.at, DotenvError::Unclosed('\'').into())),
        }
    }

    fn double_quoted(&mut self) -> Result<String, Fault> {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.take(at + 1);
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, same @ ('\\' | '"' | '\'' | '$'))) => value.push(same),
                    Some((_, other)) => value.extend(['\\', other]),
                    None => {}
                },
                c => value.push(c),
            }
        }
        Err(Fault::at(self.at, DotenvError::Unclosed('"').into()))
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.take(self.rest.find(|c| !skipped(c)).unwrap_or(self.rest.len()));
    }

    /// The rest of the line, without its end.
    fn line(&mut self) -> &'a str {
        self.take(self.rest.find('\n').unwrap_or(self.rest.len()))
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        for c in taken.chars() {
            self.at = match c {
                '\n' => Position { line: self.at.line + 1, column: 1 },
                _ => Position { column: self.at.column + 1, ..self.at },
            };
        }
        self.rest = rest;
        taken
    }
}

fn unquoted(line: &str) -> &str {
    let comment =
        line.char_indices().zip(line.chars().skip(1)).find(|((_, c), next)| c.is_whitespace() && *next == '#');
    line[..comment.map_or(line.len(), |((at, _), _)| at)].trim_end()
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit() || matches!(c, '.' | '-'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "dotenv/tests.rs"]
mod tests;
