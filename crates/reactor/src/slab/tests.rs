#![allow(clippy::unwrap_used)]

use std::net::{TcpListener, TcpStream};

use super::*;
use crate::io_buffers::ReadAhead;

const DRIVER: DriverId = DriverId(1);

fn connection() -> Connection {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (future, waker) = (Box::pin(std::future::pending()), Waker::noop().clone());
    Connection { future, waker, socket: Arc::new(EpollSocket::new(socket)), io: IoBuffers::default() }
}

/// Inserts a connection and polls it once.
fn insert_idle(slab: &mut ConnectionSlab) -> ConnectionId {
    let (id, connection) = (slab.reserve(), connection());
    slab.insert(id, connection.socket.clone(), Box::new(connection));
    let (ready, connection) = slab.pop_ready().unwrap();
    assert_eq!(ready, id);
    slab.finish_poll(Some((id, connection)));
    id
}

fn ready(slab: &mut ConnectionSlab) -> Vec<ConnectionId> {
    std::iter::from_fn(|| slab.pop_ready()).map(|(id, _)| id).collect()
}

#[test]
fn a_woken_connection_is_polled_whatever_its_state() {
    let mut slab = ConnectionSlab::default();
    let id = insert_idle(&mut slab);
    // Idle, and then ready already.
    slab.wake_connection(id);
    slab.wake_connection(id);
    let (_, connection) = slab.pop_ready().unwrap();
    assert!(slab.pop_ready().is_none(), "it is queued once");
    // Running.
    slab.wake_connection(id);
    let (_, connection) = slab.finish_poll(Some((id, connection))).pop_ready().unwrap();
    // On the list of those to be flushed.
    let mut connection = connection;
    connection.io.unsent = b"answer".to_vec();
    slab.finish_poll(Some((id, connection)));
    slab.wake_connection(id);
    let mut unflushed = Vec::new();
    slab.take_unflushed(&mut unflushed);
    assert!(slab.pop_ready().is_none(), "it is running until it is flushed");
    let (_, connection) = unflushed.pop().unwrap();
    slab.park_or_requeue(id, connection);
    assert_eq!(ready(&mut slab), [id]);
    // Removed.
    slab.remove(id);
    assert!(slab.wake_connection(id).is_none());
    assert_eq!(slab.reserve(), id);
}

#[test]
fn an_event_is_remembered_whatever_the_state() {
    let mut slab = ConnectionSlab::default();
    let id = insert_idle(&mut slab);
    let connection = slab.mark_event(id, EventFlags::IN).unwrap();
    assert!(connection.socket.begin_read() && !connection.socket.begin_read());
    // A driver has the connection when the next event comes.
    assert!(slab.mark_event(id, EventFlags::IN | EventFlags::RDHUP).is_none());
    assert!(connection.socket.begin_read() && connection.socket.begin_read(), "the end of the stream stays");
    slab.finish_poll(Some((id, connection)));
    assert_eq!(ready(&mut slab), [id]);
}

#[test]
fn a_failed_connection_is_queued() {
    let mut slab = ConnectionSlab::default();
    let id = insert_idle(&mut slab);
    let mut connection = slab.mark_event(id, EventFlags::OUT).unwrap();
    connection.io.read_ahead = ReadAhead::Failed(rustix::io::Errno::CONNRESET);
    slab.finish_poll(Some((id, connection)));
    assert_eq!(ready(&mut slab), [id]);
}

#[test]
fn parked_drivers_are_woken_for_queued_connections() {
    let mut slab = ConnectionSlab::default();
    let (one, other) = (insert_idle(&mut slab), insert_idle(&mut slab));
    assert_eq!(slab.park_driver(DRIVER, Waker::noop()), Park::Now);
    assert!(slab.wake_connection(one).is_some());
    assert!(slab.wake_connection(other).is_none(), "no driver is left to be woken");
    assert_eq!(slab.park_driver(DRIVER, Waker::noop()), Park::WorkPending);
    assert_eq!(ready(&mut slab), [one, other]);
}

#[test]
fn two_drivers_are_woken_for_more_than_one_connection() {
    let mut slab = ConnectionSlab::default();
    let ids = [insert_idle(&mut slab), insert_idle(&mut slab)];
    for driver in 1..=3 {
        slab.park_driver(DriverId(driver), Waker::noop());
    }
    let first = slab.mark_event(ids[0], EventFlags::IN).unwrap();
    assert_eq!(slab.enqueue([(ids[0], first)].into_iter()).iter().flatten().count(), 0);
    let second = slab.mark_event(ids[1], EventFlags::IN).unwrap();
    assert_eq!(slab.enqueue([(ids[1], second)].into_iter()).iter().flatten().count(), 2);
    assert_eq!(slab.start_driver(DriverId(1)).1, 0, "a working driver is not parked");
}

#[test]
fn closing_releases_all_connections_and_drivers() {
    let mut slab = ConnectionSlab::default();
    let (_idle, woken, unflushed) = (insert_idle(&mut slab), insert_idle(&mut slab), insert_idle(&mut slab));
    slab.wake_connection(woken);
    let mut connection = slab.mark_event(unflushed, EventFlags::IN).unwrap();
    connection.io.unsent = b"answer".to_vec();
    slab.finish_poll(Some((unflushed, connection)));
    slab.parked.push((DRIVER, Waker::noop().clone()));
    let (connections, drivers) = slab.close();
    assert_eq!((connections.len(), drivers.len()), (3, 1));
    assert_eq!(slab.park_driver(DRIVER, Waker::noop()), Park::Shutdown);
    assert!(slab.add_driver(8).is_none() && slab.pop_ready().is_none());
}
