//! Another program in the place of this one: a newer Hearth, while requests go on. It is tried first, so that a broken file
//! or a configuration that it does not understand is an error here and not the end of the server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::{Control, Ending};

/// For the new program to say what it is, and then for what it thinks of the configuration.
const TRIAL: Duration = Duration::from_secs(20);
/// Of what it says; nothing more is read.
const MOST_WORDS: u64 = 64 << 10;
/// What `--version` begins with.
const NAME: &str = "hearth ";
/// What `hearth serve --check` says: that a program ends with 0 does not make it Hearth.
pub const CHECKED: &str = "the configuration is good";

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
        let version = said.lines().next().unwrap_or_default().trim();
        if version.strip_prefix(NAME).is_none_or(str::is_empty) {
            return Err(self.unfit(format!("to `--version` it says {version:?}, not `hearth` and a number")));
        }
        let said = self.run(self.arguments.iter().cloned().chain([OsString::from("--check")])).await?;
        if !said.lines().any(|line| line.starts_with(CHECKED)) {
            return Err(self.unfit(format!("to `serve … --check` it does not say {CHECKED:?}")));
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
        let output = async { tokio::join!(words(stdout), words(stderr), child.wait()) };
        let (stdout, stderr, status) = match tokio::time::timeout(TRIAL, output).await {
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

/// What a program writes, up to a bound.
async fn words(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut text = Vec::new();
    if let Some(from) = from {
        // What was read before an error is what it said.
        let _ = from.take(MOST_WORDS).read_to_end(&mut text).await;
    }
    String::from_utf8_lossy(&text).into_owned()
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
