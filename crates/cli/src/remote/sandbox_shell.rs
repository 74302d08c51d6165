//! `hearth sandbox shell`: lines for a shell in a sandbox, which keeps its folder and variables from line to line. The admin API
//! carries commands, not a terminal: what needs one (an editor, `top`) does not work here, which is said at the beginning.

use std::io::{BufRead as _, IsTerminal as _, Write as _, stderr, stdin, stdout};

use hearth_control::action::Action;
use hearth_control::sandboxes::SandboxAction;
use serde_json::json;

use super::Session;
use super::answers::RunResult;
use super::error::RemoteError;

/// How long a line may run.
const TIMEOUT_MS: u64 = 60 * 60 * 1000;

pub(super) fn shell(session: &Session, id: &str) -> Result<(), RemoteError> {
    // Whether it is there, before anything is entered.
    session.server.value(&Action::Sandbox(SandboxAction::Show { id: id.to_owned() }))?;
    let is_terminal = stdin().is_terminal();
    if is_terminal {
        eprintln!("bash, line by line and without a terminal; Ctrl-D ends it");
    }
    let name = format!("shell-{}", std::process::id());
    let run = |line: &str| -> Result<RunResult, RemoteError> {
        let arguments = json!({ "language": "bash", "code": line, "session": name, "timeout_ms": TIMEOUT_MS });
        let action = SandboxAction::Exec { id: id.to_owned(), arguments: arguments.to_string() };
        session.server.ask::<RunResult>(&Action::Sandbox(action)).map(|(_, result)| result)
    };
    let mut last = Ok(());
    let mut lines = stdin().lock().lines();
    loop {
        if is_terminal {
            let short = id.split('-').next().unwrap_or(id);
            // A prompt that cannot be seen changes nothing.
            let _ = write!(stderr(), "{short}$ ").and_then(|()| stderr().flush());
        }
        let Some(line) = lines.next().transpose().map_err(RemoteError::Input)? else { break };
        if line.trim().is_empty() {
            continue;
        }
        let result = run(&line)?;
        stdout().write_all(result.stdout.as_bytes()).and_then(|()| stdout().flush()).map_err(RemoteError::Output)?;
        stderr().write_all(result.stderr.as_bytes()).map_err(RemoteError::Output)?;
        last = result.ending();
        if result.session_lost {
            // `exit`, or what killed it.
            return last;
        }
        if let (true, Err(RemoteError::Command { why: Some(why), .. })) = (is_terminal, &last) {
            eprintln!("{why}");
        }
    }
    // Its interpreter would wait for ever. It may be gone already.
    let _ = run("exit");
    last
}
