//! `hearth jail-probe`: enters the jail of a cell, by the same function that cells use, attempts what the jail forbids, and
//! prints the results as JSON. The attempts come as JSON on standard input. For tests, and for operators that verify the jail.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use hearth_cell::process::jail;
use hearth_ipc::{CellRole, JailPlan};
use hearth_jail::escape_probe::{self, ProbeExpectation, ProbeOutcome, ProbeResult, ProbeTargets};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    jail: JailPlan,
    role: CellRole,
    unreadable: Vec<PathBuf>,
    unwritable: Vec<PathBuf>,
    readable: PathBuf,
    process: u32,
    socket: String,
    address: SocketAddr,
    door: PathBuf,
}

pub fn probe() -> anyhow::Result<()> {
    let order: Order = serde_json::from_reader(std::io::stdin()).context("cannot read what to try")?;
    let Order { jail, role, unreadable, unwritable, readable, process, socket, address, door } = order;
    let jail = jail::enter(&jail, role)?;
    let doors = jail::sockets(role);
    let targets = ProbeTargets {
        unreadable,
        unwritable,
        readable,
        process,
        socket,
        address,
        unix_socket: door,
        unix_sockets: doors,
    };
    let results: Vec<Value> = escape_probe::run(&targets).iter().map(row).collect();
    let gaps: Vec<String> = jail.missing.iter().map(ToString::to_string).collect();
    writeln!(std::io::stdout(), "{}", json!({ "gaps": gaps, "attempts": results }))?;
    Ok(())
}

fn row(attempt: &ProbeResult) -> Value {
    let expected = match attempt.expected {
        ProbeExpectation::Refused => "refused",
        ProbeExpectation::Allowed => "done",
    };
    let (outcome, error) = match &attempt.outcome {
        ProbeOutcome::Done => ("done", None),
        ProbeOutcome::Refused(error) => ("refused", Some(error)),
        ProbeOutcome::Failed(error) => ("failed", Some(error)),
    };
    json!({ "what": attempt.what, "wanted": expected, "outcome": outcome, "error": error })
}
