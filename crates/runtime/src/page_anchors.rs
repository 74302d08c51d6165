//! Anchors that keep V8 from releasing the pages of dead contexts.
//!
//! A context made from the snapshot fills half a page of the old generation. A collection releases
//! every page that has nothing alive on it to the system, and the next contexts take as many anew,
//! which the kernel must map, clear and fault in again: more than a tenth of a context's cost. A
//! page with anything alive on it, however small, is swept and used again. So an isolate that gets
//! one context after another has a live symbol beside each of the latest.
//!
//! Invariant: there are at most `MAX_ANCHORS`, so at most that many pages are kept without need.

use std::collections::VecDeque;

/// About as many contexts as come between two collections.
const MAX_ANCHORS: usize = 96;

/// In a slot of its isolate, and dropped with it.
#[derive(Default)]
struct PageAnchors(VecDeque<v8::Global<v8::Symbol>>);

/// Adds an anchor to the page that is being filled. Called before a context is created that will
/// not be the last.
pub(crate) fn add(isolate: &mut v8::Isolate) {
    let mut all = isolate.remove_slot::<PageAnchors>().unwrap_or_default();
    if all.0.len() == MAX_ANCHORS {
        all.0.pop_front();
    }
    {
        v8::scope!(let scope, isolate);
        // V8 allocates symbols in the old generation, where contexts are.
        let symbol = v8::Symbol::new(scope, None);
        all.0.push_back(v8::Global::new(scope, symbol));
    }
    isolate.set_slot(all);
}
