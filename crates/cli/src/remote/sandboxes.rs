//! `hearth sandbox`: operations on a server's sandboxes.

use std::fmt::Write as _;
use std::io::{Write as _, stderr, stdout};
use std::time::Duration;

use hearth_control::action::Action;
use hearth_control::sandboxes::SandboxAction;
use serde_json::{Map, Value, json};

use super::error::RemoteError;
use super::options::{SandboxCommand, SandboxCreateOptions, SandboxExecOptions};
use super::output::Format;
use super::responses::{RunResult, Sandbox, SandboxList, SandboxStats};
use super::task::input;
use super::{Session, sandbox_copy, sandbox_shell};
use crate::terminal::{Align, Style, Table, Tint, escape, size, time};

pub(super) fn sandbox(session: &Session, command: SandboxCommand) -> Result<(), RemoteError> {
    match command {
        SandboxCommand::Create(options) => create(session, options),
        SandboxCommand::Exec(options) => exec(session, options),
        SandboxCommand::Shell { id } => sandbox_shell::shell(session, &id),
        SandboxCommand::Cp { recursive: true, from, to } => sandbox_copy::copy_folder(session, &from, &to),
        SandboxCommand::Cp { recursive: false, from, to } => sandbox_copy::copy(session, &from, &to),
        SandboxCommand::Ls => list(session),
        SandboxCommand::Rm { ids } => remove(session, ids),
        SandboxCommand::Stats => stats(session),
    }
}

fn create(session: &Session, options: SandboxCreateOptions) -> Result<(), RemoteError> {
    let SandboxCreateOptions { memory_mib, disk_mib, cpus, image, env, allow, full_network } = options;
    let mut arguments = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), value);
        }
    };
    set("memory_mib", memory_mib.map(Value::from));
    set("disk_mib", disk_mib.map(Value::from));
    set("vcpu_count", cpus.map(Value::from));
    set("image", image.map(Value::from));
    set(
        "env",
        (!env.is_empty()).then(|| env.into_iter().collect::<std::collections::BTreeMap<_, _>>()).map(|env| json!(env)),
    );
    set("allowed_hosts", (!allow.is_empty()).then(|| json!(allow)));
    set("network", full_network.then(|| json!("full")));
    let action = SandboxAction::Create { arguments: Value::Object(arguments).to_string() };
    let (value, made) = session.server.ask::<Sandbox>(&Action::Sandbox(action))?;
    session.output.answer(&value, |_| escape(&made.sandbox_id))
}

/// One argument is a line for the shell; several are a program and its arguments, which are quoted again.
fn line(command: &[String]) -> String {
    match command {
        [line] => line.clone(),
        several => several.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Writes the command's output, and ends with its exit code.
fn exec(session: &Session, options: SandboxExecOptions) -> Result<(), RemoteError> {
    let SandboxExecOptions { id, language, timeout, stdin, command } = options;
    let mut arguments = json!({});
    match language {
        Some(language) => {
            arguments["language"] = json!(language);
            arguments["code"] = json!(command.join(" "));
        }
        None => arguments["command"] = json!(line(&command)),
    }
    if let Some(timeout) = timeout {
        arguments["timeout_ms"] = json!(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    }
    if stdin {
        arguments["stdin"] = json!(input()?);
    }
    let action = SandboxAction::Exec { id, arguments: arguments.to_string() };
    let (value, result) = session.server.ask::<RunResult>(&Action::Sandbox(action))?;
    if session.output.format == Format::Json {
        session.output.answer(&value, |_| String::new())?;
    } else {
        // Not escaped: the user wants the command's bytes.
        stdout().write_all(result.stdout.as_bytes()).map_err(RemoteError::Output)?;
        stderr().write_all(result.stderr.as_bytes()).map_err(RemoteError::Output)?;
    }
    result.ending()
}

fn list(session: &Session) -> Result<(), RemoteError> {
    let (value, list) = session.server.ask::<SandboxList>(&Action::Sandbox(SandboxAction::List))?;
    session.output.answer(&value, |style| list_text(&list.sandboxes, style))
}

fn remove(session: &Session, ids: Vec<String>) -> Result<(), RemoteError> {
    for id in ids {
        let value = session.server.value(&Action::Sandbox(SandboxAction::Destroy { id: id.clone() }))?;
        session.output.answer(&value, |_| format!("destroyed {}", escape(&id)))?;
    }
    Ok(())
}

fn stats(session: &Session) -> Result<(), RemoteError> {
    let (value, stats) = session.server.ask::<SandboxStats>(&Action::Sandbox(SandboxAction::Stats))?;
    session.output.answer(&value, |_| stats_text(&stats))
}

fn list_text(sandboxes: &[Sandbox], style: Style) -> String {
    let mut table = Table::new(&[
        ("SANDBOX", Align::Left),
        ("STATE", Align::Left),
        ("OWNER", Align::Left),
        ("CREATED", Align::Left),
        ("IDLE", Align::Right),
        ("JOBS", Align::Right),
        ("MEMORY", Align::Right),
    ]);
    for one in sandboxes {
        let tint = if one.state == "ready" { Tint::Green } else { Tint::Red };
        let limit = one.memory_mib << 20;
        let memory = one.memory_used.map_or_else(|| size(limit), |used| format!("{} of {}", size(used), size(limit)));
        table.row([
            (one.sandbox_id.clone(), Some(Tint::Bold)),
            (one.state.clone(), Some(tint)),
            (one.owner.clone(), None),
            (one.created_at.clone(), None),
            (time(Duration::from_millis(one.idle_ms)), None),
            (one.jobs.to_string(), None),
            (memory, None),
        ]);
    }
    if table.is_empty() { "no sandboxes".to_owned() } else { table.write(style) }
}

fn stats_text(stats: &SandboxStats) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "in use      {} of {}", stats.held, stats.limit);
    let _ = writeln!(out, "ready       {}, {} being started", stats.ready, stats.booting);
    let _ = writeln!(out, "found ready {} of {}", stats.warm_hits, stats.warm_hits + stats.cold_misses);
    let _ =
        writeln!(out, "ever        {} started, {} destroyed, {} failed", stats.created, stats.destroyed, stats.failed);
    let _ = writeln!(out, "health      {}", escape(&stats.health.status));
    for reason in &stats.health.reasons {
        let _ = writeln!(out, "            {}", escape(reason));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_argument_is_a_line_and_several_are_words() {
        let words = |all: &[&str]| line(&all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["echo $HOME; ls"]), "echo $HOME; ls");
        assert_eq!(words(&["echo", "it's $HOME"]), r"'echo' 'it'\''s $HOME'");
    }
}
