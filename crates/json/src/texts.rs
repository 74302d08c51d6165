//! The short strings that come again and again. JavaScript keeps them in an array; here is which of its places has which, so that
//! a string that is there is its place's number, and is neither made nor hashed by V8 again.
//!
//! States of a place: `Free -> Seen -> Kept`: a string gets a place when it is first seen, and is kept when it is seen again. A
//! stranger that wants the place wears it down first, so that strings which come once do not drive out those which come often.
//!
//! Invariant: within one text, a place that was used keeps its string. JavaScript is told of all changes before it reads the tape.

use crate::scan::Short;

/// How many strings are kept.
pub const PLACES: usize = 512;

/// How often a string that is kept withstands others.
const WORTH: u8 = 3;

pub(crate) struct Texts {
    places: Box<[Place]>,
    /// Counts the texts that were read.
    round: u32,
}

#[derive(Clone, Copy, Default)]
struct Place {
    text: Short,
    state: State,
    worth: u8,
    /// When it was last used.
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
    /// It is kept there.
    Kept(usize),
    /// It shall be kept there from now on.
    Keep(usize),
    /// It has no place.
    Not,
}

// === impl Texts ===

impl Texts {
    pub(crate) fn new() -> Self {
        Self { places: vec![Place::default(); PLACES].into_boxed_slice(), round: 0 }
    }

    /// The next text begins.
    pub(crate) fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Looks for a string. It may be in either of two places beside each other.
    #[inline]
    pub(crate) fn find(&mut self, text: Short) -> Found {
        let first = place_of(text);
        for number in [first, first ^ 1] {
            let place = &mut self.places[number];
            if place.text == text && place.state == State::Kept {
                place.round = self.round;
                place.worth = WORTH;
                return Found::Kept(number);
            }
        }
        self.meet(first, text)
    }

    /// One that is not kept.
    #[inline(never)]
    fn meet(&mut self, first: usize, text: Short) -> Found {
        let round = self.round;
        for number in [first, first ^ 1] {
            let place = &mut self.places[number];
            if place.text == text && place.state == State::Seen {
                *place = Place { text, state: State::Kept, worth: WORTH, round };
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

    /// Nothing came of keeping it.
    pub(crate) fn forget(&mut self, place: usize) {
        self.places[place].state = State::Seen;
    }
}

fn place_of(text: Short) -> usize {
    let mixed = (text.low ^ text.high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 55) as usize % PLACES
}
