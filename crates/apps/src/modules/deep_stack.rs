//! Stacks for deep recursion. Parser, transformer, printer and the tree walks of this crate recurse
//! with the nesting of the source and have no guard: enough opening brackets would overflow the
//! stack, which ends the process.
//!
//! Depth cannot be determined without parsing, but it is at most the number of tokens that can open
//! a level, which can be counted: operators, brackets, and words that take an operand (strings and
//! comments are counted like code, which only increases the bound). Each file is therefore
//! processed on a thread of its own, whose stack is that number times the measured maximum per
//! level. Such a stack costs address space; memory is used only as deep as the code really nests.
//! Files that need more than [`MAX_STACK`] are refused, since hostile code could use all of it;
//! that is at about 2.8 million operators, ten megabytes of minified code.
//!
//! Time has no such bound: for some TypeScript, oxc (as tsc) tries two readings at each level, so
//! that forty levels of `(a=null<` take hours. A thread cannot be stopped: after [`DEADLINE`] the
//! file is refused and the thread keeps running, which the supervisor must know (cells are replaced
//! if they are busy without requests).
//!
//! A panic on the thread (a bug in oxc) becomes an error of that file.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The stack per level: at most 1.1 KiB (3 KiB without optimisation) over some 250 kinds of
/// nesting, and a margin.
const PER_LEVEL: usize = if cfg!(debug_assertions) { 6 << 10 } else { 3 << 9 };
const BASE: usize = 1 << 20;
/// Ordinary files need some megabytes.
const MAX_STACK: usize = if cfg!(debug_assertions) { 12 << 30 } else { 4 << 30 };
/// Megabytes of source take less than a second.
const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// The source could nest too deeply.
    Source {
        tokens: usize,
        limit: usize,
    },
    /// The system could not create a thread.
    Thread(String),
    Deadline(Duration),
    Panic,
}

/// Runs `work`, which recurses with the nesting of `source`, on a sufficient stack.
pub(super) fn with_room<T>(source: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<T, NoRoom>
where
    T: Send + 'static,
{
    within(DEADLINE, source, work)
}

fn within<T>(time: Duration, source: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<T, NoRoom>
where
    T: Send + 'static,
{
    let tokens = nesting_bound(source);
    let stack = BASE + tokens.saturating_mul(PER_LEVEL);
    if stack > MAX_STACK {
        return Err(NoRoom::Source { tokens, limit: (MAX_STACK - BASE) / PER_LEVEL });
    }
    let (send, receive) = mpsc::sync_channel(1);
    let builder = thread::Builder::new().name("transpile".into()).stack_size(stack);
    // The receiver is gone only after the deadline.
    let thread = builder.spawn(move || drop(send.send(work())));
    thread.map_err(|error| NoRoom::Thread(error.to_string()))?;
    receive.recv_timeout(time).map_err(|error| match error {
        RecvTimeoutError::Timeout => NoRoom::Deadline(time),
        RecvTimeoutError::Disconnected => NoRoom::Panic,
    })
}

/// At least the depth of the source's syntax tree.
fn nesting_bound(source: &str) -> usize {
    let bytes = source.as_bytes();
    let (mut count, mut at) = (0, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80 {
            let start = at;
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'$')) {
                at += 1;
            }
            count += usize::from(takes_operand(&bytes[start..at]));
            at = at.max(start + 1);
        } else {
            count += usize::from(byte.is_ascii_punctuation() && !matches!(byte, b',' | b';' | b'"' | b'\''));
            at += 1;
        }
    }
    count
}

/// Words that can stand before another expression, statement or type without punctuation between.
fn takes_operand(word: &[u8]) -> bool {
    matches!(
        word,
        b"new"
            | b"await"
            | b"typeof"
            | b"void"
            | b"yield"
            | b"delete"
            | b"do"
            | b"in"
            | b"of"
            | b"instanceof"
            | b"as"
            | b"satisfies"
            | b"keyof"
            | b"readonly"
            | b"unique"
            | b"infer"
            | b"class"
            | b"extends"
            | b"else"
            | b"async"
            | b"is"
            | b"asserts"
            | b"abstract"
            | b"return"
            | b"throw"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        assert_eq!(nesting_bound("a, 'b'; cä"), 0);
        assert_eq!(nesting_bound("((!x))"), 5);
        assert_eq!(nesting_bound("new new renew typeof$ x"), 2);
    }

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        assert_eq!(with_room("", || panic!("as expected")), Err::<(), _>(NoRoom::Panic));
        assert_eq!(with_room("", || 7), Ok(7));
    }

    #[test]
    fn the_deadline_holds() {
        let time = Duration::from_millis(10);
        assert_eq!(within(time, "", || thread::sleep(Duration::from_secs(2))), Err(NoRoom::Deadline(time)));
    }
}
