//! Commands that talk to a running server over its admin API. The requests are `hearth_control::action::Action`, which the
//! server parses too: this module builds no path of its own.
//!
//! | file | |
//! |---|---|
//! | `options.rs` | command line options |
//! | `address.rs`, `server.rs` | the server's address; requests to it |
//! | `defaults.rs` | the server's address and data folder from hearth.yaml |
//! | `http_client.rs`, `events.rs` | HTTP and HTTPS requests; server-sent events |
//! | `error.rs` | errors and their exit codes |
//! | `output.rs`, `progress.rs` | output as text or JSON; the progress line |
//! | `responses.rs` | the API's responses |
//! | `apps.rs`, `cells.rs`, `deploy.rs`, `logs.rs`, `sandboxes.rs`, `sandbox_copy.rs`, `sandbox_shell.rs`, `secrets_tokens.rs`, `status.rs`, `task.rs` | the commands |

mod address;
mod apps;
mod cells;
mod defaults;
mod deploy;
mod error;
mod events;
mod http_client;
mod logs;
mod options;
mod output;
mod progress;
mod responses;
mod sandbox_copy;
mod sandbox_shell;
mod sandbox_tree;
mod sandboxes;
mod secrets_tokens;
mod server;
mod status;
mod task;

use std::process::ExitCode;

pub use error::RemoteError;
pub use options::RemoteCommand;

use http_client::HttpClient;
use options::{CordonCommand, RemoteOptions, SecretsCommand, To, TokensCommand};
use output::{Format, Output};
use server::Server;

use crate::terminal::escape_lines;

/// A server, and the output of its responses.
struct Session {
    server: Server,
    output: Output,
}

/// Runs the command and prints its result.
pub fn run(command: RemoteCommand) -> ExitCode {
    match carry_out(command) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has closed the pipe: `hearth logs | head`.
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
        RemoteCommand::Workers(server) => status::workers(&server.session()?),
        RemoteCommand::Pool(server) => status::pool(&server.session()?),
        RemoteCommand::Metrics(To { what, server }) => status::metrics(&server.session()?, &what),
        RemoteCommand::Crashes(server) => status::crashes(&server.session()?),
        RemoteCommand::Logs(To { what, server }) => logs::logs(&server.session()?, what),
        RemoteCommand::Events(To { what, server }) => logs::events(&server.session()?, &what),
        RemoteCommand::Secrets(To { what, server }) => match what.command {
            SecretsCommand::List { app } => secrets_tokens::secrets(&server.session()?, app),
            SecretsCommand::Set { app, key, value } => secrets_tokens::set_secret(&server.session()?, app, key, value),
            SecretsCommand::Delete { app, key } => secrets_tokens::delete_secret(&server.session()?, app, key),
        },
        RemoteCommand::Tokens(To { what, server }) => match what.command {
            TokensCommand::List { app } => secrets_tokens::tokens(&server.session()?, app),
            TokensCommand::Add { app, label } => secrets_tokens::add_token(&server.session()?, app, label),
            TokensCommand::Delete { app, id } => secrets_tokens::delete_token(&server.session()?, app, id),
        },
        RemoteCommand::Task(To { what, server }) => task::task(&server.session()?, what),
        RemoteCommand::Upgrade(server) => status::upgrade(&server.session()?),
        RemoteCommand::Replace(server) => cells::replace(&server.session()?),
        RemoteCommand::Cordon(To { what, server }) => match what.command {
            CordonCommand::List => cells::list(&server.session()?),
            CordonCommand::Add { owner } => cells::add(&server.session()?, owner),
            CordonCommand::Release { owner } => cells::release(&server.session()?, owner),
        },
        RemoteCommand::Reload(server) => status::reload(&server.session()?),
        RemoteCommand::Sandbox(To { what, server }) => sandboxes::sandbox(&server.session()?, what.command),
        RemoteCommand::Drain(To { what, server }) => status::drain(&server.session()?, &what),
    }
}

impl RemoteOptions {
    fn session(self) -> Result<Session, RemoteError> {
        let output = Output::new(if self.json { Format::Json } else { Format::Text });
        let config = self.config.as_deref();
        let found = match (self.admin, self.data) {
            (Some(admin), Some(data)) => (admin, data),
            (admin, data) => defaults::resolve(config, admin, data)?,
        };
        let client = HttpClient::new(&found.0, self.cafile.as_deref())?;
        Ok(Session { server: Server::new(found.0, self.admin_token, found.1, client), output })
    }
}
