//! How many cells there are, and what is asked of them.

use std::time::Duration;

use hearth_config::OperatorConfig;
use hearth_core::ByteSize;

use super::cordon::Owners;
use super::steps::Wanted;

/// What a cell may have of the memory that there is, where nobody says otherwise: the rest is for everybody else.
const MEMORY_PERCENT: u64 = 80;
const STUCK_LIMIT: Duration = Duration::from_secs(5);
const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(1_500);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRules {
    pub cells: usize,
    pub standby: usize,
    /// A cell in which a turn is stuck for longer is replaced.
    pub stuck_limit: Duration,
    /// A cell that does not answer for longer, and does not work either, is frozen.
    pub heartbeat_timeout: Duration,
    /// A cell whose process is larger is replaced.
    pub memory: Option<ByteSize>,
    pub owners: Owners,
}

impl CellRules {
    pub fn new(operator: &OperatorConfig) -> Self {
        let cells = operator.cells.map_or(1, usize::from);
        Self {
            cells,
            standby: operator.standby.map_or(1, usize::from),
            stuck_limit: operator.stuck_limit.unwrap_or(STUCK_LIMIT),
            heartbeat_timeout: operator.heartbeat_timeout.unwrap_or(HEARTBEAT_TIMEOUT),
            memory: operator.cell_memory.or_else(|| share_of_machine(cells)),
            owners: if operator.isolate_owners == Some(true) { Owners::Apart } else { Owners::Together },
        }
    }

    pub(super) fn wanted(&self) -> Wanted {
        Wanted { cells: self.cells, standby: self.standby }
    }
}

fn share_of_machine(cells: usize) -> Option<ByteSize> {
    let bytes = hearth_jail::memory::available()? / 100 * MEMORY_PERCENT;
    Some(ByteSize(bytes / cells.max(1) as u64))
}
