//! The soak: hundreds of apps, good and bad, and clients that do everything that can be done to a server, for minutes, in
//! every way of running. Afterwards nothing may be left of it: no isolate, permit, thread, descriptor or memory; and nobody
//! may have had an answer that was not theirs. `make soak`; what it does follows from a seed, which it says.
//!
//! `SOAK_SECONDS`: how long all storms take together (180). `SOAK_SEED`: a seed that was said before. `SOAK_MODES`: some of
//! the ways, by comma.
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

mod acts;
mod apps;
mod ask;
mod random;
mod settle;
mod tally;
mod trial;
mod visitor;
mod wire;

// What the integration tests start the program with, and ask it.
#[allow(dead_code)]
#[path = "../all/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../all/server.rs"]
mod server;

use crate::settle::MODES;
use crate::trial::Plan;

fn main() -> ExitCode {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = setting("SOAK_SEED").unwrap_or(clock.as_nanos() as u64 % 1_000_000_000);
    let seconds: u64 = setting("SOAK_SECONDS").unwrap_or(180);
    let chosen: String = setting("SOAK_MODES").unwrap_or_else(|| MODES.join(","));
    let modes: Vec<&'static str> =
        MODES.into_iter().filter(|mode| chosen.split(',').any(|name| name == *mode)).collect();
    let scratch = server::scratch("soak");
    let folder = scratch.join("apps");
    let apps = apps::write(&folder).unwrap();
    println!("soak: SOAK_SEED={seed} SOAK_SECONDS={seconds}, {} apps", apps.len());

    let mut count = 0;
    for mode in &modes {
        let storm = Duration::from_secs(seconds) / modes.len() as u32;
        let plan = Plan { mode, folder: &folder, scratch: &scratch, apps: &apps, seed, storm };
        let faults = plan.run();
        for fault in faults.told() {
            println!("  FAULT {fault}");
        }
        count += faults.count;
    }
    if count > 0 || modes.is_empty() {
        println!("soak: {count} faults; again with SOAK_SEED={seed}; the apps are in {}", folder.display());
        return ExitCode::FAILURE;
    }
    // Left behind it would do no harm.
    let _ = std::fs::remove_dir_all(scratch);
    println!("soak: no faults");
    ExitCode::SUCCESS
}

/// A number or text of the environment's.
fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} makes no sense")))
}
