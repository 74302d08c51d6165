//! One of many visitors, each on a thread of its own: behaves well most of the time, and badly in all the ways there are for
//! the rest of it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::apps::{App, KINDS, Kind};
use crate::ask::{Ask, Company, End, Persistence};
use crate::random::Random;
use crate::tally::Tally;
use crate::wire::{Reply, Trouble, Wire};

/// What all visitors of a server share.
pub struct World {
    pub address: SocketAddr,
    pub mode: &'static str,
    pub apps: Vec<App>,
    /// The server is gone, or does not answer: there is nothing left to do.
    pub lost: AtomicBool,
    /// Workers of counters and their counts: none is ever seen twice.
    pub counts: Mutex<HashSet<(String, u64)>>,
}

pub struct Visitor<'a> {
    pub world: &'a World,
    pub company: Company,
    pub random: Random,
    pub tally: Tally,
    name: String,
    asked: u64,
}

/// The server is gone.
pub struct Lost;

impl<'a> Visitor<'a> {
    pub fn new(world: &'a World, name: &str, company: Company, random: Random) -> Self {
        Self { world, company, random, tally: Tally::default(), name: format!("{}-{name}", world.mode), asked: 0 }
    }

    /// Does one thing after the other until it is time.
    pub fn run(mut self, until: Instant) -> Tally {
        while Instant::now() < until && !self.world.lost.load(Ordering::Relaxed) {
            let acted = match self.random.below(100) {
                0..54 => self.converse(),
                54 => self.crowd(),
                55..67 => self.pipeline(),
                67..73 => self.leave_upload(),
                73..81 => self.leave_download(),
                81..86 => self.leave_at_once(),
                86..91 => self.half_close(),
                91..96 => self.talk_nonsense(),
                _ => self.dawdle(),
            };
            if acted.is_err() {
                self.world.lost.store(true, Ordering::Relaxed);
            }
        }
        self.tally
    }

    pub fn connect(&mut self) -> Result<Wire, Lost> {
        Wire::connect(self.world.address).map_err(|error| {
            self.tally.faults.push(format!("{}: no connection: {error}", self.name));
            Lost
        })
    }

    /// A request to an app of a kind that `suits`.
    pub fn ask(&mut self, suits: impl Fn(&Kind) -> bool) -> Ask {
        let kind = self.random.weighed(&KINDS, |kind| if suits(kind) { kind.weight } else { 0 });
        let copies: Vec<&App> = self.world.apps.iter().filter(|app| app.kind.name == kind.name).collect();
        // Some are asked much more often than others.
        let popular = 1 + self.random.below(copies.len());
        let (app, way) = (*self.random.pick(&copies[..popular]), self.random.below(kind.ways.len()));
        self.ask_app(app, way)
    }

    pub fn ask_app(&mut self, app: &App, way: usize) -> Ask {
        self.asked += 1;
        let nonce = format!("{}-{}", self.name, self.asked);
        let connection = match self.random.below(20) {
            0 | 1 => Persistence::Close,
            2 => Persistence::Http10,
            _ => Persistence::KeepAlive,
        };
        Ask::new(app, way, nonce, &mut self.random).with(connection)
    }

    /// Takes an answer that must come. Says whether the connection can be used again.
    pub fn settle(&mut self, ask: &Ask, answer: Result<Reply, Trouble>) -> Use {
        let judged = ask.judge(answer.as_ref(), self.company);
        let refused = matches!(&judged, Ok(End::Code(code)) if code == "no_capacity");
        match judged {
            Ok(end) => self.tally.end(ask.app.kind.name, end),
            Err(fault) => {
                self.tally.answered += 1;
                self.tally.faults.push(fault);
            }
        }
        let reply = match answer {
            Ok(reply) => reply,
            Err(trouble) => {
                self.world.lost.fetch_or(matches!(trouble, Trouble::Silent), Ordering::Relaxed);
                return Use::Over;
            }
        };
        self.note_count(ask, &reply);
        if refused {
            // As the answer asks for, if not for as long.
            self.pause(400);
        }
        if reply.ends_connection() { Use::Over } else { Use::Again }
    }

    /// No worker counts the same twice; and where each request has a worker of its own, none counts further than one.
    fn note_count(&mut self, ask: &Ask, reply: &Reply) {
        let Some((worker, count)) = ask.count(reply) else { return };
        let fresh = matches!(self.world.mode, "oneshot" | "shared");
        self.tally.faults.check(!fresh || count == 1, || format!("state was kept for {count} requests: {worker}"));
        let new = self.world.counts.lock().unwrap().insert((worker.clone(), count));
        self.tally.faults.check(new, || format!("worker {worker} counted {count} twice"));
    }

    /// Load has its pace; nothing waits for this.
    pub fn pause(&mut self, most: u64) {
        std::thread::sleep(Duration::from_millis(1 + self.random.next() % most));
    }
}

/// Whether a connection can be used again.
#[derive(PartialEq, Eq)]
pub enum Use {
    Again,
    Over,
}
