#![allow(clippy::unwrap_used)]

use std::net::{TcpListener, TcpStream};

use super::super::luggage::Early;
use super::*;

const HAND: HandId = HandId(1);

fn guest() -> Guest {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (life, waker) = (Box::pin(std::future::pending()), Waker::noop().clone());
    Guest { life, waker, socket: Arc::new(Watched::new(socket)), luggage: Luggage::default() }
}

/// Somebody who has a seat and was polled once.
fn settled(seats: &mut Seats) -> SeatId {
    let (id, guest) = (seats.reserve(), guest());
    seats.sit(id, guest.socket.clone(), Box::new(guest));
    let (due, guest) = seats.next_due().unwrap();
    assert_eq!(due, id);
    seats.put_back(Some((id, guest)));
    id
}

fn due(seats: &mut Seats) -> Vec<SeatId> {
    std::iter::from_fn(|| seats.next_due()).map(|(id, _)| id).collect()
}

#[test]
fn a_call_is_answered_whatever_the_state() {
    let mut seats = Seats::default();
    let id = settled(&mut seats);
    // At rest, and then in line already.
    seats.call(id);
    seats.call(id);
    let (_, guest) = seats.next_due().unwrap();
    assert!(seats.next_due().is_none(), "once is enough");
    // Away.
    seats.call(id);
    let (_, guest) = seats.put_back(Some((id, guest))).next_due().unwrap();
    // Among those that send.
    let mut guest = guest;
    guest.luggage.unsent = b"answer".to_vec();
    seats.put_back(Some((id, guest)));
    seats.call(id);
    let mut senders = Vec::new();
    seats.swap_unsent(&mut senders);
    assert!(seats.next_due().is_none(), "it is away until it has sent");
    let (_, guest) = senders.pop().unwrap();
    seats.put_down(id, guest);
    assert_eq!(due(&mut seats), [id]);
    // Gone.
    seats.leave(id);
    assert!(seats.call(id).is_none());
    assert_eq!(seats.reserve(), id);
}

#[test]
fn what_happens_at_a_socket_is_remembered_whatever_the_state() {
    let mut seats = Seats::default();
    let id = settled(&mut seats);
    let guest = seats.arrive(id, EventFlags::IN).unwrap();
    assert!(guest.socket.begin_read() && !guest.socket.begin_read());
    // It is with whoever took the event; another one comes.
    assert!(seats.arrive(id, EventFlags::IN | EventFlags::RDHUP).is_none());
    assert!(guest.socket.begin_read() && guest.socket.begin_read(), "the end stays");
    seats.put_back(Some((id, guest)));
    assert_eq!(due(&mut seats), [id]);
}

#[test]
fn who_is_to_hear_of_a_failure_is_due() {
    let mut seats = Seats::default();
    let id = settled(&mut seats);
    let mut guest = seats.arrive(id, EventFlags::OUT).unwrap();
    guest.luggage.early = Early::Failed(rustix::io::Errno::CONNRESET);
    seats.put_back(Some((id, guest)));
    assert_eq!(due(&mut seats), [id]);
}

#[test]
fn hands_that_rest_are_called_for_those_who_line_up() {
    let mut seats = Seats::default();
    let (one, other) = (settled(&mut seats), settled(&mut seats));
    assert_eq!(seats.rest(HAND, Waker::noop()), Rest::Now);
    assert!(seats.call(one).is_some());
    assert!(seats.call(other).is_none(), "nobody is left to be called");
    assert_eq!(seats.rest(HAND, Waker::noop()), Rest::Later);
    assert_eq!(due(&mut seats), [one, other]);
}

#[test]
fn one_has_company_and_two_are_called() {
    let mut seats = Seats::default();
    let ids = [settled(&mut seats), settled(&mut seats)];
    for hand in 1..=3 {
        seats.rest(HandId(hand), Waker::noop());
    }
    let first = seats.arrive(ids[0], EventFlags::IN).unwrap();
    assert_eq!(seats.line_up([(ids[0], first)].into_iter()).iter().flatten().count(), 0);
    let second = seats.arrive(ids[1], EventFlags::IN).unwrap();
    assert_eq!(seats.line_up([(ids[1], second)].into_iter()).iter().flatten().count(), 2);
    assert_eq!(seats.begin(HandId(1)).1, 0, "who is at work does not rest");
}

#[test]
fn when_the_door_closes_all_go() {
    let mut seats = Seats::default();
    let (_at_rest, called, sending) = (settled(&mut seats), settled(&mut seats), settled(&mut seats));
    seats.call(called);
    let mut guest = seats.arrive(sending, EventFlags::IN).unwrap();
    guest.luggage.unsent = b"answer".to_vec();
    seats.put_back(Some((sending, guest)));
    seats.resting.push((HAND, Waker::noop().clone()));
    let (guests, hands) = seats.close();
    assert_eq!((guests.len(), hands.len()), (3, 1));
    assert_eq!(seats.rest(HAND, Waker::noop()), Rest::ForEver);
    assert!(seats.hire(8).is_none() && seats.next_due().is_none());
}
