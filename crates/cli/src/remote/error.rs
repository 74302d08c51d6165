//! The errors of remote commands, and the one place that maps them to exit codes for scripts.

use std::io;
use std::path::PathBuf;

use hearth_apps::discovery::AppNameError;
use hearth_store::{PackError, StoreError, UploadError};

use super::address::AdminAddress;
use crate::manifest::ManifestError;
use crate::terminal::PromptError;

/// The exit code of a failed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Failed = 1,
    /// Also clap's.
    Usage = 2,
    Unreachable = 3,
    /// The server refuses the token.
    Refused = 4,
    NotFound = 5,
    /// The request is invalid.
    Invalid = 6,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error(
        "no server answers at {address} ({source}): start one with `hearth serve`, or say where it is with --admin"
    )]
    Unreachable { address: AdminAddress, source: io::Error },
    #[error(
        "no secure connection to {address}: {source}: if a private authority signed its certificate, name that authority's \
         file with --cafile or HEARTH_CA_FILE"
    )]
    Tls { address: AdminAddress, source: io::Error },
    #[error("{}: {reason}: --cafile takes certificates in PEM", path.display())]
    CaFile { path: PathBuf, reason: String },
    #[error("the HTTP client cannot be started: {0}")]
    Client(String),
    #[error("the connection to {address} was lost: {source}")]
    Lost { address: AdminAddress, source: io::Error },
    #[error("what answers at {address} is not Hearth's admin API ({what}): say where that is with --admin")]
    Foreign { address: AdminAddress, what: &'static str },
    #[error(
        "{address} is where the server's apps are, and not its admin API: say where that is with --admin (`hearth serve` says \
         it at its start, 127.0.0.1:9090 by default)"
    )]
    AppsAddress { address: AdminAddress },
    #[error("{0}")]
    Configuration(String),
    #[error(
        "there is no admin token in {}: say where the server keeps its state with --data, or give the token with \
         HEARTH_ADMIN_TOKEN",
        data.display()
    )]
    NoToken { data: PathBuf },
    #[error(
        "{address} does not take the admin token: give the right one with HEARTH_ADMIN_TOKEN, or say where that server \
         keeps its state with --data"
    )]
    WrongToken { address: AdminAddress },
    #[error("{code}: {message}")]
    Answer { status: u16, code: String, message: String },
    #[error(transparent)]
    Store(#[from] StoreError),

    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Pack(#[from] PackError),
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is neither a folder nor a .tgz or .zip", path.display())]
    NoArchive { path: PathBuf },
    #[error("what is in {} has no name: say it with --name", path.display())]
    NoName { path: PathBuf },
    #[error(
        "what is in {} has no version: say it with --version, or as `version:` in manifest.yaml or package.json",
        path.display()
    )]
    NoVersion { path: PathBuf },
    #[error(
        "{} holds no app: an app has an index.ts, index.js or index.html, or a manifest.yaml that names its `entrypoint`",
        path.display()
    )]
    NoApp { path: PathBuf },
    #[error("{name:?} cannot be the name of an app: {source}; choose another with --name")]
    Name { name: String, source: AppNameError },
    #[error(
        "{app}@{version} is active, and fails to load: {message}\n`hearth rollback {app}` goes back to what was before"
    )]
    Failing { app: String, version: String, message: String },
    #[error(transparent)]
    Archive(#[from] UploadError),
    #[error("{app}@{version} was uploaded and cannot be served: {message}")]
    Unserved { app: String, version: String, message: String },

    #[error("the task failed: {0}")]
    Task(String),
    /// A command in a sandbox failed: its exit code is the program's.
    #[error("{}", why.as_deref().unwrap_or_default())]
    Command { code: u8, why: Option<String> },
    #[error("{text:?} and {other:?} do not name one file here and one in a sandbox: the latter is ID:PATH")]
    NoCopy { text: String, other: String },
    #[error("{} cannot be copied: {why}", path.display())]
    BadTree { path: PathBuf, why: &'static str },
    #[error("this needs --yes, since there is no terminal to ask at")]
    Unasked,
    #[error("nothing was done")]
    Declined,
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("standard input cannot be read: {0}")]
    Input(io::Error),
    #[error("standard input is longer than {limit}")]
    InputTooLong { limit: hearth_core::ByteSize },
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    /// The reader of standard output has closed it.
    #[error("the output was closed")]
    Unread,
}

impl RemoteError {
    /// The exit code of the program.
    pub fn code(&self) -> u8 {
        match self {
            Self::Command { code, .. } => *code,
            other => other.exit() as u8,
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } | Self::Tls { .. } | Self::AppsAddress { .. } => Exit::Unreachable,
            Self::NoToken { .. } | Self::WrongToken { .. } => Exit::Refused,
            Self::Answer { status, .. } => match status {
                401 | 403 => Exit::Refused,
                404 => Exit::NotFound,
                400..=499 => Exit::Invalid,
                _ => Exit::Failed,
            },
            Self::Unasked
            | Self::NoCopy { .. }
            | Self::BadTree { .. }
            | Self::CaFile { .. }
            | Self::NoName { .. }
            | Self::NoVersion { .. }
            | Self::NoArchive { .. }
            | Self::NoApp { .. }
            | Self::Name { .. } => Exit::Usage,
            Self::Unserved { .. } | Self::Failing { .. } => Exit::Invalid,
            Self::Lost { .. }
            | Self::Foreign { .. }
            | Self::Client(_)
            | Self::Configuration(_)
            | Self::Archive(_)
            | Self::Store(_)
            | Self::Manifest(_)
            | Self::Pack(_)
            | Self::File { .. }
            | Self::Task(_)
            | Self::Command { .. }
            | Self::Declined
            | Self::Prompt(_)
            | Self::Input(_)
            | Self::InputTooLong { .. }
            | Self::Output(_)
            | Self::Unread => Exit::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_exit_codes_by_their_status() {
        let exit = |status| RemoteError::Answer { status, code: String::new(), message: String::new() }.exit() as u8;
        let exits = [400, 401, 403, 404, 409, 413, 422, 500, 503].map(exit);
        assert_eq!(exits, [6, 4, 4, 5, 6, 6, 6, 1, 1]);
    }
}
