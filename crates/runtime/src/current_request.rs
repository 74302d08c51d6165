//! Which request this thread runs, as its client knows it: asked for by the last act of a process that crashes, so that
//! nobody has to write it down for all the turns that go well.

use std::cell::Cell;
use std::rc::Rc;

use crate::context_state::ContextState;

thread_local! {
    /// Whose turn it is. Null between turns.
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

/// Writes the `x-request-id` of the request that this thread runs into `text`, as much of it as there is room for, and says
/// how long it is. Allocates nothing and waits for nobody: it may be called in a signal handler, on the thread that crashed.
pub fn running_request(text: &mut [u8]) -> usize {
    let state = RUNNING.get();
    // SAFETY: demands null or a live state: the mark goes before the turn's own reference to the state does, and this is the
    // turn's thread, which does nothing else meanwhile.
    let Some(state) = (unsafe { state.as_ref() }) else { return 0 };
    // Whoever changes the table at this moment is the thread itself: then nothing is known.
    let Ok(requests) = state.requests.try_borrow() else { return 0 };
    let Some(id) = requests.text_id(state.running()) else { return 0 };
    let length = id.len().min(text.len());
    text[..length].copy_from_slice(&id.as_bytes()[..length]);
    length
}
