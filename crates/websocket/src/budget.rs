//! How much work a connection may do before it yields to other connections. What a peer sends is cheap to send and may be
//! expensive to decode, so the work is counted: bytes read, frames begun, bytes decompressed.

/// The work of one poll: below a millisecond for usual bytes, a few milliseconds for hostile ones.
const POLL_BUDGET: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

// === impl Budget ===

impl Budget {
    /// The budget of one poll.
    pub(crate) fn for_poll() -> Self {
        Self { left: POLL_BUDGET }
    }

    pub(crate) fn unlimited() -> Self {
        Self { left: usize::MAX }
    }

    pub(crate) fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(work);
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0
    }
}
