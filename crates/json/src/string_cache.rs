//! A cache of the short strings that come again and again. JavaScript keeps them in an array; this
//! table knows which slot of it has which string, so that a cached string is its slot's number, and
//! V8 neither makes nor hashes it again.
//!
//! States of a slot: `Free -> Seen -> Kept`: a string gets a slot when it is first seen, and is
//! cached when it is seen again. Another string that needs the slot must come several times first,
//! so that rare strings do not evict frequent ones.
//!
//! Invariant: within one text, a slot that was used keeps its string. JavaScript applies all
//! changes before it reads the tape.

use crate::scan::ShortStr;

/// The number of slots.
pub const STRING_SLOTS: usize = 512;

/// How often a cached string withstands others.
const MAX_RESISTANCE: u8 = 3;

pub(crate) struct StringCache {
    places: Box<[Place]>,
    /// The number of texts that were read.
    round: u32,
}

#[derive(Clone, Copy, Default)]
struct Place {
    text: ShortStr,
    state: State,
    worth: u8,
    /// When the slot was last used.
    round: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Seen,
    Kept,
}

pub(crate) enum Found {
    /// Cached in that slot.
    Kept(usize),
    /// To be cached in that slot from now on.
    Keep(usize),
    /// Has no slot.
    Not,
}

// === impl StringCache ===

impl StringCache {
    pub(crate) fn new() -> Self {
        Self { places: vec![Place::default(); STRING_SLOTS].into_boxed_slice(), round: 0 }
    }

    /// Begins the next text.
    pub(crate) fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Looks a string up. It may be in either of two neighbouring slots.
    #[inline]
    pub(crate) fn find(&mut self, text: ShortStr) -> Found {
        let first = place_of(text);
        for number in [first, first ^ 1] {
            let place = &mut self.places[number];
            if place.text == text && place.state == State::Kept {
                place.round = self.round;
                place.worth = MAX_RESISTANCE;
                return Found::Kept(number);
            }
        }
        self.meet(first, text)
    }

    /// The string is not cached.
    #[inline(never)]
    fn meet(&mut self, first: usize, text: ShortStr) -> Found {
        let round = self.round;
        for number in [first, first ^ 1] {
            let place = &mut self.places[number];
            if place.text == text && place.state == State::Seen {
                *place = Place { text, state: State::Kept, worth: MAX_RESISTANCE, round };
                return Found::Keep(number);
            }
        }
        let second = first ^ 1;
        let number = if self.places[second].worth < self.places[first].worth { second } else { first };
        let place = &mut self.places[number];
        if place.state == State::Kept && place.round == round {
            return Found::Not;
        }
        if place.worth > 0 {
            place.worth -= 1;
        } else {
            *place = Place { text, state: State::Seen, worth: 0, round };
        }
        Found::Not
    }

    /// The string could not be cached.
    pub(crate) fn forget(&mut self, place: usize) {
        self.places[place].state = State::Seen;
    }
}

fn place_of(text: ShortStr) -> usize {
    let mixed = (text.low ^ text.high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 55) as usize % STRING_SLOTS
}
