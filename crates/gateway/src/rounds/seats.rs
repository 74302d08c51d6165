//! The seats of connections, and the lines of those that have something to do: plain state, under the lock of its owner.
//!
//! States of a seat: `Free -> InLine -> Away -> Resting | InLine | Free`, `Resting -> InLine | Away`; who is away is with a hand.
//! Invariants: a seat is in the line of those that are due if it is `InLine`, and not otherwise. Whoever calls a connection, in whatever state,
//! has it polled after that. Hands that rest are told when somebody lines up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use rustix::event::epoll::EventFlags;

use super::Life;
use super::luggage::Luggage;
use super::socket::Watched;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeatId(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandId(usize);

/// A connection. Boxed wherever it goes: it changes hands four times for each request.
pub(super) struct Guest {
    pub(super) life: Life,
    /// Calls it.
    pub(super) waker: Waker,
    pub(super) socket: Arc<Watched>,
    pub(super) luggage: Luggage,
}

#[derive(Default)]
pub(super) struct Seats {
    seats: Vec<Option<Seat>>,
    free: Vec<SeatId>,
    due: VecDeque<SeatId>,
    /// Away, as far as their seats know.
    unsent: Vec<(SeatId, Box<Guest>)>,
    hands: usize,
    resting: Vec<(HandId, Waker)>,
    door: Door,
}

struct Seat {
    /// None until somebody sits there.
    socket: Option<Arc<Watched>>,
    state: State,
}

enum State {
    Resting(Box<Guest>),
    InLine(Box<Guest>),
    Away(Called),
}

/// Whether somebody called while the guest was away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Called {
    No,
    Yes,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Door {
    #[default]
    Open,
    Closed,
}

/// Whether a hand may rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Now,
    /// There is something to do.
    Later,
    ForEver,
}

impl SeatId {
    pub(super) fn raw(self) -> u64 {
        self.0 as u64
    }

    pub(super) fn from_raw(raw: u64) -> Self {
        Self(raw as usize)
    }
}

// === impl Seats: connections ===

impl Seats {
    /// A seat for somebody who is about to come.
    pub(super) fn reserve(&mut self) -> SeatId {
        let empty = Some(Seat { socket: None, state: State::Away(Called::No) });
        if let Some(id) = self.free.pop() {
            self.seats[id.0] = empty;
            return id;
        }
        self.seats.push(empty);
        SeatId(self.seats.len() - 1)
    }

    /// Whoever has reserved the seat is there, and is due. Says who is to be woken for it.
    pub(super) fn sit(&mut self, id: SeatId, socket: Arc<Watched>, guest: Box<Guest>) -> Option<Waker> {
        self.seats[id.0] = Some(Seat { socket: Some(socket), state: State::InLine(guest) });
        self.due.push_back(id);
        self.wake_one()
    }

    /// Nobody has the seat any more.
    pub(super) fn leave(&mut self, id: SeatId) {
        self.seats[id.0] = None;
        self.free.push(id);
    }

    /// The connection is to be polled. Says who is to be woken for it.
    pub(super) fn call(&mut self, id: SeatId) -> Option<Waker> {
        let seat = self.seats.get_mut(id.0)?.as_mut()?;
        match std::mem::replace(&mut seat.state, State::Away(Called::Yes)) {
            State::Resting(guest) => {
                seat.state = State::InLine(guest);
                self.due.push_back(id);
                self.wake_one()
            }
            in_line @ State::InLine(_) => {
                seat.state = in_line;
                None
            }
            State::Away(_) => None,
        }
    }

    /// Something has happened at its socket. Gives it out if it rests; it is to be [lined up](Self::line_up).
    pub(super) fn arrive(&mut self, id: SeatId, flags: EventFlags) -> Option<Box<Guest>> {
        let seat = self.seats.get_mut(id.0)?.as_mut()?;
        seat.socket.as_ref()?.note(flags);
        match std::mem::replace(&mut seat.state, State::Away(Called::No)) {
            State::Resting(guest) => Some(guest),
            in_line @ State::InLine(_) => {
                seat.state = in_line;
                None
            }
            State::Away(_) => {
                seat.state = State::Away(Called::Yes);
                None
            }
        }
    }

    /// Those who have arrived are due. Says who is to be woken: where there is more than one to be polled, two.
    pub(super) fn line_up(&mut self, guests: impl Iterator<Item = (SeatId, Box<Guest>)>) -> [Option<Waker>; 2] {
        for (id, guest) in guests {
            self.set(id, State::InLine(guest));
            self.due.push_back(id);
        }
        if self.due.len() > 1 { [self.wake_one(), self.wake_one()] } else { [None, None] }
    }

    /// Takes a connection back that was polled, if there is one: it is to send what it has put off, or was called meanwhile, or
    /// rests.
    pub(super) fn put_back(&mut self, done: Option<(SeatId, Box<Guest>)>) -> &mut Self {
        if let Some((id, guest)) = done {
            if guest.luggage.unsent.is_empty() {
                self.put_down(id, guest);
            } else {
                self.unsent.push((id, guest));
            }
        }
        self
    }

    /// The same for those that have sent, or could not send all of it: those are called when there is room.
    pub(super) fn put_down(&mut self, id: SeatId, guest: Box<Guest>) {
        match &self.seats[id.0] {
            Some(Seat { state: State::Away(Called::No), .. }) if !guest.luggage.is_broken() => {
                self.set(id, State::Resting(guest));
            }
            _ => {
                self.set(id, State::InLine(guest));
                self.due.push_back(id);
            }
        }
    }

    /// The next that is to handle what it has. It is away until it is put back, or leaves.
    pub(super) fn next_due(&mut self) -> Option<(SeatId, Box<Guest>)> {
        let id = self.due.pop_front()?;
        Some((id, self.send_away(id)))
    }

    /// Those that are to send, in exchange for an empty list. They are away until they are put down.
    pub(super) fn swap_unsent(&mut self, list: &mut Vec<(SeatId, Box<Guest>)>) {
        std::mem::swap(&mut self.unsent, list);
    }

    fn send_away(&mut self, id: SeatId) -> Box<Guest> {
        let seat = self.seats[id.0].as_mut().expect("who is in line has a seat");
        match std::mem::replace(&mut seat.state, State::Away(Called::No)) {
            State::InLine(guest) => guest,
            _ => unreachable!("who is in a line is there"),
        }
    }

    fn set(&mut self, id: SeatId, state: State) {
        self.seats[id.0].as_mut().expect("who is away has a seat").state = state;
    }
}

// === impl Seats: hands ===

impl Seats {
    /// One more, unless there are enough.
    pub(super) fn hire(&mut self, most: usize) -> Option<HandId> {
        if self.hands >= most || self.door == Door::Closed {
            return None;
        }
        self.hands += 1;
        Some(HandId(self.hands))
    }

    /// A hand is at work. Says who may watch meanwhile, and how many rest.
    pub(super) fn begin(&mut self, hand: HandId) -> (Option<Waker>, usize) {
        self.resting.retain(|(id, _)| *id != hand);
        (self.resting.last().map(|(_, waker)| waker.clone()), self.resting.len())
    }

    pub(super) fn rest(&mut self, hand: HandId, waker: &Waker) -> Rest {
        if self.door == Door::Closed {
            return Rest::ForEver;
        }
        if !self.due.is_empty() || !self.unsent.is_empty() {
            return Rest::Later;
        }
        self.resting.push((hand, waker.clone()));
        Rest::Now
    }

    fn wake_one(&mut self) -> Option<Waker> {
        self.resting.pop().map(|(_, waker)| waker)
    }

    /// Nobody rests any more, and nobody who is there stays: guests and hands, to be dropped and woken without the lock. Who is
    /// away stays with its hand.
    #[expect(clippy::vec_box, reason = "they are in boxes already")]
    pub(super) fn close(&mut self) -> (Vec<Box<Guest>>, Vec<Waker>) {
        self.door = Door::Closed;
        self.due.clear();
        let mut guests: Vec<Box<Guest>> = self.unsent.drain(..).map(|(_, guest)| guest).collect();
        for (index, place) in self.seats.iter_mut().enumerate() {
            match place.take() {
                Some(Seat { state: State::Resting(guest) | State::InLine(guest), .. }) => {
                    guests.push(guest);
                    self.free.push(SeatId(index));
                }
                other => *place = other,
            }
        }
        (guests, self.resting.drain(..).map(|(_, waker)| waker).collect())
    }
}

#[cfg(test)]
#[path = "seats/tests.rs"]
mod tests;
