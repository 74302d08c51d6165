//! An isolate with a context from the snapshot that no app has used: what a worker begins with. Pools keep
//! spares ready, so that a first request pays for its own code alone.

use std::mem::ManuallyDrop;

use hearth_core::ByteSize;

use crate::bootstrap::text;
use crate::heap::hard_limit;
use crate::isolate::{Isolate, Locking};
use crate::js_entry_points::JsEntryPoints;
use crate::lazy_globals;
use crate::page_anchors;
use crate::platform::Platform;
use crate::shared_isolate::{IsolateOwnership, SharedIsolate};
use crate::snapshot::Snapshot;

pub struct SpareIsolate {
    /// Taken out when a worker begins. The handles are dropped with the isolate locked.
    parts: Option<(IsolateOwnership, ContextHandles)>,
    hard_limit: usize,
    /// How threads will enter it.
    locking: Locking,
}

/// A context and its entry points.
pub(crate) struct ContextHandles {
    pub(crate) context: v8::Global<v8::Context>,
    pub(crate) entry_points: JsEntryPoints,
}

// SAFETY: the handles inside are only used and dropped with the isolate locked and entered, by the thread that owns
// the value.
unsafe impl Send for SpareIsolate {}

impl SpareIsolate {
    /// In an isolate of its own, with room for apps of this memory limit or less.
    pub fn new(platform: Platform, snapshot: &Snapshot, heap: ByteSize) -> Self {
        let isolate = Isolate::new(platform, snapshot, heap);
        Self::with_context(IsolateOwnership::Own(Box::new(isolate)), hard_limit(heap))
    }

    /// In an isolate that other workers of the same owner use, too.
    pub(crate) fn in_isolate(isolate: SharedIsolate) -> Self {
        isolate.with_lock(|isolate| page_anchors::add(isolate));
        Self::with_context(IsolateOwnership::Shared(isolate), 0)
    }

    fn with_context(mut isolate: IsolateOwnership, hard_limit: usize) -> Self {
        let handles = isolate.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Context::new(scope, v8::ContextOptions::default());
            let scope = &mut v8::ContextScope::new(scope, context);
            lazy_globals::hide_webassembly(scope);
            let entry_points = JsEntryPoints::take(scope);
            ContextHandles { entry_points, context: v8::Global::new(scope, context) }
        });
        Self { parts: Some((isolate, handles)), hard_limit, locking: Locking::Locker }
    }

    /// Does what a first request would do first, so that its functions are compiled. For spares, which are made
    /// ahead.
    pub fn warm_up(&mut self) {
        let Some((isolate, handles)) = &mut self.parts else { return };
        isolate.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Local::new(scope, &handles.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let (rehearse, undefined) =
                (v8::Local::new(scope, &handles.entry_points.rehearse), v8::undefined(scope).into());
            let stage = text(scope, "spare").into();
            v8::tc_scope!(let scope, scope);
            // The same call did not throw when the snapshot was made.
            rehearse.call(scope, undefined, &[stage]);
        });
    }

    /// Whether an app with this memory limit can have it: V8's own limit is set when an isolate is created.
    pub fn has_room_for(&self, heap: ByteSize) -> bool {
        heap.bytes() > 0 && hard_limit(heap) <= self.hard_limit
    }

    /// Chooses how threads enter it: under V8's own lock, unless this is called.
    pub fn with_locking(mut self, locking: Locking) -> Self {
        self.locking = locking;
        self
    }

    /// Sets the memory limit of the app that gets it.
    pub(crate) fn adopt_limits(&mut self, heap: ByteSize) {
        if let Some((IsolateOwnership::Own(isolate), _)) = &self.parts {
            isolate.set_heap_limit(heap);
        }
    }

    /// Its parts. For the thread that is the first to use them for an app.
    pub(crate) fn into_parts(mut self) -> (IsolateOwnership, ManuallyDrop<ContextHandles>) {
        let (mut isolate, handles) = self.parts.take().expect("only this takes them, and consumes the value");
        isolate.set_locking(self.locking);
        (isolate, ManuallyDrop::new(handles))
    }
}

impl Drop for SpareIsolate {
    fn drop(&mut self) {
        if let Some((mut isolate, handles)) = self.parts.take() {
            isolate.with_lock(|_| drop(handles));
        }
    }
}
