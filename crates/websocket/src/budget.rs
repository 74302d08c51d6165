//! How much a connection may do before other connections are to have the thread. What a peer sends is cheap to send and may
//! be dear to understand, so what counts is the work: bytes read, frames begun, bytes decompressed.

/// Work of one poll: below a millisecond of bytes, a few where they are made to be dear.
const POLL: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

// === impl Budget ===

impl Budget {
    /// That of one poll.
    pub(crate) fn of_poll() -> Self {
        Self { left: POLL }
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
