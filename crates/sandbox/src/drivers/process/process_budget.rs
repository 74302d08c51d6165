//! Budget for the processes of all sandboxes, where the server's own control group limits
//! processes: a part of it is the server's own, so that cells that are lost can be replaced
//! whatever runs in sandboxes.
//!
//! Each sandbox gets at most a quarter of what is left, so the first ones do not take it all, and
//! none gets fewer than interpreters need: the sandbox is refused instead.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::driver::BootError;

/// Enough for spare interpreters and one program of node's.
const MIN_PROCESSES: u32 = 48;

pub(super) struct ProcessBudget {
    /// `None`: the server is not limited.
    size: Option<u32>,
    /// The share of a sandbox where there is enough.
    most: u32,
    taken: Mutex<u32>,
}

/// A sandbox's share of the budget. Returned when dropped.
pub(super) struct ProcessShare {
    budget: Arc<ProcessBudget>,
    processes: u32,
}

// === impl ProcessBudget ===

impl ProcessBudget {
    /// `free`: the tasks that the server's control group allows beside those that exist.
    pub(super) fn new(free: Option<u32>, most: u32) -> Arc<Self> {
        Arc::new(Self { size: free.map(|free| free - free / 4), most, taken: Mutex::default() })
    }

    pub(super) fn reserve(self: &Arc<Self>) -> Result<ProcessShare, BootError> {
        let mut taken = self.lock();
        let processes = match self.size {
            None => self.most,
            Some(size) => {
                let left = size.saturating_sub(*taken);
                if left < MIN_PROCESSES {
                    return Err(BootError {
                        reason: format!(
                            "{taken} of the {size} processes are taken that the server's own control group leaves to all \
                             sandboxes: destroy one, or raise the limit (pids.max; TasksMax= of the service)"
                        ),
                    });
                }
                (left / 4).clamp(MIN_PROCESSES, self.most)
            }
        };
        *taken += processes;
        drop(taken);
        Ok(ProcessShare { budget: self.clone(), processes })
    }

    /// For an imported sandbox, which has its share already.
    pub(super) fn import(self: &Arc<Self>, processes: u32) -> ProcessShare {
        *self.lock() += processes;
        ProcessShare { budget: self.clone(), processes }
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ProcessShare ===

impl ProcessShare {
    pub(super) fn processes(&self) -> u32 {
        self.processes
    }
}

impl Drop for ProcessShare {
    fn drop(&mut self) {
        *self.budget.lock() -= self.processes;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_each_gets_all() {
        let budget = ProcessBudget::new(None, 512);
        let shares: Vec<_> = (0..1_000).map(|_| budget.reserve().unwrap()).collect();
        assert!(shares.iter().all(|share| share.processes() == 512));
    }

    #[test]
    fn a_quarter_stays_the_servers_own_and_what_is_given_back_can_be_had_again() {
        let budget = ProcessBudget::new(Some(840), 128);
        let mut shares = Vec::new();
        let refused = loop {
            match budget.reserve() {
                Ok(share) => shares.push(share),
                Err(error) => break error,
            }
        };
        let given: Vec<_> = shares.iter().map(ProcessShare::processes).collect();
        assert_eq!(given, [128, 125, 94, 70, 53, 48, 48, 48]);
        assert!(given.iter().sum::<u32>() <= 630);
        assert!(refused.reason.contains("614 of the 630") && refused.reason.contains("TasksMax"), "{refused}");
        drop(shares.pop());
        assert_eq!(budget.reserve().unwrap().processes(), 48);
        let _adopted = budget.import(512);
        assert!(budget.reserve().is_err());
        drop(shares);
        assert_eq!(budget.reserve().unwrap().processes(), 48, "what was left by the program before counts");
    }
}
