//! Attribution of the end of V8's cage. The heaps of all isolates lie in one cage of 4 GiB; when it is
//! full, V8 ends the process on the thread that allocates next, however little. So the cause is the owner
//! that holds the most, not the app that happens to run.
//!
//! V8 reports a full cage and an isolate at its own limit in the same way. They are told apart by the
//! place in V8 that reports, by how much all isolates hold, and by how much of it is one owner's. The
//! accounting lacks what is being allocated at the moment, so the cage may be full from the pressure mark
//! on. In doubt the running app is the culprit: an app that wants others blamed finds few owners that are
//! large enough, and those are served on in cells of their own. The creation of an isolate belongs to no
//! app: when it fails, the cage is full, or the machine.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_core::ByteSize;
use hearth_crash::breadcrumbs::{AppRef, Attribution};

use crate::memory_accounting::{self, MemoryPressure, UsageOwner};

/// A quarter of the cage: an owner that holds less has not filled it.
const MIN_CULPRIT_SIZE: ByteSize = ByteSize(1 << 30);

/// V8's messages for an isolate that is at its own limit, or that asked for more than any isolate can have.
const OWN_LIMIT_MESSAGES: [&str; 4] =
    ["Reached heap limit", "Ineffective mark-compacts near heap limit", "invalid table size", "invalid array length"];

/// V8 has found no memory, for a reason that may be the cage.
static OUT_OF_MEMORY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CREATING_ISOLATE: Cell<bool> = const { Cell::new(false) };
}

/// This thread creates an isolate, until this is dropped.
pub(crate) struct CreatingIsolate(());

/// Why the process ends, as far as it concerns the cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// V8 found no memory.
    OutOfMemory,
    /// An isolate could not be created.
    CreatingIsolate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Culprit {
    Runner,
    Holder,
    NoApp,
}

/// Reports which app caused the crash of the calling thread. Allocates nothing and waits for a bounded
/// time: it may be called in a signal handler.
pub fn attribute_oom(report: &mut dyn FnMut(Attribution<'_>)) {
    let reason = match (CREATING_ISOLATE.get(), OUT_OF_MEMORY.load(Ordering::Acquire)) {
        (true, _) => Cause::CreatingIsolate,
        (false, true) => Cause::OutOfMemory,
        // Nothing to look up, and a standby process waits to take over.
        (false, false) => return report(Attribution::Runner),
    };
    memory_accounting::with_largest_holder(|largest| {
        let held = largest.map_or(ByteSize(0), |(_, held)| held);
        match (culprit_of(reason, memory_accounting::pressure(), held), largest) {
            (Culprit::Holder, Some((UsageOwner { app, version, owner }, held))) => {
                let holder = AppRef { app: app.as_str(), version: version.as_str(), owner: owner.as_str() };
                report(Attribution::Holder { app: holder, bytes: held.bytes() });
            }
            (Culprit::NoApp, _) => report(Attribution::NoApp),
            (Culprit::Runner | Culprit::Holder, _) => report(Attribution::Runner),
        }
    });
}

/// `largest` is what one owner has of all heaps.
fn culprit_of(reason: Cause, pressure: MemoryPressure, largest: ByteSize) -> Culprit {
    match (reason, pressure) {
        (_, MemoryPressure::High) if largest >= MIN_CULPRIT_SIZE => Culprit::Holder,
        (Cause::OutOfMemory, _) => Culprit::Runner,
        (Cause::CreatingIsolate, _) => Culprit::NoApp,
    }
}

/// Installs Hearth's handler of V8's out-of-memory errors.
pub(crate) fn install_oom_handler(isolate: &mut v8::Isolate) {
    isolate.set_oom_error_handler(out_of_memory);
}

/// V8 ends the process after this: its usual message is written here.
unsafe extern "C" fn out_of_memory(location: *const c_char, details: &v8::OomDetails) {
    // SAFETY: demands a text that ends with a zero: V8 passes one of its own.
    let location = unsafe { CStr::from_ptr(location) }.to_string_lossy();
    let kind = if details.is_heap_oom { "JavaScript" } else { "process" };
    // A failed write cannot be reported any more.
    let _ = writeln!(std::io::stderr(), "\n#\n# Fatal {kind} out of memory: {location}\n#");
    if !OWN_LIMIT_MESSAGES.contains(&&*location) {
        OUT_OF_MEMORY.store(true, Ordering::Release);
    }
    std::process::abort();
}

// === impl Making ===

impl CreatingIsolate {
    pub(crate) fn begin() -> Self {
        CREATING_ISOLATE.set(true);
        Self(())
    }
}

impl Drop for CreatingIsolate {
    fn drop(&mut self) {
        CREATING_ISOLATE.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cage_is_attributed_to_the_largest_holder_alone() {
        let (large, small) = (ByteSize(2 << 30), ByteSize::mb(128));
        assert_eq!(culprit_of(Cause::OutOfMemory, MemoryPressure::High, large), Culprit::Holder);
        assert_eq!(
            culprit_of(Cause::OutOfMemory, MemoryPressure::High, small),
            Culprit::Runner,
            "none of many small ones has filled it"
        );
        assert_eq!(
            culprit_of(Cause::OutOfMemory, MemoryPressure::Low, large),
            Culprit::Runner,
            "it asked for more than it may have"
        );
        assert_eq!(culprit_of(Cause::CreatingIsolate, MemoryPressure::High, large), Culprit::Holder);
        assert_eq!(culprit_of(Cause::CreatingIsolate, MemoryPressure::High, small), Culprit::NoApp);
        assert_eq!(
            culprit_of(Cause::CreatingIsolate, MemoryPressure::Low, large),
            Culprit::NoApp,
            "the machine has no more"
        );
    }

    #[test]
    fn the_running_app_is_blamed_unless_an_isolate_is_being_created() {
        let reported = || {
            let mut text = String::new();
            attribute_oom(&mut |attribution| text = format!("{attribution:?}"));
            text
        };
        assert_eq!(reported(), "Runner");
        let creating = CreatingIsolate::begin();
        assert_eq!(reported(), "NoApp");
        drop(creating);
        assert_eq!(reported(), "Runner");
    }
}
