//! The agent: the first process in a sandbox. It runs what its client asks for, gives back what that prints, and buries the
//! dead. One thread, one epoll: nothing here waits but the loop itself.
//!
//! | file | |
//! |---|---|
//! | `agent.rs` | the loop, and what each request does |
//! | `connection.rs` | to the client |
//! | `poll.rs` | what the loop waits for |
//! | `port.rs` | a virtual machine's port, which is open before anybody is there |
//! | `passage.rs` | a program's connection to the proxy outside |
//! | `body.rs` | a process that runs, is kept, or waits |
//! | `run.rs` | one exec: limits, deadline, what is known of its end |
//! | `spawn.rs` | new processes |
//! | `engine.rs` | interpreters that are worth starting ahead |
//! | `tree.rs` | the end of a process and all its descendants |
//! | `interpreters.rs` | what runs which language, and where sources lie |
//! | `python.rs` | an interpreter that forks for each program |
//! | `files.rs`, `write.rs` | the file requests |
//!
//! The connection is descriptor 0, or the port that `--port=` names. Its end is the end of the sandbox: the first process of a
//! pid namespace takes all others with it.
#![forbid(unsafe_code)]

mod agent;
mod body;
mod connection;
mod engine;
mod files;
mod interpreters;
mod passage;
mod poll;
mod port;
mod python;
mod run;
mod spawn;
mod tree;
mod write;

use std::process::ExitCode;

fn main() -> ExitCode {
    // In a virtual machine the connection is a port with a name.
    let argument = |name: &str| std::env::args().find_map(|argument| argument.strip_prefix(name).map(str::to_owned));
    let port = argument("--port=");
    if let Some(Err(error)) = port.map(|port| port::take(&port)) {
        eprintln!("hearth-agent: {error}");
        return ExitCode::FAILURE;
    }
    // What its processes may have together, where nothing else holds that.
    let memory = argument("--memory=").and_then(|bytes| bytes.parse().ok());
    match agent::Agent::start(memory).and_then(|mut agent| agent.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
