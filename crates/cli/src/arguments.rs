//! What can be said on the command line. Bad values are refused here, with the flag's name and what it takes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use hearth_cell::Execution;
use hearth_core::units::parse_duration;
use hearth_core::{ByteSize, Limits};
use hearth_egress::EgressPolicy;

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
    /// Serve a folder of apps: each folder in it that has an index file is an app, at /NAME/.
    Serve(ServeOptions),
    /// Evaluate an expression and print what it is.
    Eval(EvalOptions),
    /// Say what each thread of a crashed process was running.
    Breadcrumbs {
        /// The file that was given to --breadcrumbs.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct RunOptions {
    /// The app's entry: a .ts, .tsx, .js or .mjs file. Its folder is the nearest one above it with a manifest.yaml or
    /// package.json, else the file's own; nothing outside of it is ever read.
    pub file: PathBuf,
    #[command(flatten)]
    pub app: AppOptions,
    #[command(flatten)]
    pub pool: PoolOptions,
    #[command(flatten)]
    pub server: ServerOptions,
}

#[derive(Debug, Args)]
pub struct ServeOptions {
    /// The folder of apps.
    pub apps: PathBuf,
    #[command(flatten)]
    pub app: AppOptions,
    #[command(flatten)]
    pub pool: PoolOptions,
    #[command(flatten)]
    pub server: ServerOptions,
}

/// The HTTP front.
#[derive(Debug, Args)]
pub struct ServerOptions {
    /// Where to listen.
    #[arg(long, env = "HEARTH_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Where the admin API listens; without it there is none.
    #[arg(long, env = "HEARTH_ADMIN", value_name = "ADDRESS:PORT")]
    pub admin: Option<SocketAddr>,
    /// The admin API's token. Without it one is made for this start and written to the log.
    #[arg(long, env = "HEARTH_ADMIN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub admin_token: Option<String>,
    /// Longest request body.
    #[arg(long, default_value = "10mb", value_name = "SIZE")]
    pub max_body: ByteSize,
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

/// How workers are kept warm.
#[derive(Debug, Args)]
pub struct PoolOptions {
    /// Threads that run JavaScript and serve connections [default: the number of cores].
    #[arg(long, env = "HEARTH_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// How apps run: auto, pooled, pinned, oneshot (a new isolate for each request) or shared (a new context for each).
    #[arg(long, env = "HEARTH_EXECUTION", default_value_t = Execution::Auto, value_name = "MODE")]
    pub execution: Execution,
    /// Workers of one app at once, each with an isolate and module state of its own [default: the number of threads].
    #[arg(long, env = "HEARTH_WORKERS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Isolates at once, of all apps [default: 1000].
    #[arg(long, env = "HEARTH_ISOLATES", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3500))]
    pub isolates: Option<u16>,
    /// Isolates that are kept ready for whoever comes next.
    #[arg(long, env = "HEARTH_SPARES", default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    pub spares: u16,
    /// Memory of all workers together [default: three quarters of the machine's; heaps also by what V8's cage holds].
    #[arg(long, env = "HEARTH_MEMORY_BUDGET", value_name = "SIZE")]
    pub memory_budget: Option<ByteSize>,
    /// Requests of one owner that may wait.
    #[arg(long, env = "HEARTH_QUEUE", default_value_t = 100, value_name = "N")]
    pub queue: usize,
    /// How long they may wait; then 503.
    #[arg(long, env = "HEARTH_QUEUE_TIMEOUT", default_value = "5s", value_name = "TIME", value_parser = parse_duration)]
    pub queue_timeout: Duration,
    /// Requests that run or wait, of all apps in oneshot or shared mode [default: 10 for each thread].
    #[arg(long, env = "HEARTH_MAX_QUEUED", value_name = "N")]
    pub max_queued: Option<usize>,
    /// Requests after which a worker is replaced [default: never].
    #[arg(long, env = "HEARTH_MAX_REQUESTS", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_requests: Option<u64>,
    /// Age at which a worker is replaced [default: never].
    #[arg(long, env = "HEARTH_TTL", value_name = "TIME", value_parser = parse_duration)]
    pub ttl: Option<Duration>,
    /// How long a worker is kept without requests [default: until its room is needed].
    #[arg(long, env = "HEARTH_IDLE_TIMEOUT", value_name = "TIME", value_parser = parse_duration)]
    pub idle_timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct EvalOptions {
    /// A JavaScript expression, or statements; top-level await works.
    pub code: String,
    #[command(flatten)]
    pub app: AppOptions,
}

/// What an app gets and what it may use.
#[derive(Debug, Args)]
pub struct AppOptions {
    /// Where the app's fetch() may go: none, public (no loopback, private or link-local addresses), all, or a list of hosts
    /// and CIDRs.
    #[arg(long, default_value = "public", value_name = "none|public|all|LIST")]
    pub egress: EgressPolicy,
    /// A variable of the app's env; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// CPU time of a request, until its response begins; then of each chunk. 0: no limit.
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = parse_duration)]
    pub cpu: Duration,
    /// Time until a response must begin. 0: no limit.
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = parse_duration)]
    pub wall: Duration,
    /// Memory of a worker, array buffers counted. 0: no limit but V8's.
    #[arg(long, env = "HEARTH_MEMORY", default_value = "128mb", value_name = "SIZE")]
    pub memory: ByteSize,
    /// Longest silence of a response or request body. 0: no limit.
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = parse_duration)]
    pub stream_timeout: Duration,
    /// Requests at once in one worker. 0: no limit.
    #[arg(long, default_value_t = 32, value_name = "N")]
    pub concurrency: u32,
}

impl AppOptions {
    /// The limits that the flags say, and defaults for the rest. `--cpu` and `--wall` also hold for waitUntil; module
    /// evaluation has at least its default.
    pub fn limits(&self) -> Limits {
        let defaults = Limits::default();
        let at_least = |flag: Duration, default: Duration| if flag.is_zero() { flag } else { flag.max(default) };
        Limits {
            cpu: self.cpu,
            wall: self.wall,
            stream_silence: self.stream_timeout,
            module_cpu: at_least(self.cpu, defaults.module_cpu),
            module_wall: at_least(self.wall, defaults.module_wall),
            heap: self.memory,
            wait_until_cpu: self.cpu,
            wait_until_wall: self.wall,
            concurrency: self.concurrency,
            ..defaults
        }
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not KEY=VALUE")),
    }
}
