//! The agent: the first process in a sandbox. It runs what its client requests, returns the output,
//! and reaps all processes. One thread, one epoll: nothing blocks but the loop itself.
//!
//! | file | |
//! |---|---|
//! | `agent.rs` | the loop, and what each request does |
//! | `connection.rs` | the connection to the client |
//! | `poll.rs` | what the loop waits for |
//! | `vm_port.rs` | the port of a virtual machine, as a connection |
//! | `tunnel_stream.rs` | a program's connection to the proxy outside |
//! | `child.rs` | a process that the agent started |
//! | `exec_state.rs` | one exec: limits, deadline, input |
//! | `spawn.rs` | new processes |
//! | `interpreter.rs` | interpreters that are started ahead |
//! | `kill_tree.rs` | killing a process and all its descendants |
//! | `interpreters.rs` | what runs which language, and where sources lie |
//! | `fork_server.rs` | a python that forks for each program |
//! | `files.rs`, `file_writer.rs` | the file requests |
//!
//! The connection is descriptor 0, or the port that `--port=` names. Its end is the end of the sandbox: the first process of a
//! pid namespace takes all others with it.
#![forbid(unsafe_code)]

mod agent;
mod child;
mod connection;
mod exec_state;
mod file_writer;
mod files;
mod fork_server;
mod interpreter;
mod interpreters;
mod kill_tree;
mod poll;
mod spawn;
mod tunnel_stream;
mod vm_port;

use std::process::ExitCode;

fn main() -> ExitCode {
    // In a virtual machine the connection is a port with a name.
    let argument = |name: &str| std::env::args().find_map(|argument| argument.strip_prefix(name).map(str::to_owned));
    let port = argument("--port=");
    if let Some(Err(error)) = port.map(|port| vm_port::attach(&port)) {
        eprintln!("hearth-agent: {error}");
        return ExitCode::FAILURE;
    }
    // Memory limit of all processes together, where nothing else enforces one.
    let memory = argument("--memory=").and_then(|bytes| bytes.parse().ok());
    match agent::Agent::start(memory).and_then(|mut agent| agent.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
