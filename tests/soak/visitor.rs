//! One of many clients, each on a thread of its own: behaves well most of the time, and badly in various ways otherwise.

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

/// Shared by all clients of a server.
pub struct World {
    pub address: SocketAddr,
    pub mode: &'static str,
    pub apps: Vec<App>,
    /// Set when the server has ended or does not respond.
    pub lost: AtomicBool,
    /// Counter workers with their counts; each pair must be seen at most once.
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

    /// Performs one action after the other until the deadline.
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
        // Some apps are requested much more often than others.
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

    /// Checks a required response. Returns whether the connection can be reused.
    pub fn finish(&mut self, ask: &Ask, answer: Result<Reply, Trouble>) -> Use {
        let checked = ask.check(answer.as_ref(), self.company);
        let refused = matches!(&checked, Ok(End::Code(code)) if code == "no_capacity");
        match checked {
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
        self.check_count(ask, &reply);
        if refused {
            // As `retry-after` says, but for a shorter time.
            self.pause(400);
        }
        if reply.ends_connection() { Use::Over } else { Use::Again }
    }

    /// Checks that no worker has a count twice, and that one-shot workers count to one only.
    fn check_count(&mut self, ask: &Ask, reply: &Reply) {
        let Some((worker, count)) = ask.count(reply) else { return };
        let fresh = matches!(self.world.mode, "oneshot" | "shared");
        self.tally.faults.check(!fresh || count == 1, || format!("state was kept for {count} requests: {worker}"));
        let new = self.world.counts.lock().unwrap().insert((worker.clone(), count));
        self.tally.faults.check(new, || format!("worker {worker} counted {count} twice"));
    }

    /// Paces the load; no check depends on it.
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
