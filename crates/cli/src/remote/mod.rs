//! Commands that ask a running server, over its admin API. What can be asked is `hearth_control::action::Action`, which is
//! also what the server reads: nothing here knows a path of its own.
//!
//! | file | |
//! |---|---|
//! | `options.rs` | what can be said on the command line |
//! | `address.rs`, `server.rs` | where the server is, and how it is asked |
//! | `place.rs` | what hearth.yaml says about where the server is |
//! | `http_client.rs`, `events.rs` | HTTP and HTTPS requests; server-sent events |
//! | `error.rs` | what can go wrong, and the exit code of each |
//! | `output.rs`, `progress.rs` | what is written: for people, or JSON |
//! | `answers.rs` | the API's answers |
//! | `apps.rs`, `cells.rs`, `deploy.rs`, `keys.rs`, `logs.rs`, `sandboxes.rs`, `sandbox_copy.rs`, `sandbox_shell.rs`, `state.rs`, `task.rs` | the commands |

mod address;
mod answers;
mod apps;
mod cells;
mod deploy;
mod error;
mod events;
mod http_client;
mod keys;
mod logs;
mod options;
mod output;
mod place;
mod progress;
mod sandbox_copy;
mod sandbox_shell;
mod sandbox_tree;
mod sandboxes;
mod server;
mod state;
mod task;

use std::process::ExitCode;

pub use error::RemoteError;
pub use options::RemoteCommand;

use http_client::HttpClient;
use options::{CordonCommand, RemoteOptions, SecretsCommand, To, TokensCommand};
use output::{Format, Output};
use server::Server;

use crate::terminal::escape_lines;

/// A server, and where its answers go.
struct Session {
    server: Server,
    output: Output,
}

/// Asks, and says what came of it.
pub fn run(command: RemoteCommand) -> ExitCode {
    match carry_out(command) {
        Ok(()) => ExitCode::SUCCESS,
        // Who read our output has had enough of it: `hearth logs | head`.
        Err(RemoteError::Unread) => ExitCode::SUCCESS,
        Err(error) => {
            let told = error.to_string();
            if !told.is_empty() {
                eprintln!("hearth: {}", escape_lines(&told));
            }
            ExitCode::from(error.code())
        }
    }
}

fn carry_out(command: RemoteCommand) -> Result<(), RemoteError> {
    match command {
        RemoteCommand::Apps(To { what, server }) => apps::show(&server.session()?, what),
        RemoteCommand::Deploy(To { what, server }) => deploy::deploy(&server.session()?, &what),
        RemoteCommand::Activate(To { what, server }) => apps::activate(&server.session()?, what),
        RemoteCommand::Rollback(To { what, server }) => apps::roll_back(&server.session()?, what.name),
        RemoteCommand::Delete(To { what, server }) => apps::delete(&server.session()?, what),
        RemoteCommand::Workers(server) => state::workers(&server.session()?),
        RemoteCommand::Pool(server) => state::pool(&server.session()?),
        RemoteCommand::Metrics(To { what, server }) => state::metrics(&server.session()?, &what),
        RemoteCommand::Crashes(server) => state::crashes(&server.session()?),
        RemoteCommand::Logs(To { what, server }) => logs::logs(&server.session()?, what),
        RemoteCommand::Events(To { what, server }) => logs::events(&server.session()?, &what),
        RemoteCommand::Secrets(To { what, server }) => match what.command {
            SecretsCommand::List { app } => keys::secrets(&server.session()?, app),
            SecretsCommand::Set { app, key, value } => keys::set_secret(&server.session()?, app, key, value),
            SecretsCommand::Delete { app, key } => keys::delete_secret(&server.session()?, app, key),
        },
        RemoteCommand::Tokens(To { what, server }) => match what.command {
            TokensCommand::List { app } => keys::tokens(&server.session()?, app),
            TokensCommand::Add { app, label } => keys::add_token(&server.session()?, app, label),
            TokensCommand::Delete { app, id } => keys::delete_token(&server.session()?, app, id),
        },
        RemoteCommand::Task(To { what, server }) => task::task(&server.session()?, what),
        RemoteCommand::Upgrade(server) => state::upgrade(&server.session()?),
        RemoteCommand::Replace(server) => cells::replace(&server.session()?),
        RemoteCommand::Cordon(To { what, server }) => match what.command {
            CordonCommand::List => cells::list(&server.session()?),
            CordonCommand::Add { owner } => cells::add(&server.session()?, owner),
            CordonCommand::Release { owner } => cells::release(&server.session()?, owner),
        },
        RemoteCommand::Reload(server) => state::reload(&server.session()?),
        RemoteCommand::Sandbox(To { what, server }) => sandboxes::sandbox(&server.session()?, what.command),
        RemoteCommand::Drain(To { what, server }) => state::drain(&server.session()?, &what),
    }
}

impl RemoteOptions {
    fn session(self) -> Result<Session, RemoteError> {
        let output = Output::new(if self.json { Format::Json } else { Format::Text });
        let config = self.config.as_deref();
        let found = match (self.admin, self.data) {
            (Some(admin), Some(data)) => (admin, data),
            (admin, data) => place::said_by(config, admin, data)?,
        };
        let client = HttpClient::new(self.cafile.as_deref())?;
        Ok(Session { server: Server::new(found.0, self.admin_token, found.1, client), output })
    }
}
