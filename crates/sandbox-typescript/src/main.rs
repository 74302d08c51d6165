//! TypeScript to JavaScript, inside the sandbox that the code belongs to: what a hostile source does to a parser, it does to
//! its own sandbox. Started by node for each program, with `FILE NAME`: reads the file, writes JavaScript to its output, or
//! what is wrong with the source, under that name, to its error output, and fails.
//!
//! | file | |
//! |---|---|
//! | `transpile.rs` | types off; enums, namespaces and parameter properties to code; an inline source map |
//! | `fault.rs` | where a source is wrong |
#![forbid(unsafe_code)]

mod fault;
mod transpile;

use std::io::Write;
use std::process::ExitCode;
use std::{env, fs, io, thread};

use transpile::transpile;

/// Parsing recurses with the nesting of the source. Costs address space only; a source that nests deeper ends the program.
const STACK: usize = 64 << 20;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let (Some(file), Some(name)) = (arguments.next(), arguments.next()) else {
        eprintln!("hearth-typescript: what is to be run, and how is it called?");
        return ExitCode::FAILURE;
    };
    let work = move || {
        let done = read(&file).and_then(|source| transpile(&name, &source).map_err(|fault| fault.to_string()));
        let written = done.and_then(|code| io::stdout().write_all(code.as_bytes()).map_err(|error| error.to_string()));
        written.map_err(|error| eprintln!("{error}"))
    };
    let done = thread::Builder::new().stack_size(STACK).spawn(work).map(thread::JoinHandle::join);
    match done {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read(file: &str) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    // As node reads a source.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
