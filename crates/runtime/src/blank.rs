//! An isolate with a context from the snapshot in it that no app has touched: what a worker begins with, and what is kept
//! ready as a spare, so that a first request pays for its own code alone.

use std::mem::ManuallyDrop;

use hearth_core::ByteSize;

use crate::bookmarks;
use crate::bootstrap::text;
use crate::entry::Entry;
use crate::globals;
use crate::heap::hard_limit;
use crate::isolate::{Isolate, Locking};
use crate::platform::Platform;
use crate::shared_isolate::{House, SharedIsolate};
use crate::snapshot::Snapshot;

pub struct Blank {
    /// Taken out when a worker begins; what was made holds handles of V8's, and so is dropped with the isolate locked.
    parts: Option<(House, Made)>,
    hard_limit: usize,
    /// How threads will enter it.
    locking: Locking,
}

/// The context and its entry points.
pub(crate) struct Made {
    pub(crate) context: v8::Global<v8::Context>,
    pub(crate) entry: Entry,
}

// SAFETY: the handles inside are only used and dropped with the isolate locked and entered, by whoever owns the value.
unsafe impl Send for Blank {}

impl Blank {
    /// In an isolate of its own, with room for apps of that memory limit or less.
    pub fn new(platform: Platform, snapshot: &Snapshot, heap: ByteSize) -> Self {
        let isolate = Isolate::new(platform, snapshot, heap);
        Self::only(House::Own(Box::new(isolate)), hard_limit(heap))
    }

    /// In an isolate that others of the same owner use too.
    pub(crate) fn in_isolate(isolate: SharedIsolate) -> Self {
        isolate.with_lock(|isolate| bookmarks::leave(isolate));
        Self::only(House::Shared(isolate), 0)
    }

    fn only(mut house: House, hard_limit: usize) -> Self {
        let made = house.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Context::new(scope, v8::ContextOptions::default());
            let scope = &mut v8::ContextScope::new(scope, context);
            globals::put_away(scope);
            let entry = Entry::take(scope);
            Made { entry, context: v8::Global::new(scope, context) }
        });
        Self { parts: Some((house, made)), hard_limit, locking: Locking::Locker }
    }

    /// For spares, which have the time: does what a first request would do first, so that functions are ready to be called.
    pub fn rehearse(&mut self) {
        let Some((house, made)) = &mut self.parts else { return };
        house.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Local::new(scope, &made.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let (rehearse, undefined) = (v8::Local::new(scope, &made.entry.rehearse), v8::undefined(scope).into());
            let stage = text(scope, "spare").into();
            v8::tc_scope!(let scope, scope);
            // It did not throw when the snapshot was made.
            rehearse.call(scope, undefined, &[stage]);
        });
    }

    /// Whether an app with that memory limit can have it: V8's own limit is set when an isolate is made.
    pub fn has_room_for(&self, heap: ByteSize) -> bool {
        heap.bytes() > 0 && hard_limit(heap) <= self.hard_limit
    }

    /// The same, to be entered in that way: under V8's own lock unless this says otherwise.
    pub fn with_locking(mut self, locking: Locking) -> Self {
        self.locking = locking;
        self
    }

    /// Makes it an app's.
    pub(crate) fn settle(&mut self, heap: ByteSize) {
        if let Some((House::Own(isolate), _)) = &self.parts {
            isolate.set_heap_limit(heap);
        }
    }

    /// Its parts, on the thread that is the first to use them for an app.
    pub(crate) fn into_parts(mut self) -> (House, ManuallyDrop<Made>) {
        let (mut house, made) = self.parts.take().expect("only this takes them, and consumes the value");
        house.set_locking(self.locking);
        (house, ManuallyDrop::new(made))
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        if let Some((mut house, made)) = self.parts.take() {
            house.with_lock(|_| drop(made));
        }
    }
}
