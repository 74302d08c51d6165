//! Replaces the running program by a newer one while requests go on. The new program is run with `--version` and `--check`
//! first, so that a broken file or a configuration that it rejects is an error and not the end of the server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::{Control, Ending};

mod state;

pub use state::ControlState;

/// Time for each of the two trial runs.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of output that are read.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;
/// Prefix of the output of `--version`.
const VERSION_PREFIX: &str = "hearth ";
/// Output of `hearth serve --check`. It is required, since any program may exit with 0.
pub const CHECK_OUTPUT: &str = "the configuration is good";

/// The program that replaces this one.
#[derive(Clone, Debug)]
pub struct UpgradeTarget {
    /// Path of the running program when it was started. It may be another file by now.
    pub program: PathBuf,
    /// Arguments of the running program.
    pub arguments: Vec<OsString>,
    /// Version of the running program, as in `--version`.
    pub version: String,
}

#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    #[error("this server cannot be upgraded: it is not `hearth serve`")]
    Impossible,
    #[error("{program} cannot be started: {error}")]
    Start { program: String, error: std::io::Error },
    #[error("{program} did not answer within {} seconds", TRIAL_TIMEOUT.as_secs())]
    Silent { program: String },
    #[error("{program} is no Hearth that can serve this: {message}")]
    Unfit { program: String, message: String },
}

impl UpgradeTarget {
    /// Runs the checks, and returns the new program's version.
    async fn try_out(&self) -> Result<String, UpgradeError> {
        let output = self.run([OsString::from("--version")]).await?;
        let version = output.lines().next().unwrap_or_default().trim();
        if version.strip_prefix(VERSION_PREFIX).is_none_or(str::is_empty) {
            return Err(self.unfit(format!("to `--version` it says {version:?}, not `hearth` and a number")));
        }
        let output = self.run(self.arguments.iter().cloned().chain([OsString::from("--check")])).await?;
        if !output.lines().any(|line| line.starts_with(CHECK_OUTPUT)) {
            return Err(self.unfit(format!("to `serve … --check` it does not say {CHECK_OUTPUT:?}")));
        }
        Ok(version.to_owned())
    }

    fn unfit(&self, message: String) -> UpgradeError {
        UpgradeError::Unfit { program: self.program.display().to_string(), message }
    }

    async fn run(&self, arguments: impl IntoIterator<Item = OsString>) -> Result<String, UpgradeError> {
        let program = || self.program.display().to_string();
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let started = |error| UpgradeError::Start { program: program(), error };
        let mut child = command.spawn().map_err(started)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let output = async { tokio::join!(read_output(stdout), read_output(stderr), child.wait()) };
        let (stdout, stderr, status) = match tokio::time::timeout(TRIAL_TIMEOUT, output).await {
            Ok(output) => output,
            Err(_) => return Err(UpgradeError::Silent { program: program() }),
        };
        let status = status.map_err(started)?;
        match status.success() {
            true => Ok(stdout),
            false if stderr.trim().is_empty() => Err(self.unfit(status.to_string())),
            false => Err(self.unfit(stderr.trim().to_owned())),
        }
    }
}

/// Reads the output of a program, up to a limit.
async fn read_output(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut text = Vec::new();
    if let Some(from) = from {
        // What was read before an error is used.
        let _ = from.take(MAX_OUTPUT_BYTES).read_to_end(&mut text).await;
    }
    String::from_utf8_lossy(&text).into_owned()
}

impl Control {
    /// Checks the program file that is there now, and ends this program with an upgrade to it.
    pub async fn upgrade(&self) -> Result<Value, UpgradeError> {
        let target = self.shared.upgrade_target.as_ref().ok_or(UpgradeError::Impossible)?;
        let to = target.try_out().await?;
        tracing::info!(from = target.version, to, "upgrade begun");
        self.end(Ending::Upgrade);
        Ok(json!({ "upgrading": true, "from": target.version, "to": to }))
    }
}
