//! The request that this thread runs, as its client knows it. A crash handler reads it, so that
//! turns that end well need not write it down.

use std::cell::Cell;
use std::rc::Rc;

use crate::context_state::ContextState;

thread_local! {
    /// The state of the running turn. Null between turns.
    static RUNNING: Cell<*const ContextState> = const { Cell::new(std::ptr::null()) };
}

/// A turn that runs on this thread.
pub(crate) struct CurrentRequestGuard(());

impl CurrentRequestGuard {
    pub(crate) fn new(state: &Rc<ContextState>) -> Self {
        RUNNING.set(Rc::as_ptr(state));
        Self(())
    }
}

impl Drop for CurrentRequestGuard {
    fn drop(&mut self) {
        RUNNING.set(std::ptr::null());
    }
}

/// Writes the `x-request-id` of the request that this thread runs into `text`, cut to its length,
/// and returns the length. Allocates nothing and does not wait: it may be called in a signal
/// handler, on the thread that crashed.
pub fn running_request(text: &mut [u8]) -> usize {
    let state = RUNNING.get();
    // SAFETY: demands null or a live state: the guard is dropped before the turn's own reference to
    // the state, and this is the turn's thread, which does nothing else meanwhile.
    let Some(state) = (unsafe { state.as_ref() }) else { return 0 };
    // The crash may have interrupted a change of the table: then the request is unknown.
    let Ok(requests) = state.requests.try_borrow() else { return 0 };
    let Some(id) = requests.text_id(state.running()) else { return 0 };
    let length = id.len().min(text.len());
    text[..length].copy_from_slice(&id.as_bytes()[..length]);
    length
}
