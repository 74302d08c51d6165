//! What can be said to `hearth serve`. All of it is optional: what is said here lies above `hearth.yaml`, which lies above
//! the built-in defaults.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hearth_cell::Execution;
use hearth_config::parse_listen;
use hearth_core::ByteSize;
use hearth_core::units::parse_duration;
use hearth_egress::EgressPolicy;

use crate::mcp_options::McpFrontOptions;
use crate::sandboxes::SandboxFlags;

#[derive(Debug, Args)]
pub struct ServeOptions {
    /// Folders of apps; where two hold the same version of an app, the first counts.
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// The same; can be given several times.
    #[arg(long = "apps", env = "HEARTH_APPS", value_name = "DIR", value_delimiter = ',')]
    pub apps: Vec<PathBuf>,
    /// Where to listen; can be given several times [default: 127.0.0.1:8080].
    #[arg(long, env = "HEARTH_LISTEN", value_name = "ADDRESS:PORT", value_delimiter = ',', value_parser = parse_listen)]
    pub listen: Vec<SocketAddr>,
    /// Where to listen with TLS; needs --cert and --key, or `tls` in hearth.yaml.
    #[arg(long, env = "HEARTH_LISTEN_TLS", value_name = "ADDRESS:PORT", value_delimiter = ',', value_parser = parse_listen)]
    pub listen_tls: Vec<SocketAddr>,
    /// A certificate (PEM, with its chain); can be given several times, each with its --key.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Vec<PathBuf>,
    /// The key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Vec<PathBuf>,
    /// Where the admin API and the dashboard listen, or `off` [default: 127.0.0.1:9090].
    #[arg(long, env = "HEARTH_ADMIN", value_name = "ADDRESS:PORT|off")]
    pub admin: Option<AdminAt>,
    /// The admin API's token. Without it one is made on first start and kept in DATA/admin.token.
    #[arg(long, env = "HEARTH_ADMIN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub admin_token: Option<String>,
    /// Where agents reach sandboxes over MCP, at /mcp [default: nowhere].
    #[arg(long, env = "HEARTH_MCP", value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub mcp: Option<SocketAddr>,
    /// Where state is kept [default: .hearth].
    #[arg(long, env = "HEARTH_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The configuration [default: hearth.yaml, where it is there].
    #[arg(long, env = "HEARTH_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Apps are found at NAME.DOMAIN too; can be given several times [default: localhost].
    #[arg(long = "domain", env = "HEARTH_DOMAINS", value_name = "DOMAIN", value_delimiter = ',')]
    pub domains: Vec<String>,
    /// One line for each request, to standard output.
    #[arg(long, env = "HEARTH_ACCESS_LOG", value_name = "FORMAT")]
    pub access_log: Option<AccessLogFormat>,
    /// How the log is written.
    #[arg(long, env = "HEARTH_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogLineFormat>,
    /// Processes that serve, each with heaps of its own [default: 1].
    #[arg(long, env = "HEARTH_CELLS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub cells: Option<u16>,
    /// Processes that wait to take over when one of those is lost [default: 1].
    #[arg(long, env = "HEARTH_STANDBY", value_name = "N", value_parser = clap::value_parser!(u16).range(0..=64))]
    pub standby: Option<u16>,
    /// How long requests in flight may go on after Ctrl-C [default: 10s].
    #[arg(long, env = "HEARTH_DRAIN_TIMEOUT", value_name = "TIME", value_parser = parse_duration)]
    pub drain_timeout: Option<Duration>,
    /// Longest time for a request's head to arrive [default: 10s].
    #[arg(long, env = "HEARTH_HEAD_TIMEOUT", value_name = "TIME", value_parser = parse_duration)]
    pub head_timeout: Option<Duration>,
    /// Read the flags, the configuration and the certificates, say what is wrong with them, and serve nothing.
    #[arg(long)]
    pub check: bool,
    /// Show the apps' own error texts to clients.
    #[arg(long)]
    pub dev: bool,
    #[command(flatten)]
    pub pool: PoolDefaults,
    #[command(flatten)]
    pub app: AppDefaults,
    // Headings of `--help` hold for all that follows: these are last.
    #[command(flatten)]
    pub mcp_front: McpFrontOptions,
    #[command(flatten)]
    pub sandboxes: SandboxFlags,
}

/// How workers are kept warm.
#[derive(Debug, Args)]
#[command(next_help_heading = "Warm workers")]
pub struct PoolDefaults {
    /// Threads that run JavaScript and serve connections [default: the number of cores].
    #[arg(long, env = "HEARTH_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Isolates at once, of all apps [default: 1000].
    #[arg(long, env = "HEARTH_ISOLATES", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3500))]
    pub isolates: Option<u16>,
    /// Isolates of one owner; beyond it the owner's own least recently used one goes [default: no bound].
    #[arg(long, env = "HEARTH_MAX_PER_OWNER", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3500))]
    pub max_per_owner: Option<u16>,
    /// Requests at once that each have an isolate or context of their own (`ttl: 0`, oneshot, shared), of all apps [default: 1000].
    #[arg(long, env = "HEARTH_MAX_FRESH", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3500))]
    pub max_fresh: Option<u16>,
    /// What the heap of a worker may grow to before V8 first collects it [default: V8's own choice].
    #[arg(long, env = "HEARTH_INITIAL_HEAP", value_name = "SIZE")]
    pub initial_heap: Option<ByteSize>,
    /// Isolates that are kept ready for the next request [default: 2].
    #[arg(long, env = "HEARTH_SPARES", value_name = "N", value_parser = clap::value_parser!(u16).range(0..=256))]
    pub spares: Option<u16>,
    /// Memory of all workers together, shared by all cells [default: three quarters of the machine's; heaps also by what V8's
    /// cage holds].
    #[arg(long, env = "HEARTH_MEMORY_BUDGET", value_name = "SIZE")]
    pub memory_budget: Option<ByteSize>,
    /// Requests of one owner that may wait [default: 100].
    #[arg(long, env = "HEARTH_QUEUE", value_name = "N")]
    pub queue: Option<u32>,
    /// How long they may wait; then 503 [default: 5s].
    #[arg(long, env = "HEARTH_QUEUE_TIMEOUT", value_name = "TIME", value_parser = parse_duration)]
    pub queue_timeout: Option<Duration>,
    /// Requests that run or wait, of all owners together; beyond it 503 [default: no bound but each owner's].
    #[arg(long, env = "HEARTH_MAX_QUEUED", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_queued: Option<u32>,
}

/// What apps get that say nothing else in their manifest: `defaults` of hearth.yaml.
#[derive(Debug, Args)]
#[command(next_help_heading = "Apps, where their manifest says nothing else")]
pub struct AppDefaults {
    /// How apps run: auto, pooled, pinned, oneshot (a new isolate for each request) or shared (a new context for each).
    #[arg(long, env = "HEARTH_EXECUTION", value_name = "MODE")]
    pub execution: Option<Execution>,
    /// Workers of one app at once [default: the number of threads].
    #[arg(long, env = "HEARTH_WORKERS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Requests after which a worker is replaced [default: never].
    #[arg(long, env = "HEARTH_MAX_REQUESTS", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_requests: Option<u64>,
    /// Age at which a worker is replaced; 0: a fresh context for each request [default: never].
    #[arg(long, env = "HEARTH_TTL", value_name = "TIME", value_parser = parse_duration)]
    pub ttl: Option<Duration>,
    /// How long a worker is kept without requests [default: 60s].
    #[arg(long, env = "HEARTH_IDLE_TIMEOUT", value_name = "TIME", value_parser = parse_duration)]
    pub idle_timeout: Option<Duration>,
    /// CPU time of a request, until its response begins; then of each chunk. 0: no limit [default: 1s].
    #[arg(long, env = "HEARTH_CPU", value_name = "TIME", value_parser = parse_duration)]
    pub cpu: Option<Duration>,
    /// Time until a response must begin. 0: no limit [default: 30s].
    #[arg(long, env = "HEARTH_WALL", value_name = "TIME", value_parser = parse_duration)]
    pub wall: Option<Duration>,
    /// Memory of a worker, array buffers counted. 0: no limit but V8's [default: 128mb].
    #[arg(long, env = "HEARTH_MEMORY", value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// Longest silence of a response or request body. 0: no limit [default: 5m].
    #[arg(long, env = "HEARTH_STREAM_TIMEOUT", value_name = "TIME", value_parser = parse_duration)]
    pub stream_timeout: Option<Duration>,
    /// Requests at once in one worker. 0: no limit [default: 32].
    #[arg(long, env = "HEARTH_CONCURRENCY", value_name = "N")]
    pub concurrency: Option<u32>,
    /// Longest request body [default: 10mb].
    #[arg(long, env = "HEARTH_MAX_BODY", value_name = "SIZE")]
    pub max_body: Option<ByteSize>,
    /// Where apps may connect to at most: none, public, all, or a list of hosts and CIDRs.
    #[arg(long, env = "HEARTH_EGRESS", value_name = "none|public|all|LIST")]
    pub egress: Option<EgressPolicy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAt {
    Off,
    Address(SocketAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccessLogFormat {
    Off,
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLineFormat {
    Text,
    Json,
}

impl std::str::FromStr for AdminAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            _ => parse_listen(text).map(Self::Address).map_err(|error| format!("{error}; `off` for none")),
        }
    }
}
