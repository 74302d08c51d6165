//! Bookmarks: what makes V8 keep the pages of dead contexts.
//!
//! A context made from the snapshot fills half a page of the old generation. A collection gives every page back to the
//! system that has nothing alive on it, and the next contexts take as many anew, which the kernel must map, clear and fault
//! in again: more than a tenth of what a context costs. A page with anything alive on it, however small, is swept and used
//! again. So an isolate that gets one context after another leaves a symbol beside each of the latest.
//!
//! Invariant: there are never more than `MOST`, so no more than as many pages are kept for nothing.

use std::collections::VecDeque;

/// About as many contexts as come between two collections.
const MAX_ANCHORS: usize = 96;

/// Is in a slot of its isolate, and gone with it.
#[derive(Default)]
struct PageAnchors(VecDeque<v8::Global<v8::Symbol>>);

/// A context is going to be made that will not be the last: leaves a bookmark on the page that is being filled.
pub(crate) fn add(isolate: &mut v8::Isolate) {
    let mut all = isolate.remove_slot::<PageAnchors>().unwrap_or_default();
    if all.0.len() == MAX_ANCHORS {
        all.0.pop_front();
    }
    {
        v8::scope!(let scope, isolate);
        // V8 makes symbols in the old generation, where contexts are.
        let symbol = v8::Symbol::new(scope, None);
        all.0.push_back(v8::Global::new(scope, symbol));
    }
    isolate.set_slot(all);
}
