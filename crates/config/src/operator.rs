//! `hearth.yaml`: the operator's configuration. Keys are in snake_case; `defaults` and `apps`
//! contain keys of manifests in their spelling. Every key is optional: flags and environment
//! variables are above this file, built-in defaults below. Paths are kept as written; the caller
//! resolves them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_core::{AppName, ByteSize, Cidr};
use serde::{Deserialize, Serialize};

use crate::ceilings::AppCeilings;
use crate::error::{ConfigErrors, ConfigProblem};
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

/// Isolates that V8's pointer compression cage has room for, with a reserve.
pub const MAX_ISOLATES: u16 = 3500;

/// A cell uses half of this right after its start.
const LEAST_CELL: ByteSize = ByteSize::mb(128);
/// With less memory no app could respond, so the value must be a mistake.
const LEAST_WORKER: ByteSize = ByteSize::mb(8);
const LEAST_TIME_MS: u64 = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorConfig {
    pub listen: Option<Vec<SocketAddr>>,
    /// The same with TLS; needs `tls`.
    pub listen_tls: Option<Vec<SocketAddr>>,
    pub admin: Option<AdminListen>,
    /// The folder for state.
    pub data: Option<PathBuf>,
    /// Apps are served at `name.DOMAIN`. No wildcards.
    pub domains: Option<Vec<HostPattern>>,
    /// Whether apps are also served at `/name/`.
    pub paths: Option<bool>,
    pub threads: Option<u16>,
    pub cells: Option<u16>,
    /// Spare cells.
    pub standby: Option<u16>,
    pub stuck_grace: Option<Duration>,
    pub stuck_limit: Option<Duration>,
    /// A cell that does not respond for longer is replaced.
    pub heartbeat_timeout: Option<Duration>,
    /// A cell that uses more memory is replaced.
    pub cell_memory: Option<ByteSize>,
    pub drain_timeout: Option<Duration>,
    pub isolates: Option<u16>,
    /// Isolates of one owner.
    pub max_per_owner: Option<u16>,
    /// Concurrent requests of one owner, each with an isolate or context of its own.
    pub max_fresh: Option<u16>,
    /// The heap size before the first collection.
    pub initial_heap: Option<ByteSize>,
    pub spares: Option<u16>,
    pub memory_budget: Option<ByteSize>,
    /// Queued requests of one owner.
    pub queue: Option<u32>,
    pub queue_timeout: Option<Duration>,
    /// Running and queued requests of all owners.
    pub max_queued: Option<u32>,
    pub trusted_proxies: Option<Vec<Cidr>>,
    pub access_log: Option<AccessLog>,
    pub log_format: Option<LogFormat>,
    pub tls: Option<Vec<Certificate>>,
    pub compression: Option<bool>,
    pub max_connections: Option<u32>,
    /// Zero: no limit.
    pub max_connections_per_client: Option<u32>,
    /// Per client, over all apps.
    pub rate_limit: Option<RateSpec>,
    pub head_timeout: Option<Duration>,
    pub keep_alive_timeout: Option<Duration>,
    pub body_timeout: Option<Duration>,
    pub write_timeout: Option<Duration>,
    pub isolate_owners: Option<bool>,
    pub jail: Option<JailMode>,
    /// The target of metrics and traces.
    pub otel: Option<Otel>,
    pub sandboxes: Option<SandboxSettings>,
    /// Where the MCP server for sandboxes listens; not at all by default.
    pub mcp: Option<SocketAddr>,
    /// Defaults for all apps.
    pub defaults: Manifest,
    pub apps: BTreeMap<AppName, Manifest>,
    /// `ceilings`, and two ceilings with keys of their own: `max_body_size` and `egress`.
    pub ceilings: AppCeilings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminListen {
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
    /// As much as the system supports.
    Auto,
    /// Everything is required, otherwise no cell starts.
    Required,
}

/// PEM files. The hosts are those of the certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    pub cert: PathBuf,
    pub key: PathBuf,
}

// === impl OperatorConfig ===

impl OperatorConfig {
    /// An empty text is an empty configuration. `file` is named in errors; the file is not read.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        let mut config = read_file(text, file, Self::read)?;
        for manifest in config.apps.values_mut().chain([&mut config.defaults]) {
            manifest.source.file = file.to_owned();
        }
        Ok(config)
    }

    fn read(node: &Node) -> Read<Self> {
        let mut fields = Fields::new(node)?;
        let most = u64::from(u32::MAX);
        let config = Self {
            listen: fields.read("listen", value::several(listen)),
            listen_tls: fields.read("listen_tls", value::several(listen)),
            admin: fields.read("admin", admin),
            data: fields.read("data", path),
            domains: fields.read("domains", value::several(domain)),
            paths: fields.read("paths", value::flag),
            threads: fields.read("threads", value::count(1..=1024)),
            cells: fields.read("cells", value::count(1..=64)),
            standby: fields.read("standby", value::count(0..=64)),
            stuck_grace: fields.read("stuck_grace", value::some_time),
            stuck_limit: fields.read("stuck_limit", value::some_time),
            heartbeat_timeout: fields.read("heartbeat_timeout", value::some_time),
            cell_memory: fields.read("cell_memory", value::size_of_at_least(LEAST_CELL)),
            drain_timeout: fields.read("drain_timeout", value::duration),
            isolates: fields.read("isolates", value::count(1..=MAX_ISOLATES.into())),
            max_per_owner: fields.read("max_per_owner", value::count(1..=MAX_ISOLATES.into())),
            max_fresh: fields.read("max_fresh", value::count(1..=MAX_ISOLATES.into())),
            initial_heap: fields.read("initial_heap", value::some_size),
            spares: fields.read("spares", value::count(0..=256)),
            memory_budget: fields.read("memory_budget", value::some_size),
            queue: fields.read("queue", value::count(0..=most)),
            queue_timeout: fields.read("queue_timeout", value::duration),
            max_queued: fields.read("max_queued", value::count(1..=most)),
            trusted_proxies: fields.read("trusted_proxies", value::several(range)),
            access_log: fields.read("access_log", value::word),
            log_format: fields.read("log_format", value::word),
            tls: fields.read("tls", value::several(certificate)),
            compression: fields.read("compression", value::flag),
            max_connections: fields.read("max_connections", value::count(1..=most)),
            max_connections_per_client: fields.read("max_connections_per_client", value::count(0..=most)),
            rate_limit: fields.read("rate_limit", value::parsed("a rate, such as 100/1m")),
            head_timeout: fields.read("head_timeout", value::some_time),
            keep_alive_timeout: fields.read("keep_alive_timeout", value::some_time),
            body_timeout: fields.read("body_timeout", value::some_time),
            write_timeout: fields.read("write_timeout", value::some_time),
            isolate_owners: fields.read("isolate_owners", value::flag),
            jail: fields.read("jail", value::word),
            otel: fields.read("otel", Otel::read),
            sandboxes: fields.read("sandboxes", SandboxSettings::read),
            mcp: fields.read("mcp", listen),
            defaults: fields.read("defaults", defaults).unwrap_or_default(),
            apps: fields.read("apps", apps).unwrap_or_default(),
            ceilings: ceilings(&mut fields),
        };
        fields.finish()?;
        Ok(config)
    }
}

fn listen(node: &Node) -> Read<SocketAddr> {
    let text = value::literal(node)?;
    parse_listen(&text).or_else(|error| value::fault(node, ConfigProblem::Listen(error)))
}

fn admin(node: &Node) -> Read<AdminListen> {
    match &node.value {
        Value::Plain(word) | Value::Quoted(word) if word == "off" => Ok(AdminListen::Off),
        _ => listen(node).map(AdminListen::At),
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
    let mut fields = Fields::new(node)?;
    let (cert, key) = (fields.read("cert", path), fields.read("key", path));
    for key in ["cert", "key"] {
        if fields.position(key).is_none() {
            fields.fault_at(node.at, ConfigProblem::Missing { key });
        }
    }
    fields.finish()?;
    let (Some(cert), Some(key)) = (cert, key) else { return value::fault(node, ConfigProblem::Empty) };
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

fn ceilings(fields: &mut Fields<'_>) -> AppCeilings {
    let base = AppCeilings::default();
    let below = fields.read("ceilings", |node| {
        let mut fields = Fields::new(node)?;
        let ceilings = AppCeilings {
            memory: fields.read("memory", value::size_or_none(LEAST_WORKER)),
            cpu: fields.read("cpu", value::duration_or_none(LEAST_TIME_MS)),
            timeout: fields.read("timeout", value::duration_or_none(LEAST_TIME_MS)),
            max_workers: fields.read("max_workers", value::count(0..=1024)),
            concurrency: fields.read("concurrency", value::count(0..=1_000_000)),
            ..AppCeilings::default()
        };
        fields.finish()?;
        Ok(ceilings)
    });
    AppCeilings {
        max_body_size: fields.read("max_body_size", value::some_size).unwrap_or(base.max_body_size),
        egress: fields.read("egress", value::egress),
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
