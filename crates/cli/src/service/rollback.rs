//! Runs a program that an upgrade has started, and starts the previous program again if this one fails before it serves.
//!
//! Covered are errors and panics of the main thread until [`PendingRollback::commit`], which is called when the server is
//! ready. Not covered are ends that run no code of this program (a signal, `abort`, the kernel's OOM killer) and a start that
//! hangs: the process is the one that would have to start the previous program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::upgrade::{ReceivedState, Rollback, UpgradeState, UpgradeStateError};
use crate::terminal;

/// The rollback of an upgrade, until this program serves. Clones are the same.
#[derive(Clone, Default)]
pub struct PendingRollback(Arc<Mutex<Option<Rollback>>>);

impl PendingRollback {
    /// This program serves: closes what was kept for a rollback.
    pub fn commit(&self) {
        self.take();
    }

    fn take(&self) -> Option<Rollback> {
        // No code that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs `serve` with the state of the previous program, which is empty if there was none.
pub fn with_upgrade_state(
    serve: impl FnOnce(UpgradeState, PendingRollback) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some(received) = ReceivedState::take()? else {
        return serve(UpgradeState::default(), PendingRollback::default());
    };
    let pending = PendingRollback(Arc::new(Mutex::new(received.rollback()?)));
    let run = || serve(received.import()?, pending.clone());
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => match pending.take() {
            Some(rollback) => Err(roll_back(rollback, &terminal::chain(&error)).into()),
            None => Err(error),
        },
        Err(panic) => match pending.take() {
            Some(rollback) => Err(roll_back(rollback, &panic_text(&*panic)).into()),
            None => resume_unwind(panic),
        },
    }
}

/// For failures before `serve` runs. Returns if there is nothing to roll back, or if that fails.
pub fn roll_back_upgrade(reason: &str) {
    let rollback = ReceivedState::take().ok().flatten().and_then(|received| received.rollback().ok().flatten());
    if let Some(rollback) = rollback {
        eprintln!("hearth: {}", roll_back(rollback, reason));
    }
}

fn roll_back(rollback: Rollback, reason: &str) -> UpgradeStateError {
    eprintln!("hearth: the upgrade failed: {reason}; the previous program is started again");
    rollback.exec(reason)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("without a message"))
}
