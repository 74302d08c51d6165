//! `hearth.yaml`: what the operator says. Keys are in snake_case; below `defaults` and `apps` they are a manifest's, in its
//! spelling. Every key is optional: flags and environment variables lie above this file, built-in defaults below.
//! Paths are as they were written; whoever uses them decides from where they count.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_core::{AppName, ByteSize, Cidr};
use serde::{Deserialize, Serialize};

use crate::ceilings::Ceilings;
use crate::error::{ConfigErrors, Problem};
use crate::fields::{Fault, Fields, Read, read_file};
use crate::host::{HostError, HostPattern, HostReason};
use crate::listen::parse_listen;
use crate::manifest::{Manifest, Part, host};
use crate::name;
use crate::otel::Otel;
use crate::rate::RateSpec;
use crate::sandboxes::SandboxSettings;
use crate::value::{self, Word};
use crate::yaml::{Key, Node, Value};

/// Isolates that V8's cage has room for, with some to spare.
pub const MAX_ISOLATES: u16 = 3500;

/// A cell that has just started takes half of this.
const LEAST_CELL: ByteSize = ByteSize::mb(128);
/// With less, no app answers anything: a slip would end all of them.
const LEAST_WORKER: ByteSize = ByteSize::mb(8);
const LEAST_TIME_MS: u64 = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorConfig {
    pub listen: Option<Vec<SocketAddr>>,
    /// The same with TLS; needs `tls`.
    pub listen_tls: Option<Vec<SocketAddr>>,
    pub admin: Option<Admin>,
    /// Where state is kept.
    pub data: Option<PathBuf>,
    /// Apps are found at `name.DOMAIN`. No wildcards.
    pub domains: Option<Vec<HostPattern>>,
    /// Whether apps are reached as `/name/`, too.
    pub paths: Option<bool>,
    pub threads: Option<u16>,
    pub cells: Option<u16>,
    /// Cells that wait to take over.
    pub standby: Option<u16>,
    pub stuck_grace: Option<Duration>,
    pub stuck_limit: Option<Duration>,
    /// A cell that does not answer for longer is frozen.
    pub heartbeat_timeout: Option<Duration>,
    /// A cell that becomes larger is replaced.
    pub cell_memory: Option<ByteSize>,
    pub drain_timeout: Option<Duration>,
    pub isolates: Option<u16>,
    /// Isolates of one owner.
    pub max_per_owner: Option<u16>,
    /// Requests at once that each have an isolate or context of their own.
    pub max_fresh: Option<u16>,
    /// What a heap may grow to before it is first collected.
    pub initial_heap: Option<ByteSize>,
    pub spares: Option<u16>,
    pub memory_budget: Option<ByteSize>,
    /// Requests of one owner that may wait.
    pub queue: Option<u32>,
    pub queue_timeout: Option<Duration>,
    /// Requests of all owners that run or wait.
    pub max_queued: Option<u32>,
    pub trusted_proxies: Option<Vec<Cidr>>,
    pub access_log: Option<AccessLog>,
    pub log_format: Option<LogFormat>,
    pub tls: Option<Vec<Certificate>>,
    pub compression: Option<bool>,
    pub max_connections: Option<u32>,
    /// Zero: no limit.
    pub max_connections_per_client: Option<u32>,
    /// Of one client, over all apps.
    pub rate_limit: Option<RateSpec>,
    pub head_timeout: Option<Duration>,
    pub keep_alive_timeout: Option<Duration>,
    pub body_timeout: Option<Duration>,
    pub write_timeout: Option<Duration>,
    pub isolate_owners: Option<bool>,
    pub jail: Option<JailMode>,
    /// Where numbers and traces are sent.
    pub otel: Option<Otel>,
    pub sandboxes: Option<SandboxSettings>,
    /// Where agents reach sandboxes over MCP; nowhere unless it is said.
    pub mcp: Option<SocketAddr>,
    /// What all apps get that do not say otherwise.
    pub defaults: Manifest,
    pub apps: BTreeMap<AppName, Manifest>,
    /// `ceilings`, and the two that are keys of their own: `max_body_size` and `egress`.
    pub ceilings: Ceilings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admin {
    Off,
    At(SocketAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessLog {
    Off,
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JailMode {
    Off,
    /// As much as this system can do.
    Auto,
    /// All of it, or no cell starts.
    Required,
}

/// Files in PEM. Which hosts it is for is said by the certificate itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    pub cert: PathBuf,
    pub key: PathBuf,
}

// === impl OperatorConfig ===

impl OperatorConfig {
    /// An empty text is an empty configuration. `file` is named in errors; nothing is read from it.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        let mut config = read_file(text, file, Self::read)?;
        for manifest in config.apps.values_mut().chain([&mut config.defaults]) {
            manifest.source.file = file.to_owned();
        }
        Ok(config)
    }

    fn read(node: &Node) -> Read<Self> {
        let mut fields = Fields::of(node)?;
        let most = u64::from(u32::MAX);
        let config = Self {
            listen: fields.take("listen", value::several(listen)),
            listen_tls: fields.take("listen_tls", value::several(listen)),
            admin: fields.take("admin", admin),
            data: fields.take("data", path),
            domains: fields.take("domains", value::several(domain)),
            paths: fields.take("paths", value::flag),
            threads: fields.take("threads", value::count(1..=1024)),
            cells: fields.take("cells", value::count(1..=64)),
            standby: fields.take("standby", value::count(0..=64)),
            stuck_grace: fields.take("stuck_grace", value::some_time),
            stuck_limit: fields.take("stuck_limit", value::some_time),
            heartbeat_timeout: fields.take("heartbeat_timeout", value::some_time),
            cell_memory: fields.take("cell_memory", value::size_of_at_least(LEAST_CELL)),
            drain_timeout: fields.take("drain_timeout", value::duration),
            isolates: fields.take("isolates", value::count(1..=MAX_ISOLATES.into())),
            max_per_owner: fields.take("max_per_owner", value::count(1..=MAX_ISOLATES.into())),
            max_fresh: fields.take("max_fresh", value::count(1..=MAX_ISOLATES.into())),
            initial_heap: fields.take("initial_heap", value::some_size),
            spares: fields.take("spares", value::count(0..=256)),
            memory_budget: fields.take("memory_budget", value::some_size),
            queue: fields.take("queue", value::count(0..=most)),
            queue_timeout: fields.take("queue_timeout", value::duration),
            max_queued: fields.take("max_queued", value::count(1..=most)),
            trusted_proxies: fields.take("trusted_proxies", value::several(range)),
            access_log: fields.take("access_log", value::word),
            log_format: fields.take("log_format", value::word),
            tls: fields.take("tls", value::several(certificate)),
            compression: fields.take("compression", value::flag),
            max_connections: fields.take("max_connections", value::count(1..=most)),
            max_connections_per_client: fields.take("max_connections_per_client", value::count(0..=most)),
            rate_limit: fields.take("rate_limit", value::parsed("a rate, such as 100/1m")),
            head_timeout: fields.take("head_timeout", value::some_time),
            keep_alive_timeout: fields.take("keep_alive_timeout", value::some_time),
            body_timeout: fields.take("body_timeout", value::some_time),
            write_timeout: fields.take("write_timeout", value::some_time),
            isolate_owners: fields.take("isolate_owners", value::flag),
            jail: fields.take("jail", value::word),
            otel: fields.take("otel", Otel::read),
            sandboxes: fields.take("sandboxes", SandboxSettings::read),
            mcp: fields.take("mcp", listen),
            defaults: fields.take("defaults", defaults).unwrap_or_default(),
            apps: fields.take("apps", apps).unwrap_or_default(),
            ceilings: ceilings(&mut fields),
        };
        fields.finish()?;
        Ok(config)
    }
}

fn listen(node: &Node) -> Read<SocketAddr> {
    let text = value::literal(node)?;
    parse_listen(&text).or_else(|error| value::fault(node, Problem::Listen(error)))
}

fn admin(node: &Node) -> Read<Admin> {
    match &node.value {
        Value::Plain(word) | Value::Quoted(word) if word == "off" => Ok(Admin::Off),
        _ => listen(node).map(Admin::At),
    }
}

fn path(node: &Node) -> Read<PathBuf> {
    value::text(node).map(PathBuf::from)
}

fn domain(node: &Node) -> Read<HostPattern> {
    match host(node)? {
        pattern if pattern.is_address() => {
            value::fault(node, HostError { host: pattern.to_string(), reason: HostReason::AddressDomain })
        }
        pattern if pattern.is_wildcard() => {
            value::fault(node, HostError { host: pattern.to_string(), reason: HostReason::Domain })
        }
        domain => Ok(domain),
    }
}

fn range(node: &Node) -> Read<Cidr> {
    value::parsed("an address or a range of them, such as 10.0.0.0/8")(node)
}

fn certificate(node: &Node) -> Read<Certificate> {
    let mut fields = Fields::of(node)?;
    let (cert, key) = (fields.take("cert", path), fields.take("key", path));
    for key in ["cert", "key"] {
        if fields.position(key).is_none() {
            fields.fault_at(node.at, Problem::Missing { key });
        }
    }
    fields.finish()?;
    let (Some(cert), Some(key)) = (cert, key) else { return value::fault(node, Problem::Empty) };
    Ok(Certificate { cert, key })
}

fn defaults(node: &Node) -> Read<Manifest> {
    let mut manifest = Manifest::read(node, Part::AllApps)?;
    manifest.source.above = "defaults".to_owned();
    Ok(manifest)
}

fn apps(node: &Node) -> Read<BTreeMap<AppName, Manifest>> {
    let app = |key: &Key, node: &Node| {
        name::app(&key.name).map_err(|error| vec![Fault::at(key.at, error.into())])?;
        let mut manifest = Manifest::read(node, Part::OneApp)?;
        manifest.source.above = format!("apps.{}", key.name);
        Ok(manifest)
    };
    let all = value::map(node, "a map of apps", app)?;
    Ok(all.into_iter().map(|(name, manifest)| (AppName::from(name), manifest)).collect())
}

fn ceilings(fields: &mut Fields<'_>) -> Ceilings {
    let base = Ceilings::default();
    let below = fields.take("ceilings", |node| {
        let mut fields = Fields::of(node)?;
        let ceilings = Ceilings {
            memory: fields.take("memory", value::size_or_none(LEAST_WORKER)),
            cpu: fields.take("cpu", value::duration_or_none(LEAST_TIME_MS)),
            timeout: fields.take("timeout", value::duration_or_none(LEAST_TIME_MS)),
            max_workers: fields.take("max_workers", value::count(0..=1024)),
            concurrency: fields.take("concurrency", value::count(0..=1_000_000)),
            ..Ceilings::default()
        };
        fields.finish()?;
        Ok(ceilings)
    });
    Ceilings {
        max_body_size: fields.take("max_body_size", value::some_size).unwrap_or(base.max_body_size),
        egress: fields.take("egress", value::egress),
        ..below.unwrap_or(base)
    }
}

// === words ===

impl Word for AccessLog {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("text", Self::Text), ("json", Self::Json)];
}

impl Word for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

impl Word for JailMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("auto", Self::Auto), ("required", Self::Required)];
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "operator/tests.rs"]
mod tests;
