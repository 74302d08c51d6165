//! What can be said to commands that ask a server.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::address::AdminAddress;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no server answers, 4 it does not let you in, 5 there is \
                          no such thing, 6 it cannot be done as asked.";

#[derive(Debug, Subcommand)]
pub enum RemoteCommand {
    /// List the apps of a server, or show one.
    #[command(visible_alias = "ls")]
    Apps(To<AppsOptions>),
    /// Upload an app and make it the active version.
    Deploy(To<DeployOptions>),
    /// Make a version the one that the app's bare name means.
    Activate(To<ActivateOptions>),
    /// Go back to what was active before.
    Rollback(To<RollbackOptions>),
    /// Delete what was uploaded of an app.
    Delete(To<DeleteOptions>),
    /// List the workers.
    #[command(alias = "ps")]
    Workers(RemoteOptions),
    /// Show the pool: workers, isolates, memory.
    Pool(RemoteOptions),
    /// Show the server in a few numbers.
    #[command(visible_alias = "status")]
    Metrics(To<MetricsOptions>),
    /// List the cells that were lost, the newest first.
    Crashes(RemoteOptions),
    /// Show the log.
    Logs(To<LogsOptions>),
    /// Show what happened lately: deploys, lost cells, stuck apps.
    Events(To<EventsOptions>),
    /// Secrets of an app: kept encrypted, and seen by its `env` only.
    Secrets(To<SecretsOptions>),
    /// Tokens that an app with `auth: token` takes.
    Tokens(To<TokensOptions>),
    /// Send a task to an app and print its result.
    Task(To<TaskOptions>),
    /// Put the program that is there now in the place of the one that runs, without losing a request.
    Upgrade(RemoteOptions),
    /// Make the server read hearth.yaml and its certificates again.
    Reload(RemoteOptions),
    /// Put new cells in the place of those that serve, without losing a request.
    Replace(RemoteOptions),
    /// Owners with a cell of their own: list them, give one to an owner, take it back.
    Cordon(To<CordonOptions>),
    /// Sandboxes: make, use, list and destroy them.
    Sandbox(To<SandboxOptions>),
    /// End the server, when what is in flight is finished.
    #[command(visible_alias = "stop")]
    Drain(To<DrainOptions>),
}

#[derive(Debug, Args)]
pub struct CordonOptions {
    #[command(subcommand)]
    pub command: CordonCommand,
}

#[derive(Debug, Subcommand)]
pub enum CordonCommand {
    /// List the owners that have one, and why.
    List,
    /// Give an owner a cell of its own, until it is released.
    Add { owner: String },
    /// Have an owner served by the shared cells again.
    Release { owner: String },
}

/// What is asked, and of which server.
#[derive(Debug, Args)]
pub struct To<T: Args> {
    #[command(flatten)]
    pub what: T,
    #[command(flatten)]
    pub server: RemoteOptions,
}

/// Which server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server", after_help = EXIT_CODES)]
pub struct RemoteOptions {
    /// Where the admin API listens [default: `admin` of hearth.yaml, else 127.0.0.1:9090].
    #[arg(long, env = "HEARTH_ADMIN", value_name = "ADDRESS:PORT|URL", global = true)]
    pub admin: Option<AdminAddress>,
    /// The admin API's token [default: that in DATA/admin.token].
    #[arg(long, env = "HEARTH_ADMIN_TOKEN", hide_env_values = true, value_name = "TOKEN", global = true)]
    pub admin_token: Option<String>,
    /// Certificate authorities to trust for https besides the usual ones (PEM).
    #[arg(long, env = "HEARTH_CA_FILE", value_name = "FILE", global = true)]
    pub cafile: Option<PathBuf>,
    /// Where the server keeps its state, if it is on this machine [default: `data` of hearth.yaml, else .hearth].
    #[arg(long, env = "HEARTH_DATA", value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// The server's configuration [default: hearth.yaml, where it is there].
    #[arg(long, env = "HEARTH_CONFIG", value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print JSON, for programs.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AppsOptions {
    /// One app, with all of its versions.
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct DeployOptions {
    /// The app's folder, or a .tgz or .zip of one.
    #[arg(default_value = ".", value_name = "DIR|FILE")]
    pub path: PathBuf,
    /// What it is called [default: what manifest.yaml or package.json says, else the folder's name].
    #[arg(long)]
    pub name: Option<String>,
    /// Its version [default: what manifest.yaml or package.json says].
    #[arg(long)]
    pub version: Option<String>,
    /// Whose app it is [default: its own].
    #[arg(long)]
    pub owner: Option<String>,
    /// Upload it, and leave the active version as it is.
    #[arg(long)]
    pub no_activate: bool,
    /// Do not wait until its dependencies are installed (autoInstall): it is not activated then.
    #[arg(long)]
    pub no_wait: bool,
    /// What it does anyway.
    #[arg(long, hide = true, conflicts_with = "no_wait")]
    pub wait: bool,
}

#[derive(Debug, Args)]
pub struct ActivateOptions {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Args)]
pub struct RollbackOptions {
    pub name: String,
}

#[derive(Debug, Args)]
pub struct DeleteOptions {
    pub name: String,
    /// One version [default: all that were uploaded].
    #[arg(long)]
    pub version: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct MetricsOptions {
    /// All numbers, as Prometheus reads them.
    #[arg(long, conflicts_with = "json")]
    pub prometheus: bool,
}

#[derive(Debug, Args)]
pub struct LogsOptions {
    /// Lines about one app.
    pub name: Option<String>,
    /// Go on, until Ctrl-C.
    #[arg(long, short)]
    pub follow: bool,
    /// How many lines of what was.
    #[arg(long, short = 'n', default_value_t = hearth_control::action::DEFAULT_LINES, value_name = "N")]
    pub lines: usize,
}

#[derive(Debug, Args)]
pub struct EventsOptions {
    /// Go on with what happens, until Ctrl-C.
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Debug, Args)]
pub struct SecretsOptions {
    #[command(subcommand)]
    pub command: SecretsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SecretsCommand {
    /// List the names of an app's secrets.
    List { app: String },
    /// Set a secret: its value is asked for, or read from standard input.
    Set {
        app: String,
        key: String,
        /// The value. Other people of this machine may see it while the command runs: standard input is safer.
        #[arg(long)]
        value: Option<String>,
    },
    /// Delete a secret.
    Delete { app: String, key: String },
}

#[derive(Debug, Args)]
pub struct TokensOptions {
    #[command(subcommand)]
    pub command: TokensCommand,
}

#[derive(Debug, Subcommand)]
pub enum TokensCommand {
    /// List an app's tokens.
    List { app: String },
    /// Make a token and print it, this once.
    Add {
        app: String,
        /// What it is for.
        #[arg(long, default_value = "")]
        label: String,
    },
    /// Delete a token: it is not accepted any more.
    Delete { app: String, id: String },
}

#[derive(Debug, Args)]
pub struct TaskOptions {
    /// The app.
    pub name: String,
    /// JSON that the task gets as its payload; - reads it from standard input.
    pub payload: Option<String>,
}

#[derive(Debug, Args)]
pub struct DrainOptions {
    /// Take back a drain that has not come to its end: requests are let in again.
    #[arg(long, conflicts_with = "yes")]
    pub undo: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct SandboxOptions {
    #[command(subcommand)]
    pub command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Make a sandbox and print its id.
    Create(SandboxCreateOptions),
    /// Run a command or code in a sandbox.
    Exec(SandboxExecOptions),
    /// Enter commands in a sandbox, line by line; `cd` and variables stay. There is no terminal in it.
    Shell { id: String },
    /// Copy a file into a sandbox or out of it: `cp FILE ID:PATH`, `cp ID:PATH FILE`; - is standard input or output.
    Cp {
        /// Copy a folder with all files below it. Links are not followed.
        #[arg(short, long)]
        recursive: bool,
        from: String,
        to: String,
    },
    /// List all sandboxes, those of agents too.
    Ls,
    /// Destroy sandboxes.
    Rm {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Show how many there are, were ready, and failed.
    Stats,
}

#[derive(Debug, Args)]
pub struct SandboxCreateOptions {
    /// Memory in MiB.
    #[arg(long, value_name = "N")]
    pub memory_mib: Option<u64>,
    /// Disk in MiB, for files.
    #[arg(long, value_name = "N")]
    pub disk_mib: Option<u64>,
    #[arg(long, value_name = "N")]
    pub cpus: Option<u16>,
    /// What its files are made of.
    #[arg(long)]
    pub image: Option<String>,
    /// A variable of everything that runs in it; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::arguments::variable)]
    pub env: Vec<(String, String)>,
    /// A host that it may connect to; can be given several times.
    #[arg(long, value_name = "HOST", conflicts_with = "full_network")]
    pub allow: Vec<String>,
    /// The host's network, where the server allows it.
    #[arg(long)]
    pub full_network: bool,
}

#[derive(Debug, Args)]
pub struct SandboxExecOptions {
    pub id: String,
    /// What follows is code in this language: python, javascript, typescript, bash, sh.
    #[arg(long, short, value_name = "LANGUAGE")]
    pub language: Option<String>,
    /// How long it may run [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = hearth_core::units::parse_duration)]
    pub timeout: Option<std::time::Duration>,
    /// Give it our standard input.
    #[arg(long, short = 'i')]
    pub stdin: bool,
    /// A line for the shell, or the code.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}
