//! What pools cost, in each way of running: warm requests, cold starts, fresh contexts and isolates, memory, contention.
//! Run by hand: `cargo bench -p hearth-cell`, or with sections' names (`cargo bench -p hearth-cell -- cold memory`).
//! Prints, and asserts nothing about time.

#![allow(clippy::unwrap_used)]

#[path = "pools/cold.rs"]
mod cold;
#[path = "pools/contention.rs"]
mod contention;
#[path = "pools/fresh.rs"]
mod fresh;
#[path = "pools/memory.rs"]
mod memory;
#[path = "../../runtime/tests/support/one_module.rs"]
#[allow(dead_code)]
mod one_module;
#[path = "pools/stage.rs"]
mod stage;
#[path = "pools/table.rs"]
mod table;
#[path = "pools/versions.rs"]
mod versions;
#[path = "pools/warm.rs"]
mod warm;

use std::env;
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::time::Duration;

use hearth_runtime::{JsThreads, Platform};

use crate::stage::Stage;

/// As the program has it: memory and allocations are part of what is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Section {
    name: &'static str,
    threads: usize,
    run: fn(Stage) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

const SECTIONS: [Section; 6] = [
    Section { name: "warm", threads: 2, run: |stage| Box::pin(warm::run(stage)) },
    Section { name: "versions", threads: 2, run: |stage| Box::pin(versions::run(stage)) },
    Section { name: "contention", threads: 2, run: |stage| Box::pin(contention::run(stage)) },
    Section { name: "cold", threads: 2, run: |stage| Box::pin(cold::run(stage)) },
    // The target is for one core.
    Section { name: "fresh", threads: 1, run: |stage| Box::pin(fresh::run(stage)) },
    Section { name: "memory", threads: 2, run: |stage| Box::pin(memory::run(stage)) },
];

fn main() -> ExitCode {
    let wanted: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let known = |name: &String| SECTIONS.iter().any(|section| section.name == *name);
    if let Some(name) = wanted.iter().find(|name| !known(name)) {
        eprintln!("no section {name:?}: there are {}", SECTIONS.map(|section| section.name).join(", "));
        return ExitCode::FAILURE;
    }
    let mut chosen =
        SECTIONS.iter().filter(|section| wanted.is_empty() || wanted.iter().any(|name| name == section.name));
    if wanted.len() == 1 {
        chosen.for_each(perform);
        return ExitCode::SUCCESS;
    }
    // Each in a process of its own: what one leaves in the heap would be counted, or used again, by the next.
    let all_well = chosen.all(|section| {
        let program = env::current_exe().unwrap();
        Command::new(program).arg(section.name).status().unwrap().success()
    });
    if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn perform(section: &Section) {
    let platform = Platform::init().unwrap();
    let threads = JsThreads::start(section.threads).unwrap();
    let stage = Stage::new(platform, threads.turn_pools(), section.threads);
    // Not on this thread but on one that serves requests.
    let section = threads.handle().spawn((section.run)(stage));
    threads.block_on(section).unwrap();
    threads.shutdown(Duration::from_secs(1));
}
