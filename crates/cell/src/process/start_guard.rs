//! The start of a cell, until all of its threads exist. An error in this time must end the process: tokio panics when it cannot
//! start a thread, and its unwinding waits for the threads that were started before; a cell that hangs there would hold the
//! listeners and keep control waiting.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_ipc::fd_passing;
use hearth_jail::privileges;
use hearth_sys::memory;

use super::ProcessError;

/// Whether a panic on any thread ends the process.
static PANICS_ABORT: AtomicBool = AtomicBool::new(true);

/// A cell that has not finished its start.
pub(super) struct StartGuard(());

impl StartGuard {
    /// Must be called first, on the main thread, which lives as long as the process.
    pub(super) fn begin() -> Result<Self, ProcessError> {
        privileges::end_with_parent().map_err(ProcessError::Parent)?;
        memory::raise_oom_score();
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            if PANICS_ABORT.load(Ordering::Relaxed) {
                std::process::abort();
            }
        }));
        Ok(Self(()))
    }

    /// A parent that ended before [`Self::begin`] sends no parent-death signal.
    pub(super) fn check_parent(&self, socket: &UnixStream) -> Result<(), ProcessError> {
        let control = fd_passing::creator_pid(socket).map_err(ProcessError::NoControl)?;
        if std::os::unix::process::parent_id() == control { Ok(()) } else { Err(ProcessError::Orphaned) }
    }

    /// From now on the end of the socket shows that control is gone.
    pub(super) fn release_parent(&self) -> Result<(), ProcessError> {
        privileges::outlive_parent().map_err(ProcessError::Parent)
    }

    /// All threads exist, and each of them handles its own panics.
    pub(super) fn finish(self) {
        PANICS_ABORT.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};

    use super::*;

    const SIGABRT: i32 = 6;
    /// Tells the test below that it runs as the child, and whether the cell is ready there.
    const CHILD: &str = "HEARTH_TEST_START";

    /// Not a test by itself: the process of `a_panic_ends_a_cell_until_it_is_ready`. It catches its panic, as a runtime does.
    #[test]
    fn a_cell_that_panics() {
        let Ok(phase) = std::env::var(CHILD) else { return };
        let start_guard = StartGuard::begin().unwrap();
        if phase == "ready" {
            start_guard.finish();
        }
        let panicked = std::thread::spawn(|| panic!("no more threads")).join();
        assert!(panicked.is_err());
    }

    fn child(phase: &str) -> ExitStatus {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "process::start_guard::tests::a_cell_that_panics"]).env(CHILD, phase);
        child.output().unwrap().status
    }

    #[test]
    fn a_panic_ends_a_cell_until_it_is_ready() {
        assert_eq!(child("starting").signal(), Some(SIGABRT));
        assert!(child("ready").success());
    }
}
