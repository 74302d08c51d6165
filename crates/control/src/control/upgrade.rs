//! Another program in the place of this one: a newer Hearth, while requests go on. It is tried first, so that a broken file
//! or a configuration that it does not understand is an error here and not the end of the server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{Control, Ending};

/// For the new program to say what it is, and what it thinks of the configuration.
const TRIAL: Duration = Duration::from_secs(60);

/// Who takes our place.
#[derive(Clone, Debug)]
pub struct Successor {
    /// Where our own program was when it was started: another one may be there by now.
    pub program: PathBuf,
    /// What we were started with.
    pub arguments: Vec<OsString>,
    /// What we are, as `--version` says it.
    pub version: String,
}

#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    #[error("this server cannot be upgraded: it is not `hearth serve`")]
    Impossible,
    #[error("{program} cannot be started: {error}")]
    Start { program: String, error: std::io::Error },
    #[error("{program} did not answer within {} seconds", TRIAL.as_secs())]
    Silent { program: String },
    #[error("{program} is no Hearth that can serve this: {message}")]
    Unfit { program: String, message: String },
}

impl Successor {
    /// Its version, if it is fit to serve what we serve.
    async fn try_out(&self) -> Result<String, UpgradeError> {
        let said = self.run([OsString::from("--version")]).await?;
        self.run(self.arguments.iter().cloned().chain([OsString::from("--check")])).await?;
        Ok(said.trim().to_owned())
    }

    async fn run(&self, arguments: impl IntoIterator<Item = OsString>) -> Result<String, UpgradeError> {
        let program = self.program.display().to_string();
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = match tokio::time::timeout(TRIAL, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(UpgradeError::Start { program, error }),
            Err(_) => return Err(UpgradeError::Silent { program }),
        };
        let Output { status, stdout, stderr } = output;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
            false => {
                let words = String::from_utf8_lossy(&stderr).trim().to_owned();
                let message = if words.is_empty() { status.to_string() } else { words };
                Err(UpgradeError::Unfit { program, message })
            }
        }
    }
}

impl Control {
    /// Tries the program that is there now, and has it take our place.
    pub async fn upgrade(&self) -> Result<Value, UpgradeError> {
        let successor = self.shared.successor.as_ref().ok_or(UpgradeError::Impossible)?;
        let to = successor.try_out().await?;
        tracing::info!("Upgrading from {} to {to}", successor.version);
        self.end(Ending::Upgrade);
        Ok(json!({ "upgrading": true, "from": successor.version, "to": to }))
    }
}
