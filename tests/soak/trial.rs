//! One mode under load: start, a call to every app, the storm, the same call again, and the stop. Measurements are compared
//! after the two calls, when the same apps are warm.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::apps::{App, KINDS, Outcome};
use crate::ask::Company;
use crate::idle::{Peaks, Size, outline, wait_until_idle};
use crate::random::Random;
use crate::server::{PATIENCE, Server};
use crate::tally::{Faults, Tally};
use crate::visitor::{Visitor, World};
use crate::wire::Wire;

const VISITORS: u64 = 48;
/// Interval at which the report is read.
const LOOK: Duration = Duration::from_millis(100);
/// Shorter storms need not have seen every outcome.
const LONG: Duration = Duration::from_secs(30);
/// The flags of the program.
const DRAIN: Duration = Duration::from_secs(10);
const FLAGS: [&str; 14] = [
    "--isolates",
    "60",
    "--cpu",
    "500ms",
    "--wall",
    "3s",
    "--memory",
    "32mb",
    "--memory-budget",
    "600mb",
    "--max-queued",
    "40",
    "--drain-timeout",
    "10s",
];
/// The app whose requests are in flight when the program is stopped.
const FLYING: [&str; 2] = ["slow-0", "never-0"];
/// Errors in the log that apps cause; all others are Hearth's own.
const EXPECTED: [&str; 2] = [" hearth::console: ", "turn is stuck"];

pub struct Plan<'a> {
    pub mode: &'static str,
    pub folder: &'a Path,
    /// Folder for the logs of faults.
    pub scratch: &'a Path,
    pub apps: &'a [App],
    pub seed: u64,
    pub storm: Duration,
}

impl Plan<'_> {
    /// Prints what it has seen, and returns the faults.
    pub fn run(&self) -> Faults {
        let mut faults = Faults::default();
        let server = self.start();
        let world = World {
            address: server.address().parse().unwrap(),
            mode: self.mode,
            apps: self.apps.to_vec(),
            lost: AtomicBool::new(false),
            counts: Mutex::new(HashSet::new()),
        };
        faults.append(self.call(&world, "first").faults);
        wait_until_idle(&server, &mut faults);
        let before = Size::measure(&server);

        let (tally, peaks) = self.storm(&world, &server);
        let Tally { sent, answered, broken, .. } = tally;
        println!("{}: {sent} requests, {answered} answered, {broken} broken on purpose", self.mode);
        print!("{}", tally.table());
        println!("  in the storm: {peaks}");
        faults.check(sent == answered + broken, || format!("{sent} were sent, {answered} + {broken} accounted for"));
        if self.storm >= LONG {
            self.check_seen(&tally, &mut faults);
        }
        faults.append(tally.faults);
        if world.lost.load(Ordering::Relaxed) {
            faults.push(self.obituary(server));
            return faults;
        }

        println!("  after the storm: {}", outline(&wait_until_idle(&server, &mut faults)));
        faults.append(self.call(&world, "last").faults);
        println!("  after the call:  {}", outline(&wait_until_idle(&server, &mut faults)));
        println!("  {}", before.back_to(&server, &mut faults));
        self.stop(server, &world, &mut faults);
        faults
    }

    fn start(&self) -> Server {
        let mut arguments = vec!["serve", self.folder.to_str().unwrap(), "--execution", self.mode];
        arguments.extend(FLAGS);
        Server::start(&arguments, &[("RUST_LOG", "info,hearth::pool=warn")])
    }

    /// Calls one app after the other; all must behave as usual.
    fn call(&self, world: &World, name: &str) -> Tally {
        let mut visitor = Visitor::new(world, name, Company::Alone, Random::new(self.seed, 0));
        for app in self.apps {
            // One app of each kind is called in all ways, since some take seconds.
            let ways =
                if app.name.ends_with("-0") { app.kind.ways.len() } else { usize::from(app.kind.name != "never") };
            for way in 0..ways {
                let Ok(mut wire) = visitor.connect() else { return visitor.tally };
                let ask = visitor.ask_app(app, way);
                let _ = wire.send(&ask.bytes());
                visitor.finish(&ask, wire.reply());
            }
        }
        visitor.tally
    }

    fn storm(&self, world: &World, server: &Server) -> (Tally, Peaks) {
        let until = Instant::now() + self.storm;
        std::thread::scope(|scope| {
            let visitors: Vec<_> = (1..=VISITORS)
                .map(|number| {
                    let random = Random::new(self.seed, number);
                    let visitor = Visitor::new(world, &number.to_string(), Company::Crowd, random);
                    scope.spawn(move || visitor.run(until))
                })
                .collect();
            let mut peaks = Peaks::default();
            while Instant::now() < until && !world.lost.load(Ordering::Relaxed) {
                // A lost server is reported below.
                if catch_unwind(AssertUnwindSafe(|| peaks.update(server))).is_err() {
                    break;
                }
                std::thread::sleep(LOOK);
            }
            let mut all = Tally::default();
            visitors.into_iter().for_each(|visitor| all.add(visitor.join().unwrap()));
            (all, peaks)
        })
    }

    /// Every outcome must have been seen, or it was not tested.
    fn check_seen(&self, tally: &Tally, faults: &mut Faults) {
        for kind in &KINDS {
            let label = match kind.ways[0].outcomes[0] {
                Outcome::Answer => "answered",
                Outcome::Code(code) => code,
                Outcome::CutOff => "cut off",
            };
            faults.check(tally.count(kind.name, label) > 0, || format!("{} was never {label}", kind.name));
        }
    }

    /// A report about a server that has ended or does not respond.
    fn obituary(&self, mut server: Server) -> String {
        if server.is_running() {
            let report = server.report();
            return format!("the server does not answer: {}\n{}", outline(&report), self.keep(&server.log()));
        }
        let (status, log) = server.wait();
        format!("the server ended: {status}\n{}", self.keep(&log))
    }

    /// Keeps a log for the analysis of a fault, and returns its path.
    fn keep(&self, log: &str) -> String {
        let file = self.scratch.join(format!("{}.log", self.mode));
        std::fs::write(&file, log).unwrap();
        format!("the log is in {}", file.display())
    }

    /// SIGTERM, with requests in flight: they are answered, and the program exits with 0 in time.
    fn stop(&self, mut server: Server, world: &World, faults: &mut Faults) {
        let mut visitor = Visitor::new(world, "stop", Company::Alone, Random::new(self.seed, u64::MAX));
        let idle = visitor.connect();
        let entered = |server: &Server| {
            let report = server.report();
            FLYING.map(|app| report["owners"][app]["entered"].as_u64().unwrap_or(0))
        };
        let before = entered(&server);
        let mut flying = Vec::new();
        for name in FLYING {
            let app = self.apps.iter().find(|app| app.name == name).unwrap();
            let (ask, Ok(mut wire)) = (visitor.ask_app(app, 0), visitor.connect()) else { continue };
            let _ = wire.send(&ask.bytes());
            flying.push((ask, wire));
        }
        let deadline = Instant::now() + PATIENCE;
        // A request that has to start a worker is counted once more.
        let in_flight = || entered(&server).iter().zip(before).all(|(now, before)| *now > before);
        while !in_flight() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        server.signal("-TERM");
        let began = Instant::now();
        for (ask, mut wire) in flying {
            visitor.finish(&ask, wire.reply());
        }
        let left = idle.ok().map(|mut idle: Wire| idle.rest());
        faults.check(matches!(&left, Some(Ok(rest)) if rest.is_empty()), || format!("idle connection: {left:?}"));
        let (status, log) = server.wait();
        let took = began.elapsed();
        println!("  SIGTERM: {status} after {:.1} s", took.as_secs_f64());
        faults.check(status.code() == Some(0), || format!("the program ended with {status}"));
        faults.check(took < DRAIN, || format!("the program took {took:?} to end"));
        faults.append(visitor.tally.faults);
        for line in log.lines().filter(|line| line.contains(" ERROR ") || line.contains("panicked")) {
            faults.check(EXPECTED.iter().any(|known| line.contains(known)), || format!("in the log: {line}"));
        }
        if faults.count > 0 {
            println!("  {}", self.keep(&log));
        }
    }
}
