//! A WebSocket between two independent sides: an app and a connection, or two parts of one app. Each has a [`SocketEnd`]; what one
//! sends the other receives, in order, with back-pressure by bytes.
//!
//! States of each direction: `Open -> Closed` (by a [`Close`], after which nothing more is taken) or `-> Failed`. An end that
//! is dropped before it has closed its direction fails it, so that the other can tell a close from a loss.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;

use crate::memory::{Charge, MemoryAccount};
use crate::units::ByteSize;

/// Bytes that may wait for the other side. Beyond it the sender decides: wait, or give up.
pub const CAPACITY: ByteSize = ByteSize::mb(1);

/// What a message costs beside its bytes.
const OVERHEAD: usize = 64;

#[derive(Clone, PartialEq, Eq)]
pub enum Message {
    Text(String),
    Binary(Bytes),
}

/// The close that ends a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Close {
    /// `None`: no code was given, which apps see as 1005.
    pub code: Option<u16>,
    /// At most [`MAX_REASON_BYTES`] bytes.
    pub reason: String,
}

/// The longest reason of a [`Close`].
pub const MAX_REASON_BYTES: usize = 123;

/// Why a socket ended without a close. For apps all of these are 1006.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SocketFault {
    #[error("the connection was lost")]
    Lost,
    #[error("the peer did not speak the protocol: {0}")]
    Protocol(&'static str),
    #[error("a message was larger than {limit}")]
    TooLarge { limit: ByteSize },
    #[error("the peer reads too slowly: more than {limit} wait for it")]
    TooSlow { limit: ByteSize },
    #[error("no message came or went for {limit:?}")]
    Silent { limit: Duration },
    #[error("the peer did not answer the goodbye")]
    Unanswered,
}

/// What a socket receives. `Close` and `Failed` are the last event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    Message(Message),
    Close(Close),
    Failed(SocketFault),
}

/// One side of a socket.
pub struct SocketEnd {
    pub sender: SocketSender,
    pub receiver: SocketReceiver,
    /// How long there may be no message either way before the connection ends; zero: for ever.
    pub silence: Duration,
    /// The account that its memory is charged to.
    account: Option<Arc<MemoryAccount>>,
    /// Dropped with this end. The last field, so that both directions have ended when these are dropped.
    held: Vec<Box<dyn Send>>,
}

pub struct SocketSender {
    shared: Arc<Mutex<Shared>>,
}

pub struct SocketReceiver {
    shared: Arc<Mutex<Shared>>,
}

/// Whether a message was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is queued for the other side.
    Yes,
    /// It was rejected: too much waits already.
    Full,
    /// It was rejected: the direction has ended, or the receiver was dropped.
    Closed,
}

struct Shared {
    events: VecDeque<SocketEvent>,
    waiting: usize,
    capacity: usize,
    /// For what waits.
    charge: Option<Charge>,
    end: End,
    receiver_gone: bool,
    receiver: Option<Waker>,
    sender: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Capacity {
    Strict,
    Exceedable,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    /// The last event is in the queue.
    Queued,
    Received,
}

/// Two ends of one socket.
pub fn socket_pair(silence: Duration) -> (SocketEnd, SocketEnd) {
    let (sender, receiver) = direction();
    let (other_sender, other_receiver) = direction();
    let end = |sender, receiver| SocketEnd { sender, receiver, silence, account: None, held: Vec::new() };
    (end(sender, other_receiver), end(other_sender, receiver))
}

fn direction() -> (SocketSender, SocketReceiver) {
    let shared = Arc::new(Mutex::new(Shared {
        events: VecDeque::new(),
        waiting: 0,
        capacity: CAPACITY.bytes() as usize,
        charge: None,
        end: End::Open,
        receiver_gone: false,
        receiver: None,
        sender: None,
    }));
    (SocketSender { shared: shared.clone() }, SocketReceiver { shared })
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // No code that can panic runs under this lock.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl SocketEnd ===

impl SocketEnd {
    /// Charges what waits in either direction, and what the other side of this end collects, to `account`.
    pub fn charge_to(&mut self, account: &Arc<MemoryAccount>) {
        for shared in [&self.sender.shared, &self.receiver.shared] {
            let mut shared = lock(shared);
            shared.charge = Some(account.open());
            shared.recharge();
        }
        self.account = Some(account.clone());
    }

    /// A charge for what is collected for this end.
    pub fn open_charge(&self) -> Option<Charge> {
        self.account.as_ref().map(MemoryAccount::open)
    }

    /// Keeps `thing` until this end is dropped.
    pub fn hold(&mut self, thing: impl Send + 'static) {
        self.held.push(Box::new(thing));
    }
}

impl fmt::Debug for SocketEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SocketEnd")
    }
}

// === impl SocketSender ===

impl SocketSender {
    /// Sends a message. The first is taken whatever its size: capacity is for what waits behind it.
    pub fn send(&self, message: Message) -> Sent {
        self.put(message, Capacity::Strict)
    }

    /// Sends a message however much waits. For senders that call [`poll_ready`](Self::poll_ready) before they take a message elsewhere.
    pub fn push(&self, message: Message) -> Sent {
        self.put(message, Capacity::Exceedable)
    }

    fn put(&self, message: Message, capacity: Capacity) -> Sent {
        let mut shared = lock(&self.shared);
        if shared.end != End::Open || shared.receiver_gone {
            return Sent::Closed;
        }
        let size = message.len();
        let fits = shared.events.is_empty() || shared.load().saturating_add(size) <= shared.capacity;
        if capacity == Capacity::Strict && !fits {
            return Sent::Full;
        }
        shared.waiting += size;
        let charged = shared.recharge();
        if capacity == Capacity::Strict && !charged {
            shared.waiting -= size;
            return Sent::Full;
        }
        shared.events.push_back(SocketEvent::Message(message));
        let waker = shared.receiver.take();
        drop(shared);
        wake(waker);
        Sent::Yes
    }

    /// Ready when there is room, or when the receiver was dropped.
    pub fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut shared = lock(&self.shared);
        if shared.receiver_gone || shared.has_room() {
            return Poll::Ready(());
        }
        shared.sender = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Bytes of messages that the other side has not received yet.
    pub fn waiting(&self) -> usize {
        lock(&self.shared).waiting
    }

    /// Ends the direction after what was sent.
    pub fn close(&self, close: Close) {
        self.finish(SocketEvent::Close(close));
    }

    /// Fails the direction after what was sent.
    pub fn fail(&self, fault: SocketFault) {
        self.finish(SocketEvent::Failed(fault));
    }

    /// Ends the direction now: what waits is discarded.
    pub fn abandon(&self, close: Close) {
        let mut shared = lock(&self.shared);
        if shared.end == End::Received {
            return;
        }
        shared.end = End::Queued;
        shared.waiting = 0;
        shared.recharge();
        let last = VecDeque::from([SocketEvent::Close(close)]);
        let discarded = std::mem::replace(&mut shared.events, last);
        let waker = shared.receiver.take();
        drop(shared);
        drop(discarded);
        wake(waker);
    }

    fn finish(&self, last: SocketEvent) {
        let mut shared = lock(&self.shared);
        if shared.end != End::Open {
            return;
        }
        shared.end = End::Queued;
        shared.events.push_back(last);
        let waker = shared.receiver.take();
        drop(shared);
        wake(waker);
    }
}

impl Drop for SocketSender {
    fn drop(&mut self) {
        self.fail(SocketFault::Lost);
    }
}

// === impl SocketReceiver ===

impl SocketReceiver {
    /// The next event; `None` after the last.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<SocketEvent>> {
        let mut shared = lock(&self.shared);
        let Some(event) = shared.events.pop_front() else {
            if shared.end == End::Received {
                return Poll::Ready(None);
            }
            shared.receiver = Some(cx.waker().clone());
            return Poll::Pending;
        };
        match &event {
            SocketEvent::Message(message) => {
                shared.waiting -= message.len();
                shared.recharge();
            }
            SocketEvent::Close(_) | SocketEvent::Failed(_) => shared.end = End::Received,
        }
        let waker = if shared.has_room() { shared.sender.take() } else { None };
        drop(shared);
        wake(waker);
        Poll::Ready(Some(event))
    }

    /// The last event, if it is the next one. For receivers that cannot take messages now, but must know when none are left.
    pub fn poll_last(&mut self, cx: &mut Context<'_>) -> Poll<Option<SocketEvent>> {
        let mut shared = lock(&self.shared);
        if let Some(SocketEvent::Message(_)) = shared.events.front() {
            shared.receiver = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(shared);
        self.poll_next(cx)
    }

    pub async fn next(&mut self) -> Option<SocketEvent> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for SocketReceiver {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.receiver_gone = true;
        shared.waiting = 0;
        shared.recharge();
        let events = std::mem::take(&mut shared.events);
        let waker = shared.sender.take();
        drop(shared);
        drop(events);
        wake(waker);
    }
}

// === impl Shared ===

impl Shared {
    /// The memory of what waits: empty messages have a cost, too.
    fn load(&self) -> usize {
        self.waiting + self.events.len() * OVERHEAD
    }

    /// Charges what waits; whether there was room for it.
    fn recharge(&mut self) -> bool {
        let waiting = self.waiting as u64;
        self.charge.as_mut().is_none_or(|charge| charge.try_set(waiting).is_ok())
    }

    /// Whether a sender that waits may continue: not before half the capacity is free, so that it does not stop again at once.
    fn has_room(&self) -> bool {
        self.load() <= self.capacity / 2
    }
}

// === impl Message ===

impl Message {
    /// Bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Binary(bytes) => write!(f, "Binary({} bytes)", bytes.len()),
        }
    }
}

// === impl Close ===

impl Close {
    pub fn new(code: u16, reason: &str) -> Self {
        let mut end = reason.len().min(MAX_REASON_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        Self { code: Some(code), reason: reason[..end].to_owned() }
    }
}

/// Outside the lock: a waker may run anything.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(end: &mut SocketEnd) -> Poll<Option<SocketEvent>> {
        end.receiver.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    fn text(text: &str) -> Message {
        Message::Text(text.to_owned())
    }

    #[test]
    fn messages_come_in_order_and_the_close_after_them() {
        let (mut app, client) = socket_pair(Duration::ZERO);
        assert!(poll(&mut app).is_pending());
        assert_eq!(client.sender.send(text("a")), Sent::Yes);
        assert_eq!(client.sender.send(text("bc")), Sent::Yes);
        assert_eq!(client.sender.waiting(), 3);
        client.sender.close(Close::new(1000, "done"));
        assert_eq!(client.sender.send(text("late")), Sent::Closed);
        assert_eq!(poll(&mut app), Poll::Ready(Some(SocketEvent::Message(text("a")))));
        assert_eq!(poll(&mut app), Poll::Ready(Some(SocketEvent::Message(text("bc")))));
        assert_eq!(poll(&mut app), Poll::Ready(Some(SocketEvent::Close(Close::new(1000, "done")))));
        assert_eq!(poll(&mut app), Poll::Ready(None));
        assert_eq!(app.sender.send(text("the other direction is open")), Sent::Yes);
    }

    #[test]
    fn unreceived_messages_are_bounded() {
        let (app, mut client) = socket_pair(Duration::ZERO);
        let large = Message::Binary(vec![0; CAPACITY.bytes() as usize + 1].into());
        assert_eq!(app.sender.send(large), Sent::Yes, "one message may be large");
        assert_eq!(app.sender.send(text("")), Sent::Full);
        assert!(app.sender.poll_ready(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(matches!(poll(&mut client), Poll::Ready(Some(SocketEvent::Message(_)))));
        assert!(app.sender.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready());
        let sent = (0..1_000_000).take_while(|_| app.sender.send(text("")) == Sent::Yes).count();
        assert_eq!(sent, CAPACITY.bytes() as usize / OVERHEAD + 1, "empty ones are bounded too");
        let mut cx = Context::from_waker(Waker::noop());
        assert!(client.receiver.poll_last(&mut cx).is_pending());
        app.sender.abandon(Close::new(1008, "too slow"));
        let last = SocketEvent::Close(Close::new(1008, "too slow"));
        assert_eq!(client.receiver.poll_last(&mut cx), Poll::Ready(Some(last)));
        app.sender.abandon(Close::new(1011, ""));
        assert_eq!(poll(&mut client), Poll::Ready(None));
    }

    #[test]
    fn a_dropped_end_fails_and_releases_what_it_holds() {
        let held = Arc::new(());
        let (mut app, mut client) = socket_pair(Duration::ZERO);
        client.hold(held.clone());
        drop(client);
        assert_eq!(Arc::strong_count(&held), 1);
        assert_eq!(app.sender.send(text("x")), Sent::Closed);
        assert_eq!(poll(&mut app), Poll::Ready(Some(SocketEvent::Failed(SocketFault::Lost))));
    }

    #[test]
    fn waiting_messages_are_charged_and_limited() {
        let account = MemoryAccount::new(ByteSize(10));
        let (mut app, mut client) = socket_pair(Duration::ZERO);
        app.charge_to(&account);
        assert_eq!(app.sender.send(text("12345678")), Sent::Yes);
        assert_eq!(account.held(), ByteSize(8));
        assert_eq!(app.sender.send(text("12345678")), Sent::Full);
        assert_eq!(account.held(), ByteSize(8));
        assert!(matches!(poll(&mut client), Poll::Ready(Some(SocketEvent::Message(_)))));
        assert_eq!(account.held(), ByteSize(0));
        assert_eq!(client.sender.send(text("1234")), Sent::Yes);
        drop((app, client));
        assert_eq!(account.held(), ByteSize(0));
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        let close = Close::new(1000, &"ä".repeat(100));
        assert_eq!(close.reason, "ä".repeat(61));
    }
}
