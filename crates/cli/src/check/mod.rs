//! `hearth check`: whether apps can be served, without running them. All findings are listed, with file, line and column where
//! known.
//!
//! | file | |
//! |---|---|
//! | `targets.rs` | the apps that a path names: one, or all in a folder |
//! | `app.rs` | one app: manifest, `.env`, entry, files |
//! | `graph.rs` | its modules |
//! | `finding.rs` | findings, as text and as JSON |

mod app;
mod finding;
mod graph;
mod targets;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hearth_apps::discovery::{discover, resolve_precedence};
use hearth_config::OperatorConfig;
use hearth_core::AppName;
use serde_json::json;

use self::app::Checked;
use self::finding::{Finding, Severity};
pub use self::targets::{CheckTarget, is_app, name_of};
use crate::terminal::{ConsoleStream, Style, Tint, count};

#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Apps, or folders of apps.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folders: Vec<PathBuf>,
    /// A hearth.yaml to check too; what it says about apps counts.
    #[arg(long, env = "HEARTH_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

/// The apps that were checked, and all findings.
#[derive(Debug, Default)]
pub struct CheckReport {
    apps: Vec<Checked>,
    findings: Vec<Finding>,
}

pub fn check(options: &CheckOptions) -> ExitCode {
    let report = CheckReport::new(&options.folders, options.config.as_deref());
    let text = if options.json { report.json() } else { report.text(Style::for_stream(ConsoleStream::Output)) };
    // A closed pipe (`| head`) is no failure: the exit code has the result.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if report.count(Severity::Error) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

// === impl CheckReport ===

impl CheckReport {
    /// `config` is the operator's file, if it applies.
    pub fn new(folders: &[PathBuf], config: Option<&Path>) -> Self {
        let mut report = Self::default();
        let operator = config.map_or_else(OperatorConfig::default, |file| report.operator(file));
        let mut roots = Vec::new();
        for folder in folders {
            match CheckTarget::from_path(folder) {
                Ok(CheckTarget::App { folder, name }) => {
                    let checked = app::check(&folder, &name, None, &operator, &mut report.findings);
                    report.apps.push(checked);
                }
                Ok(CheckTarget::Folder(root)) => roots.push(root),
                Err(finding) => report.findings.push(finding),
            }
        }
        if !roots.is_empty() {
            report.folders(&roots, &operator);
        }
        report
    }

    fn operator(&mut self, file: &Path) -> OperatorConfig {
        let parsed = match std::fs::read_to_string(file) {
            Ok(text) => OperatorConfig::parse(&text, file),
            Err(error) => {
                self.findings.push(Finding::error(file, format!("cannot be read: {error}")));
                return OperatorConfig::default();
            }
        };
        parsed.unwrap_or_else(|errors| {
            self.findings.extend(errors.iter().map(|error| Finding::of_config(None, error)));
            OperatorConfig::default()
        })
    }

    /// Checks what `hearth serve` would find in these folders.
    fn folders(&mut self, roots: &[PathBuf], operator: &OperatorConfig) {
        let discovered = discover(roots);
        for problem in discovered.problems {
            self.findings.push(Finding::error(&problem.path, problem.cause.to_string()));
        }
        if discovered.found.is_empty() {
            for root in roots {
                let message = "holds no app: an app is a folder in it with an index.ts, index.js or index.html";
                self.findings.push(Finding::error(root, message.to_owned()));
            }
        }
        let mut versions = Vec::new();
        for mut found in discovered.found {
            let folder = found.folder.clone();
            let checked = app::check(&folder, &found.name, found.version.clone(), operator, &mut self.findings);
            found.name = checked.name.clone();
            versions.push((found, checked.version.clone()));
            self.apps.push(checked);
        }
        let (_, collisions) = resolve_precedence(versions);
        for problem in collisions {
            self.findings.push(Finding::error(&problem.path, problem.cause.to_string()));
        }
    }

    /// Each app's name and folder.
    pub fn folders_by_name(&self) -> Vec<(AppName, PathBuf)> {
        self.apps.iter().map(|app| (app.name.clone(), app.folder.clone())).collect()
    }

    /// In the order of their folders.
    pub fn names(&self) -> Vec<AppName> {
        let mut names: Vec<AppName> = self.apps.iter().map(|app| app.name.clone()).collect();
        names.dedup();
        names
    }

    /// All findings as text; empty if there are none.
    pub fn findings(&self, style: Style) -> String {
        self.findings.iter().map(|finding| finding.text(style) + "\n").collect()
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    fn json(&self) -> String {
        let apps: Vec<_> = self.apps.iter().map(Checked::json).collect();
        let findings: Vec<_> = self.findings.iter().map(Finding::json).collect();
        let (errors, warnings) = (self.count(Severity::Error), self.count(Severity::Warning));
        format!("{}\n", json!({ "apps": apps, "findings": findings, "errors": errors, "warnings": warnings }))
    }

    fn text(&self, style: Style) -> String {
        let mut out = self.findings(style);
        let (errors, warnings) = (self.count(Severity::Error), self.count(Severity::Warning));
        let said = format!(
            "{} checked: {}, {}\n",
            count(self.apps.len() as u64, "app"),
            count(errors as u64, "error"),
            count(warnings as u64, "warning")
        );
        let tint = match (errors, warnings) {
            (0, 0) => Tint::Green,
            (0, _) => Tint::Yellow,
            _ => Tint::Red,
        };
        out.push_str(&style.paint(tint, said.trim_end()));
        out.push('\n');
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
