//! The end of V8's cage. The heaps of all isolates lie in one cage of 4 GiB; when that is full, V8 ends the process on whichever
//! thread asks next, for however little. So it is the doing of who holds the most, and not of who asked.
//!
//! V8 says the same when a cage is full and when an isolate has come to its own limit. What tells them apart is where in V8 it was
//! noticed, how much all hold together, and how much of it is one owner's. The ledger does not know what is just being taken, so
//! the cage may be full from the mark of pressure on. In doubt it was who asked: who has others blamed finds few of them large
//! enough, and these are served on in cells of their own. To make an isolate is nobody's work: who fails at it has found the
//! cage full, or the machine.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_core::ByteSize;
use hearth_jail::breadcrumbs::{AppRef, Attribution};

use crate::ledger::{self, Crowd, Whose};

/// An owner that holds less than a quarter of it has not filled it.
const LARGE: ByteSize = ByteSize(1 << 30);

/// What V8 says about an isolate that has used up what it may have itself, or asked for what nobody can have.
const OWN_DOING: [&str; 4] =
    ["Reached heap limit", "Ineffective mark-compacts near heap limit", "invalid table size", "invalid array length"];

/// V8 has found no memory, for a reason that may be the cage.
static SHORTAGE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

/// This thread makes an isolate, until it is dropped.
pub(crate) struct Making(());

/// Why the process ends, as far as it concerns the cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// V8 found no memory.
    Shortage,
    /// An isolate could not be made.
    Making,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Runner,
    Holder,
    Nobody,
}

/// Says whose doing it is that the calling thread crashes. Allocates nothing and waits for nobody for long: it may be called
/// in a signal handler.
pub fn blame(tell: &mut dyn FnMut(Attribution<'_>)) {
    let cause = match (MAKING.get(), SHORTAGE.load(Ordering::Acquire)) {
        (true, _) => Cause::Making,
        (false, true) => Cause::Shortage,
        // Nothing to look up: somebody waits to take over.
        (false, false) => return tell(Attribution::Runner),
    };
    ledger::with_largest_holder(|largest| {
        let held = largest.map_or(ByteSize(0), |(_, held)| held);
        match (judge(cause, ledger::crowd(), held), largest) {
            (Verdict::Holder, Some((Whose { app, version, owner }, held))) => {
                let who = AppRef { app: app.as_str(), version: version.as_str(), owner: owner.as_str() };
                tell(Attribution::Holder { app: who, bytes: held.bytes() });
            }
            (Verdict::Nobody, _) => tell(Attribution::NoApp),
            (Verdict::Runner | Verdict::Holder, _) => tell(Attribution::Runner),
        }
    });
}

/// `largest` is what one owner has of all heaps.
fn judge(cause: Cause, crowd: Crowd, largest: ByteSize) -> Verdict {
    match (cause, crowd) {
        (_, Crowd::Pressing) if largest >= LARGE => Verdict::Holder,
        (Cause::Shortage, _) => Verdict::Runner,
        (Cause::Making, _) => Verdict::Nobody,
    }
}

/// Has V8 say why it ends to us, too.
pub(crate) fn attend(isolate: &mut v8::Isolate) {
    isolate.set_oom_error_handler(out_of_memory);
}

/// V8 ends the process after this: what it would have written is written here.
unsafe extern "C" fn out_of_memory(location: *const c_char, details: &v8::OomDetails) {
    // SAFETY: demands a text that ends with a zero: V8 passes one of its own.
    let location = unsafe { CStr::from_ptr(location) }.to_string_lossy();
    let kind = if details.is_heap_oom { "JavaScript" } else { "process" };
    // Nobody is left to be told that it cannot be written.
    let _ = writeln!(std::io::stderr(), "\n#\n# Fatal {kind} out of memory: {location}\n#");
    if !OWN_DOING.contains(&&*location) {
        SHORTAGE.store(true, Ordering::Release);
    }
    std::process::abort();
}

// === impl Making ===

impl Making {
    pub(crate) fn begin() -> Self {
        MAKING.set(true);
        Self(())
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cage_is_the_largest_holders_doing_and_nothing_else_is() {
        let (large, small) = (ByteSize(2 << 30), ByteSize::mb(128));
        assert_eq!(judge(Cause::Shortage, Crowd::Pressing, large), Verdict::Holder);
        assert_eq!(judge(Cause::Shortage, Crowd::Pressing, small), Verdict::Runner, "of many nobody has filled it");
        assert_eq!(judge(Cause::Shortage, Crowd::Roomy, large), Verdict::Runner, "it asked for more than it may have");
        assert_eq!(judge(Cause::Making, Crowd::Pressing, large), Verdict::Holder);
        assert_eq!(judge(Cause::Making, Crowd::Pressing, small), Verdict::Nobody);
        assert_eq!(judge(Cause::Making, Crowd::Roomy, large), Verdict::Nobody, "the machine has no more");
    }

    #[test]
    fn who_runs_is_to_blame_unless_an_isolate_is_being_made() {
        let told = || {
            let mut said = String::new();
            blame(&mut |blame| said = format!("{blame:?}"));
            said
        };
        assert_eq!(told(), "Runner");
        let making = Making::begin();
        assert_eq!(told(), "Nobody");
        drop(making);
        assert_eq!(told(), "Runner");
    }
}
