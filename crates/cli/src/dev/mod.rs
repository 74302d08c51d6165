//! `hearth dev`: a server for development. It is `hearth serve` as a process of its own in a workspace made for it, with its
//! log shown in another way: apps' output is printed unchanged, errors are shown with their source line, and after every
//! change the apps are checked, so that an error is shown before a request meets it.
//!
//! | file | |
//! |---|---|
//! | `workspace.rs` | what is served: one app at `/`, or a folder of apps |
//! | `child.rs` | the server's process: its output, its end |
//! | `secrets.rs` | the secrets of `.env.local` |
//! | `log_view.rs` | how the server's log is shown |

mod child;
mod log_view;
mod secrets;
mod workspace;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hearth_config::parse_listen;

pub use self::child::serve as serve_child;
use self::child::{Child, Heard};
use self::log_view::LogView;
use self::secrets::SecretsError;
use self::workspace::{Workspace, WorkspaceError};

/// A change is checked when the log has been silent for this long: several lines are about the same change.
const QUIET: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub struct DevOptions {
    /// An app's folder or entry, or a folder of apps.
    #[arg(default_value = ".", value_name = "DIR|FILE")]
    pub path: PathBuf,
    /// Where to listen.
    #[arg(long, env = "HEARTH_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// Where state is kept [default: nowhere: it is gone at the end].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum DevError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error("the server cannot be started: {0}")]
    Start(std::io::Error),
    #[error("signals cannot be watched: {0}")]
    Signals(std::io::Error),
    #[error("the server cannot be ended: {0}")]
    End(std::io::Error),
}

pub fn dev(options: &DevOptions) -> anyhow::Result<ExitCode> {
    Ok(serve(options)?)
}

fn serve(options: &DevOptions) -> Result<ExitCode, DevError> {
    let workspace = Workspace::new(options)?;
    secrets::put(&workspace.data, &workspace.apps())?;
    let mut view = LogView::new(&workspace);
    let mut child = Child::start(&workspace, options.listen)?;
    let mut stops = 0;
    loop {
        match child.hear(view.is_stale().then_some(QUIET)) {
            Heard::Log(line) => view.log(&line),
            Heard::Access(line) => view.access(&line),
            Heard::Silence => view.look(),
            Heard::Stop => {
                stops += 1;
                if stops == 1 { child.end()? } else { child.kill()? }
            }
            Heard::End => break,
        }
    }
    let status = child.wait()?;
    // An end that was asked for is a success.
    let is_good = status.success() || stops > 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
