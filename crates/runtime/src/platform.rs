//! V8 itself: started once per process, on the main thread, before any thread that will enter an isolate.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_crash::breadcrumbs::Breadcrumbs;

use crate::memory_accounting::{self, MemoryBudget};
use crate::scheduler::lower_priority;
use crate::watchdog::{self, StuckObserver};

/// Flags that hold for every isolate. Each is here for a reason:
/// - loop unrolling loses interrupt checks in some optimised loops, which then can never be terminated;
/// - V8's page pool is one for the whole process: a thread that needs a page waits while a destroyed
///   isolate's pages are released, one by one under a lock, for tens of milliseconds (p99 of a fast app
///   beside a memory bomb: 10 to 30 ms, without the pool 1 to 2);
/// - garbage is collected by the thread that makes it: a thread would wait for V8's own thread, which slow
///   apps keep busy, and no app would be charged;
/// - apps have no shared memory (`js/globals.js`), so V8 need not add it to each context;
/// - the stack limit is well below the threads' own, so that deep recursion is a RangeError, never a fault.
const FLAGS: &str = "--no-turboshaft-loop-unrolling --no-memory-pool --single-threaded-gc --stack-size=864 \
    --enable-sharedarraybuffer-per-context --no-js-atomics-pause";

/// V8's shared library maps the file beside it and ignores these bytes.
#[cfg(v8_shared)]
const ICU_DATA: &[u8] = &[];
#[cfg(not(v8_shared))]
const ICU_DATA: &[u8] = deno_core_icudata::ICU_DATA;

/// The versions of V8 whose source was read for what `isolate.rs` and `current_isolate.rs` rely on: the one
/// of the package registries, and the `v8` crate's own.
const KNOWN_VERSIONS: [&str; 2] = ["14.4.258.23", "14.5.201.2"];

/// Proof that V8 is running.
#[derive(Clone, Copy, Debug)]
pub struct Platform(());

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    #[error("ICU's data could not be loaded")]
    Icu,
    #[error("this is V8 {found}, and isolates are entered in a way that was only checked with V8 {}", KNOWN_VERSIONS.join(" and "))]
    Version { found: &'static str },
}

/// What `--stack-size` above says, in bytes.
pub(crate) const V8_STACK: usize = 864 << 10;

/// The stack that a thread which enters isolates must have, so that V8's limit (see `FLAGS`) is reached first.
pub const THREAD_STACK: usize = 4 << 20;

impl Platform {
    /// Starts V8, or returns the platform that is running already.
    pub fn init() -> Result<Self, PlatformError> {
        static STARTED: OnceLock<Result<(), PlatformError>> = OnceLock::new();
        STARTED.get_or_init(start).map(|()| Platform(()))
    }

    /// Loads what V8 reads from files, and starts nothing. For processes that may open no files any more when
    /// they call [`Platform::init`].
    pub fn load() -> Result<(), PlatformError> {
        static LOADED: OnceLock<Result<(), PlatformError>> = OnceLock::new();
        let load = || v8::icu::set_common_data_77(ICU_DATA).map_err(|_| PlatformError::Icu);
        *LOADED.get_or_init(load)
    }

    /// The size that a heap may grow to before its first collection; 0 is V8's own choice. For every isolate,
    /// and only before [`Platform::init`].
    pub fn set_initial_heap(size: ByteSize) {
        let megabytes = size.bytes() >> 20;
        if megabytes > 0 {
            v8::V8::set_flags_from_string(&format!("--initial-heap-size={megabytes}"));
        }
    }

    /// Sets the memory budget of all isolates together. The first call counts.
    ///
    /// This and the next three hold for the whole process, as V8 does, and may be called before
    /// [`Platform::init`].
    pub fn set_memory_budget(budget: MemoryBudget) {
        memory_accounting::set_memory_budget(budget);
    }

    /// Puts the breadcrumbs into `page`, which outlives this process. Threads that already run JavaScript
    /// keep theirs.
    pub fn set_breadcrumbs(page: Arc<Breadcrumbs>) {
        watchdog::set_breadcrumbs(page);
    }

    /// Sets how much CPU time a turn may use after its termination before it is stuck. The first call counts.
    pub fn set_stuck_grace(grace: Duration) {
        watchdog::set_stuck_grace(grace);
    }

    /// Calls `observer` at the beginning of each stuck turn, on the watchdog's thread, and at its end, on
    /// the turn's own.
    pub fn set_stuck_observer(observer: StuckObserver) {
        watchdog::set_stuck_observer(observer);
    }

    /// V8's version, such as `14.4.258.23`.
    pub fn v8_version() -> &'static str {
        v8::V8::get_version()
    }
}

/// Ignores what the crate's own build appends, such as `-rusty`.
fn check_version(found: &'static str) -> Result<(), PlatformError> {
    let number = found.split_once('-').map_or(found, |(number, _)| number);
    if KNOWN_VERSIONS.contains(&number) { Ok(()) } else { Err(PlatformError::Version { found }) }
}

fn start() -> Result<(), PlatformError> {
    check_version(Platform::v8_version())?;
    Platform::load()?;
    v8::V8::set_flags_from_string(FLAGS);
    // A few bytes for each isolate. Left to itself V8 opens /dev/urandom for them and reads a page.
    v8::V8::set_entropy_source(|bytes| getrandom::fill(bytes).is_ok());
    // V8's own thread works mostly for slow apps and must not delay fast ones: a thread has the priority of
    // the thread that started it. On processors with memory protection keys, the platform allocates one for
    // V8's code here, which gives this thread and V8's own the right to read. The main thread gets it in
    // `initialize` below, where V8 opens and closes its first scope for writing with that key; threads that
    // are started later inherit it.
    let make = || {
        lower_priority();
        v8::new_default_platform(1, false).make_shared()
    };
    let platform = std::thread::spawn(make).join().expect("making a platform does not panic");
    v8::V8::initialize_platform(platform);
    v8::V8::initialize();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_that_were_checked_are_started() {
        assert_eq!(check_version("14.5.201.2-rusty"), Ok(()));
        assert_eq!(check_version("14.4.258.23"), Ok(()));
        let refused = check_version("14.4.258.24").expect_err("its source was not read");
        assert_eq!(
            refused.to_string(),
            "this is V8 14.4.258.24, and isolates are entered in a way that was only checked with V8 14.4.258.23 and 14.5.201.2"
        );
        assert!(check_version("14.4.258.233").is_err());
        assert_eq!(check_version(Platform::v8_version()), Ok(()), "the one that is linked");
    }
}
