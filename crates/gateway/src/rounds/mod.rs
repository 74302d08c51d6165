//! Connections that are ready at the same time are served together: all of them are read, then all requests are handled,
//! then all answers are sent. One connection after the other, each of these three would find the processor's caches full of
//! what the last one left there, and they are large: the kernel's receiving, ours and the app's code, the kernel's sending.
//! In company each is fetched once for all (docs/lab/speed.md has what that brings).
//!
//! ```text
//! events ──> read ──> due ──> handle ──> unsent ──> send ──> at rest
//!                      ^         └─── nothing to send ──────────┘ │
//!                      └── called: a timer, an awaited answer ────┘
//! ```
//!
//! Each connection is a future with a seat here ([`seats`]); its socket is watched by an epoll of our own, which tokio
//! watches in turn. Rounds are done by *hands*: tasks that are all alike. Any of them takes what is next, and holds nothing
//! but the one connection that it polls at that moment. So if that one is held up in a turn of JavaScript, others go on with
//! the rest, from whichever thread covers for it:
//!
//! - There are always hands at rest. Who begins a round leaves the watch to one of them, so that what comes meanwhile finds
//!   somebody even while this one is held up.
//! - Who has more than one connection to serve calls two hands: tokio keeps the last that was woken for this thread alone, and
//!   lets other threads take the one before, be it to help or in place of a thread that is held up.
//!
//! A panic in a connection ends that connection alone.

mod doorway;
mod luggage;
mod moment;
mod seats;
mod socket;

use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use rustix::event::{Timespec, epoll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::unconstrained;

use self::luggage::{Buffers, Luggage};
use self::seats::{Guest, HandId, Rest, SeatId, Seats};
use self::socket::Watched;

pub use self::doorway::Doorway;
pub use self::moment::{poll_allowance, put_off};
pub use self::socket::{Foreseen, Socket};

/// Events that are taken at once.
const EVENTS: usize = 128;
/// Connections whose answers wait for each other.
const ROUND: usize = 32;
/// Rounds that a hand does before it lets other tasks have the thread.
const ROUNDS: usize = 4;
/// After as many events at once it is worth while to look for more.
const COMPANY: usize = 3;
/// Hands that should be at rest when one begins: those that it may call.
const AT_REST: usize = 2;
/// As many turns can be long at once before connections wait for them.
const MOST_HANDS: usize = 32;

/// The life of a connection.
pub type Life = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Rounds {
    epoll: AsyncFd<OwnedFd>,
    seats: Mutex<Seats>,
}

/// Calls the connection on a seat. One who calls late may find another there, who then looks in vain.
struct Call {
    rounds: Arc<Rounds>,
    seat: SeatId,
}

struct Hand {
    rounds: Arc<Rounds>,
    id: HandId,
    /// What it was told of and has not looked at: nobody else will be told.
    news: News,
    /// Those whose clients have just sent something.
    arrivals: Vec<(SeatId, Box<Guest>)>,
    /// Those that have something to send.
    senders: Vec<(SeatId, Box<Guest>)>,
    buffers: Buffers,
}

/// Whether something has happened at the sockets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum News {
    None,
    Some,
}

/// The rounds of a server: where there are many cores, several circles, so that not all of them meet at one lock. Begun when
/// the first connection comes.
#[derive(Default)]
pub struct Circles {
    circles: Mutex<Vec<Arc<Rounds>>>,
    next: AtomicUsize,
}

/// Cores that share a circle.
const CORES: usize = 4;

// === impl Circles ===

impl Circles {
    /// Gives a connection a seat. `make` makes its life around its socket, which must not block.
    pub fn adopt(&self, socket: TcpStream, make: impl FnOnce(Socket) -> Life) -> io::Result<()> {
        let mut circles = self.lock();
        if circles.is_empty() {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            *circles = (0..cores.div_ceil(CORES)).map(|_| Rounds::start()).collect::<io::Result<_>>()?;
        }
        let circle = circles[self.next.fetch_add(1, Ordering::Relaxed) % circles.len()].clone();
        drop(circles);
        circle.adopt(socket, make)
    }

    /// Ends all hands, and with them the connections that are still there.
    pub fn stop(&self) {
        let circles = std::mem::take(&mut *self.lock());
        circles.iter().for_each(|rounds| rounds.stop());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Rounds>>> {
        self.circles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Rounds ===

impl Rounds {
    /// Must be called on the runtime that is to do them; ends with [`stop`](Self::stop).
    fn start() -> io::Result<Arc<Self>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for the sake of types that are not what they own, as this one is"
        )]
        let epoll = AsyncFd::with_interest(epoll, Interest::READABLE)?;
        let rounds = Arc::new(Self { epoll, seats: Mutex::default() });
        for _ in 0..=AT_REST {
            rounds.hire();
        }
        Ok(rounds)
    }

    fn adopt(self: &Arc<Self>, socket: TcpStream, make: impl FnOnce(Socket) -> Life) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let watched = Arc::new(Watched::new(socket));
        let life = make(Socket::new(watched.clone()));
        let mut seats = self.lock();
        let seat = seats.reserve();
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        let added = epoll::add(&self.epoll, watched.as_ref(), epoll::EventData::new_u64(seat.raw()), flags);
        if let Err(error) = added {
            seats.leave(seat);
            drop(seats);
            return Err(error.into());
        }
        let waker = Waker::from(Arc::new(Call { rounds: self.clone(), seat }));
        let guest = Guest { life, waker, socket: watched.clone(), luggage: Luggage::default() };
        let hand = seats.sit(seat, watched, Box::new(guest));
        drop(seats);
        wake(hand);
        Ok(())
    }

    fn stop(&self) {
        let (guests, hands) = self.lock().close();
        hands.into_iter().for_each(Waker::wake);
        drop(guests);
    }

    /// One more hand.
    fn hire(self: &Arc<Self>) {
        let Some(id) = self.lock().hire(MOST_HANDS) else { return };
        let mut hand = Hand {
            rounds: self.clone(),
            id,
            news: News::None,
            arrivals: Vec::new(),
            senders: Vec::new(),
            buffers: Buffers::default(),
        };
        tokio::spawn(poll_fn(move |cx| hand.poll(cx)));
    }

    fn lock(&self) -> MutexGuard<'_, Seats> {
        // Nothing that can panic half-way runs under this lock.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on `waker` hears of events. Says whether there are some already.
    fn watch(&self, waker: &Waker) -> News {
        let mut news = News::None;
        // Marked as seen before they are taken: what comes later is told anew.
        while let Poll::Ready(Ok(mut ready)) = self.epoll.poll_read_ready(&mut Context::from_waker(waker)) {
            ready.clear_ready();
            news = News::Some;
        }
        news
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let hand = self.rounds.lock().call(self.seat);
        wake(hand);
    }
}

fn wake(hand: Option<Waker>) {
    if let Some(hand) = hand {
        hand.wake();
    }
}

// === impl Hand ===

impl Hand {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let rounds = self.rounds.clone();
        let (deputy, at_rest) = rounds.lock().begin(self.id);
        if at_rest < AT_REST {
            rounds.hire();
        }
        let watcher = deputy.as_ref().unwrap_or(cx.waker());
        self.news = self.news.max(rounds.watch(watcher));
        for _ in 0..ROUNDS {
            let company = if self.news == News::Some { self.take_in() } else { 0 };
            self.handle();
            self.send();
            // Where many came at once there will be more by now. Else this hand watches again; who was called before is in line.
            self.news = if company >= COMPANY { News::Some } else { rounds.watch(cx.waker()) };
            if self.news == News::Some {
                continue;
            }
            let rest = rounds.lock().rest(self.id, cx.waker());
            match rest {
                Rest::Now => return Poll::Pending,
                Rest::Later => {}
                Rest::ForEver => {
                    // What was away when all others were sent home.
                    rounds.stop();
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes events, and reads what there is to read. Says how many there were.
    fn take_in(&mut self) -> usize {
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&self.rounds.epoll, &mut space[..], Some(&at_once)) else {
            // Interrupted: to be looked at again.
            return COMPANY;
        };
        let mut seats = self.rounds.lock();
        for event in events.iter() {
            let seat = SeatId::from_raw(event.data.u64());
            self.arrivals.extend(seats.arrive(seat, event.flags).map(|guest| (seat, guest)));
        }
        drop(seats);
        for (_, guest) in &mut self.arrivals {
            guest.luggage.early.read(&guest.socket, &mut self.buffers);
        }
        let hands = self.rounds.lock().line_up(self.arrivals.drain(..));
        hands.into_iter().for_each(wake);
        events.len()
    }

    /// Has those that are due handle what they have.
    fn handle(&mut self) {
        let mut done = None;
        for _ in 0..ROUND {
            let next = self.rounds.lock().put_back(done.take()).next_due();
            let Some((seat, guest)) = next else { return };
            done = self.serve(seat, guest);
        }
        self.rounds.lock().put_back(done);
    }

    /// Sends what was put off, whoever handled it.
    fn send(&mut self) {
        self.rounds.lock().swap_unsent(&mut self.senders);
        if self.senders.is_empty() {
            return;
        }
        for (_, guest) in &mut self.senders {
            guest.luggage.send(&guest.socket, &mut self.buffers);
        }
        let mut seats = self.rounds.lock();
        for (seat, guest) in self.senders.drain(..) {
            seats.put_down(seat, guest);
        }
    }

    /// Polls a connection; nothing is left of one that is over.
    fn serve(&mut self, seat: SeatId, mut guest: Box<Guest>) -> Option<(SeatId, Box<Guest>)> {
        let Guest { life, waker, luggage, .. } = &mut *guest;
        let mut cx = Context::from_waker(waker);
        let over = moment::pass(luggage, &mut self.buffers, || {
            // Polled without tokio's budget, which is the whole task's: sockets have an allowance of their own.
            catch_unwind(AssertUnwindSafe(|| Pin::new(&mut unconstrained(life.as_mut())).poll(&mut cx)))
        });
        if let Ok(Poll::Pending) = over {
            return Some((seat, guest));
        }
        // A panic has been reported by its hook. Dropping what is left may wake others, so no lock is held.
        drop(guest);
        self.rounds.lock().leave(seat);
        None
    }
}
