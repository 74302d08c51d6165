//! The soak: hundreds of good and bad apps, and clients that use and misuse the server in all ways, for minutes, in every
//! mode. Afterwards no isolate, permit, thread, descriptor or memory may be left over, and no request may have had the
//! response to another. `make soak`; all of it follows from a seed, which is printed.
//!
//! `SOAK_SECONDS`: duration of all storms together (180). `SOAK_SEED`: a seed that was printed before. `SOAK_MODES`: some of
//! the modes, separated by commas.
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

mod acts;
mod apps;
mod ask;
mod idle;
mod random;
mod tally;
mod trial;
mod visitor;
mod wire;

// Shared with the integration tests: starts the program, and sends requests.
#[allow(dead_code)]
#[path = "../all/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../all/server.rs"]
mod server;

use crate::idle::MODES;
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
        for fault in faults.printed() {
            println!("  FAULT {fault}");
        }
        count += faults.count;
    }
    if count > 0 || modes.is_empty() {
        println!("soak: {count} faults; again with SOAK_SEED={seed}; the apps are in {}", folder.display());
        return ExitCode::FAILURE;
    }
    // A folder that cannot be removed does no harm.
    let _ = std::fs::remove_dir_all(scratch);
    println!("soak: no faults");
    ExitCode::SUCCESS
}

/// A number or text from an environment variable.
fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} makes no sense")))
}
