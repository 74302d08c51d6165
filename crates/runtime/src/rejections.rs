//! Rejected promises without a handler. V8 reports each rejection without a handler, and handlers
//! that are added later; what is left at the end of a turn is an uncaught error.

#[derive(Default)]
pub(crate) struct Rejections {
    pending: Vec<(v8::Global<v8::Promise>, v8::Global<v8::Value>)>,
}

impl Rejections {
    pub(crate) fn add(&mut self, promise: v8::Global<v8::Promise>, reason: v8::Global<v8::Value>) {
        self.pending.push((promise, reason));
    }

    pub(crate) fn remove(&mut self, promise: &v8::Global<v8::Promise>) {
        self.pending.retain(|(pending, _)| pending != promise);
    }

    /// The reasons of those that are still unhandled.
    pub(crate) fn take(&mut self) -> Vec<v8::Global<v8::Value>> {
        self.pending.drain(..).map(|(_, reason)| reason).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
