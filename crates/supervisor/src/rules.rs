//! The operator's settings for the number and the supervision of cells.

use std::time::Duration;

use hearth_config::OperatorConfig;
use hearth_core::ByteSize;

use super::cordon::OwnerIsolation;
use super::reconcile::DesiredCells;

/// Default share of the machine's memory that all cells together may use.
const DEFAULT_MEMORY_PERCENT: u64 = 80;
const DEFAULT_STUCK_LIMIT: Duration = Duration::from_secs(5);
const DEFAULT_HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(1_500);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRules {
    pub cells: usize,
    pub standby: usize,
    /// A cell with a turn that is stuck for longer is replaced.
    pub stuck_limit: Duration,
    /// A cell that neither answers nor works for longer is frozen.
    pub heartbeat_timeout: Duration,
    /// A cell with a larger resident size is replaced.
    pub memory: Option<ByteSize>,
    pub owners: OwnerIsolation,
}

impl CellRules {
    pub fn new(operator: &OperatorConfig) -> Self {
        let cells = operator.cells.map_or(1, usize::from);
        Self {
            cells,
            standby: operator.standby.map_or(1, usize::from),
            stuck_limit: operator.stuck_limit.unwrap_or(DEFAULT_STUCK_LIMIT),
            heartbeat_timeout: operator.heartbeat_timeout.unwrap_or(DEFAULT_HEARTBEAT_TIMEOUT),
            memory: operator.cell_memory.or_else(|| share_of_machine(cells)),
            owners: if operator.isolate_owners == Some(true) {
                OwnerIsolation::Separate
            } else {
                OwnerIsolation::Shared
            },
        }
    }

    pub(super) fn desired(&self) -> DesiredCells {
        DesiredCells { cells: self.cells, standby: self.standby }
    }
}

fn share_of_machine(cells: usize) -> Option<ByteSize> {
    let bytes = hearth_sys::memory::available()? / 100 * DEFAULT_MEMORY_PERCENT;
    Some(ByteSize(bytes / cells.max(1) as u64))
}
