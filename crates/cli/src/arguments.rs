//! What can be said on the command line. Bad values are refused here, with the flag's name and what it takes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use hearth_config::parse_listen;
use hearth_core::units::parse_duration;

use crate::check::CheckOptions;
use crate::completions::CompletionsOptions;
use crate::dev::DevOptions;
use crate::doctor::DoctorOptions;
use crate::init::InitOptions;
use crate::mcp_options::McpOptions;
use crate::remote::RemoteCommand;
use crate::serve_options::{AppDefaults, PoolDefaults, ServeOptions};

/// Hearth keeps code warm: it runs JavaScript and TypeScript apps in V8 isolates.
#[derive(Debug, Parser)]
#[command(name = "hearth", version = crate::version(), about, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve one app.
    Run(RunOptions),
    /// Serve folders of apps: each app at /NAME/, /NAME@RANGE/ and NAME.localhost.
    Serve(Box<ServeOptions>),
    /// Serve apps from within `hearth serve`.
    #[command(hide = true)]
    Cell,
    /// Try what a cell must not be able to do.
    #[command(hide = true)]
    JailProbe,
    /// Make sandboxes for the server at the other end of the standard input.
    #[command(hide = true)]
    Spawner,
    /// Evaluate code and print what it comes to.
    Eval(EvalOptions),
    /// Say what each thread of a crashed process was running.
    Breadcrumbs {
        /// The file that was given to --breadcrumbs.
        file: PathBuf,
    },
    /// Serve an app while you write it: at /, again after every change, with errors shown where they are.
    Dev(DevOptions),
    /// Serve apps from within `hearth dev`.
    #[command(hide = true)]
    DevServer(Box<ServeOptions>),
    /// Make a small app to begin with.
    Init(InitOptions),
    /// Say whether apps can be served, and what is wrong with them, without running them.
    Check(CheckOptions),
    /// Say what this machine has for Hearth, what that means, and what to do about it.
    Doctor(DoctorOptions),
    /// Give agents sandboxes to run code in, over MCP.
    Mcp(McpOptions),
    /// Print what a shell needs to complete commands.
    Completions(CompletionsOptions),
    /// Print the version, as --version does.
    #[command(hide = true)]
    Version,
    #[command(flatten)]
    Remote(RemoteCommand),
}

#[derive(Debug, Args)]
pub struct RunOptions {
    /// The app's folder or its entry: a .ts, .tsx, .js or .mjs file. Its folder is the nearest one above it with a manifest.yaml or
    /// package.json, else the file's own; nothing outside of it is ever read.
    pub file: PathBuf,
    /// A variable of the app's env; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    #[command(flatten)]
    pub server: ServerOptions,
    #[command(flatten)]
    pub pool: PoolDefaults,
    #[command(flatten)]
    pub app: AppDefaults,
}

/// The HTTP front.
#[derive(Debug, Args)]
pub struct ServerOptions {
    /// Where to listen.
    #[arg(long, env = "HEARTH_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// Longest time for a request's head to arrive.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = parse_duration)]
    pub head_timeout: Duration,
    /// How long requests in flight may go on after Ctrl-C.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = parse_duration)]
    pub drain_timeout: Duration,
    /// Keep in FILE what each thread is running, so that a crash can be traced to its app (see `hearth breadcrumbs`).
    #[arg(long, value_name = "FILE")]
    pub breadcrumbs: Option<PathBuf>,
    /// Show the app's own error text to clients.
    #[arg(long)]
    pub dev: bool,
}

#[derive(Debug, Args)]
pub struct EvalOptions {
    /// An expression or statements, in JavaScript or TypeScript; top-level await works. What the last expression comes to is
    /// printed.
    pub code: String,
    /// A variable of the env; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    #[command(flatten)]
    pub app: AppDefaults,
}

pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not KEY=VALUE")),
    }
}
