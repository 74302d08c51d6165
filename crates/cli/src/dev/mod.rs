//! `hearth dev`: a server for whoever writes an app. It is `hearth serve` as a process of its own, with a stage made for it
//! and its log told in another way: what apps print is printed, errors are shown with the line they are about, and after
//! every change the apps are checked, so that a mistake is seen before anybody asks for it.
//!
//! | file | |
//! |---|---|
//! | `stage.rs` | what is served: one app at `/`, or a folder of apps |
//! | `child.rs` | the server's process: its output, its end |
//! | `secrets.rs` | what `.env.local` says |
//! | `screen.rs` | what is shown of its log |

mod child;
mod screen;
mod secrets;
mod stage;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hearth_config::parse_listen;

pub use self::child::serve as serve_child;
use self::child::{Child, Heard};
use self::screen::Screen;
use self::secrets::SecretsError;
use self::stage::{Stage, StageError};

/// A change is looked at when the log has been silent for this long: several lines are about the same change.
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
    Stage(#[from] StageError),
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
    let stage = Stage::set(options)?;
    secrets::put(&stage.data, &stage.apps())?;
    let mut screen = Screen::new(&stage);
    let mut child = Child::start(&stage, options.listen)?;
    let mut stops = 0;
    loop {
        match child.hear(screen.is_stale().then_some(QUIET)) {
            Heard::Log(line) => screen.log(&line),
            Heard::Access(line) => screen.access(&line),
            Heard::Silence => screen.look(),
            Heard::Stop => {
                stops += 1;
                if stops == 1 { child.end()? } else { child.kill()? }
            }
            Heard::End => break,
        }
    }
    let status = child.wait()?;
    // Who asked for the end got what they wanted, however it came.
    let is_good = status.success() || stops > 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
