//! Chaos: faults of all kinds, one after the other, while clients request harmless apps. No request may be refused or get a
//! wrong response; only requests in flight in a crashed cell may be lost; and in the end no process, no descriptor and no
//! memory of control may be left over. `make chaos`; the sequence of faults follows from a seed.
//!
//! `CHAOS_SECONDS`: duration (300). `CHAOS_SEED`: a seed that an earlier run has printed.
#![allow(clippy::unwrap_used)]

use std::process::{Command, ExitCode};
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

mod faults;

#[allow(dead_code)]
#[path = "../all/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../all/folder.rs"]
mod folder;
#[allow(dead_code)]
#[path = "../soak/random.rs"]
mod random;
#[allow(dead_code)]
#[path = "../all/server.rs"]
mod server;
#[allow(dead_code)]
#[path = "../all/visitors.rs"]
mod visitors;

use crate::faults::{Fault, World};
use crate::folder::eventually;
use crate::random::Random;
use crate::visitors::Visitors;

const VISITORS: usize = 4;
/// Maximum growth of control.
const GROWTH: u64 = 64 << 20;
const DESCRIPTORS: usize = 8;

fn main() -> ExitCode {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = setting("CHAOS_SEED").unwrap_or(clock.as_nanos() as u64 % 1_000_000_000);
    let seconds: u64 = setting("CHAOS_SECONDS").unwrap_or(300);
    println!("chaos: CHAOS_SEED={seed} CHAOS_SECONDS={seconds}");
    // Under V8's own lock and without it.
    let modes = ["auto", "pooled"];
    for mode in modes {
        storm(mode, seed, Duration::from_secs(seconds) / modes.len() as u32);
    }
    println!("chaos: no faults of ours");
    ExitCode::SUCCESS
}

/// Injects faults for `length`, in one mode.
fn storm(mode: &str, seed: u64, length: Duration) {
    println!("{mode}:");
    let mut random = Random::new(seed, 0);
    let world = World::begin(mode);
    let server = &world.server;
    let visitors = Visitors::come(server, VISITORS, "/victim/", "well");
    visitors.await_more(server, 50);
    let before = (descriptors(server.id()), memory(server.id()));
    let (until, mut lossy, mut done) = (Instant::now() + length, 0, Vec::new());
    while Instant::now() < until {
        let fault = *random.pick(&Fault::ALL);
        let lost = visitors.lost();
        world.commit(fault, &mut random);
        visitors.await_more(server, 20);
        lossy += u64::from(fault.costs_requests());
        assert!(
            fault.costs_requests() || visitors.lost() - lost <= world.belated() * VISITORS as u64,
            "{fault:?} cost {} requests; the log:\n{}",
            visitors.lost() - lost,
            server.log()
        );
        done.push(fault);
    }
    let lost = visitors.go(server);
    for fault in Fault::ALL {
        println!("  {:>4} {fault:?}", done.iter().filter(|one| **one == fault).count());
    }
    println!("  {lost} requests were lost in {lossy} faults that may cost some");
    assert!(lost <= (lossy + world.belated()) * VISITORS as u64);
    wait_until_balanced(&world);
    // Descriptors of connections are closed shortly after the connections.
    eventually(server, "no descriptor is left open", || descriptors(server.id()) <= before.0 + DESCRIPTORS);
    let after = (descriptors(server.id()), memory(server.id()));
    println!("  control: {} to {} descriptors, {} to {} MB", before.0, after.0, before.1 >> 20, after.1 >> 20);
    assert!(after.1 <= before.1 + GROWTH, "control has grown");
}

/// Waits until the server is idle, and created cells and isolates are destroyed or live.
fn wait_until_balanced(world: &World) {
    let server = &world.server;
    world.remove_culprits();
    eventually(server, "created - destroyed = live, of cells", || {
        let live = world.metric("hearth_cells_serving") + world.metric("hearth_cells_standby");
        let balance = world.metric("hearth_cells_created_total") - world.metric("hearth_cells_destroyed_total");
        balance == live && world.children().len() as u64 == live && world.metric("hearth_cells_standby") == 1
    });
    eventually(server, "created - destroyed = live, of isolates", || {
        let balance = world.metric("hearth_isolates_created_total") - world.metric("hearth_isolates_destroyed_total");
        balance == world.metric("hearth_workers") + world.metric("hearth_spares")
    });
}

fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn signal(process: u32, signal: &str) {
    // The process may have ended already.
    let _ = Command::new("kill").args([signal, &process.to_string()]).stderr(std::process::Stdio::null()).status();
}

/// A number from an environment variable.
fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} makes no sense")))
}
