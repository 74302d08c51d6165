//! Rejected promises without a handler. V8 reports each rejection without a handler, and handlers
//! that are added later; what is left at the end of a turn is an uncaught error, unless a listener of the
//! app's takes it. An app that listens also learns of handlers that come after that.

#[derive(Default)]
pub(crate) struct Rejections {
    pending: Vec<Rejection>,
    /// Promises that got a handler after they were reported; kept only while `has_listener`.
    handled: Vec<v8::Global<v8::Promise>>,
    /// Whether the app listened when a rejection was reported.
    has_listener: bool,
}

/// A rejected promise, and why it was.
pub(crate) struct Rejection {
    pub(crate) promise: v8::Global<v8::Promise>,
    pub(crate) reason: v8::Global<v8::Value>,
}

impl Rejections {
    pub(crate) fn add(&mut self, promise: v8::Global<v8::Promise>, reason: v8::Global<v8::Value>) {
        self.pending.push(Rejection { promise, reason });
    }

    /// The promise has a handler now.
    pub(crate) fn remove(&mut self, promise: v8::Global<v8::Promise>) {
        let before = self.pending.len();
        self.pending.retain(|rejection| rejection.promise != promise);
        if self.has_listener && self.pending.len() == before {
            self.handled.push(promise);
        }
    }

    pub(crate) fn set_listener(&mut self) {
        self.has_listener = true;
    }

    /// Those that are still unhandled.
    pub(crate) fn take(&mut self) -> Vec<Rejection> {
        std::mem::take(&mut self.pending)
    }

    /// Those that were reported and have a handler now.
    pub(crate) fn take_handled(&mut self) -> Vec<v8::Global<v8::Promise>> {
        std::mem::take(&mut self.handled)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.handled.is_empty()
    }
}
