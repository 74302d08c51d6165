//! `hearth sandbox shell`: sends lines to a shell in a sandbox, which keeps its folder and variables. The admin API carries
//! commands, not a terminal: programs that need one (an editor, `top`) do not work, as the greeting says.

use std::io::{BufRead as _, IsTerminal as _, Write as _, stderr, stdin, stdout};

use hearth_control::action::Action;
use hearth_control::sandboxes::SandboxAction;
use serde_json::json;

use super::Session;
use super::error::RemoteError;
use super::responses::RunResult;

/// The timeout of a line.
const TIMEOUT_MS: u64 = 60 * 60 * 1000;

pub(super) fn shell(session: &Session, id: &str) -> Result<(), RemoteError> {
    // Fails early if the sandbox does not exist.
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
            // The shell goes on if the prompt cannot be written.
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
            // `exit`, or a signal that killed the shell.
            return last;
        }
        if let (true, Err(RemoteError::Command { why: Some(why), .. })) = (is_terminal, &last) {
            eprintln!("{why}");
        }
    }
    // The interpreter would wait for more lines. It may have ended already.
    let _ = run("exit");
    last
}
