//! `hearth doctor`: what this machine offers to Hearth, the consequences, and what to do. It changes nothing.
//!
//! | file | |
//! |---|---|
//! | `finding.rs` | one aspect that was examined, and how it is shown |
//! | `kernel.rs` | isolation: Landlock, seccomp, namespaces, control groups |
//! | `machine.rs` | limits and sizes |
//! | `config.rs` | the operator's part: configuration, data folder, ports |
//! | `sandboxes.rs` | which kinds of sandbox can run here |

mod config;
mod finding;
mod kernel;
mod machine;
mod sandboxes;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use self::finding::{DoctorFinding, State};
pub use self::kernel::check_jail;
use crate::serve::DATA;
use crate::terminal::{Align, ConsoleStream, Style, Table, Tint};

#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// The configuration; default ./hearth.yaml if it is there.
    #[arg(long, env = "HEARTH_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where state is kept; default ./.hearth.
    #[arg(long, env = "HEARTH_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

/// Fails where something keeps Hearth from serving as it is configured.
pub fn doctor(options: &DoctorOptions) -> ExitCode {
    let findings = examine(options);
    let text = if options.json { json(&findings) } else { text(&findings, Style::for_stream(ConsoleStream::Output)) };
    // A closed pipe (`| head`) is no failure: the exit code has the result.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    let is_well = findings.iter().all(|finding| finding.state != State::Bad);
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn examine(options: &DoctorOptions) -> Vec<DoctorFinding> {
    let (operator, configuration) = config::configuration(options.config.as_deref());
    let jail = operator.jail.unwrap_or(hearth_config::JailMode::Auto);
    let mut findings = kernel::examine(jail);
    findings.extend(machine::examine());
    findings.push(configuration);
    let data = options.data.clone().or(operator.data.clone()).unwrap_or_else(|| DATA.into());
    findings.extend(config::examine(&data, &operator));
    findings.extend(sandboxes::examine(&data, &operator));
    findings
}

fn json(findings: &[DoctorFinding]) -> String {
    let is_well = findings.iter().all(|finding| finding.state != State::Bad);
    let all: Vec<_> = findings.iter().map(DoctorFinding::json).collect();
    format!("{:#}\n", json!({ "ok": is_well, "checks": all }))
}

/// A table, and below it what to do.
fn text(findings: &[DoctorFinding], style: Style) -> String {
    let mut table = Table::new(&[("CHECK", Align::Left), ("STATE", Align::Left), ("FOUND", Align::Left)]);
    for finding in findings {
        let (word, tint) = finding.state.word();
        table.row([(finding.check.to_owned(), None), (word.to_owned(), Some(tint)), (finding.found.clone(), None)]);
    }
    let mut text = table.write(style);
    for finding in findings {
        if let Some(advice) = &finding.advice {
            let (_, tint) = finding.state.word();
            text.push_str(&format!("\n{}: {}\n", style.paint(tint, finding.check), advice.means));
            text.push_str(&format!("  {} {}\n", style.paint(Tint::Bold, "fix:"), advice.fix));
        }
    }
    text
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
