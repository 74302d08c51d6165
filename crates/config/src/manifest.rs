//! `manifest.yaml`: an app's own settings. Every key is optional, because the manifest is one of
//! several layers: the operator's settings for the app are above it, the operator's defaults and
//! the built-in defaults below ([`Settings::resolve`](crate::Settings::resolve)). The operator's
//! layers have the same keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_core::execution::Execution;
use hearth_core::{AppName, ByteSize, Owner, VersionName};
use hearth_egress_policy::EgressPolicy;
use serde::{Deserialize, Serialize};

use crate::bindings::{self, Bindings};
use crate::cron::Cron;
use crate::error::{ConfigErrors, ConfigProblem, Position, SourceLocation};
use crate::fields::{Fields, Read, read_file};
use crate::host::HostPattern;
use crate::name::{self, InvalidName};
use crate::public_routes::{self, PublicRoutes};
use crate::rate::RateSpec;
use crate::relative_path::path_inside;
use crate::settings::{Auth, Env, Isolation, Lifetime, SiteKind};
use crate::value;
use crate::yaml::Node;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub name: Option<AppName>,
    pub version: Option<VersionName>,
    pub owner: Option<Owner>,
    /// Inside the folder, without `.` and `..`.
    pub entrypoint: Option<PathBuf>,
    pub env: Option<Env>,
    pub timeout: Option<Duration>,
    pub stream_timeout: Option<Duration>,
    /// `ttl`.
    pub lifetime: Option<Lifetime>,
    pub idle_timeout: Option<Duration>,
    pub max_requests: Option<Bound<u64>>,
    pub max_workers: Option<Bound<u16>>,
    pub max_body_size: Option<ByteSize>,
    pub memory: Option<ByteSize>,
    pub cpu: Option<Duration>,
    pub concurrency: Option<u32>,
    pub execution: Option<Execution>,
    pub isolation: Option<Isolation>,
    pub rate_limit: Option<Bound<RateSpec>>,
    pub low_memory: Option<bool>,
    pub auth: Option<Auth>,
    pub public_routes: Option<PublicRoutes>,
    pub auto_install: Option<bool>,
    pub site: Option<SiteKind>,
    pub inject_base: Option<bool>,
    pub env_prefix: Option<Vec<String>>,
    pub egress: Option<EgressPolicy>,
    pub hosts: Option<Vec<HostPattern>>,
    pub crons: Option<Vec<Cron>>,
    /// `static`, inside the folder, without `.` and `..`.
    pub static_folder: Option<PathBuf>,
    pub bindings: Option<Bindings>,
    /// Positions of the keys.
    pub source: Source,
}

/// Positions of a layer's keys, for errors that are found later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub file: PathBuf,
    /// The key above them in `hearth.yaml`: `defaults`, `apps.shop`.
    pub above: String,
    pub positions: BTreeMap<&'static str, Position>,
}

/// A bound that can be `none`, which is different from absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound<T> {
    /// `none`.
    Unlimited,
    Limited(T),
}

/// The author of a layer and the apps that it is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// An app about itself.
    App,
    /// The operator about one app.
    OneApp,
    /// The operator about all apps.
    AllApps,
}

// === impl Manifest ===

impl Manifest {
    /// An empty text is an empty manifest. `file` is named in errors; the file is not read.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        let mut manifest = read_file(text, file, |root| Self::read(root, Part::App))?;
        manifest.source.file = file.to_owned();
        Ok(manifest)
    }

    /// The position of a key in this layer, or of the layer if the key is absent.
    pub fn place(&self, key: &str) -> SourceLocation {
        let Source { file, above, positions } = &self.source;
        let key_path = if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
        SourceLocation { file: file.clone(), position: positions.get(key).copied(), key: key_path }
    }

    pub(crate) fn read(node: &Node, part: Part) -> Read<Self> {
        let mut fields = Fields::new(node)?;
        let mut manifest = Self {
            name: fields.read("name", |node| named(node, name::app).map(AppName::from)),
            version: fields.read("version", |node| named(node, name::version).map(VersionName::from)),
            owner: fields.read("owner", |node| named(node, name::owner).map(Owner::from)),
            entrypoint: fields.read("entrypoint", inside),
            env: fields.read("env", value::env),
            timeout: fields.read("timeout", value::duration),
            stream_timeout: fields.read("streamTimeout", value::duration),
            lifetime: fields.read("ttl", lifetime),
            idle_timeout: fields.read("idleTimeout", value::duration),
            max_requests: fields.read("maxRequests", max_requests),
            max_workers: fields.read("maxWorkers", value::bound(value::count(1..=1024))),
            max_body_size: fields.read("maxBodySize", value::some_size),
            memory: fields.read("memory", value::size),
            cpu: fields.read("cpu", value::duration),
            concurrency: fields.read("concurrency", value::count(0..=1_000_000)),
            execution: fields.read("execution", value::word),
            isolation: fields.read("isolation", value::word),
            rate_limit: fields.read("rateLimit", value::bound(value::parsed("a rate, such as 100/1m"))),
            low_memory: fields.read("lowMemory", value::flag),
            auth: fields.read("auth", value::word),
            public_routes: fields.read("publicRoutes", public_routes::read),
            auto_install: fields.read("autoInstall", value::flag),
            site: fields.read("site", value::word),
            inject_base: fields.read("injectBase", value::flag),
            env_prefix: fields.read("envPrefix", value::at_most(64, value::several(value::text))),
            egress: fields.read("egress", value::egress),
            hosts: fields.read("hosts", value::at_most(256, value::several(host))),
            crons: fields.read("crons", value::at_most(64, value::several(cron))),
            static_folder: fields.read("static", inside),
            bindings: fields.read("bindings", bindings::read),
            source: Source::default(),
        };
        check_scope(&mut fields, part);
        if let (Some(Lifetime::Limited(ttl)), Some(timeout)) = (manifest.lifetime, manifest.timeout)
            && is_below(ttl, timeout)
        {
            fields.fault("ttl", ConfigProblem::TtlBelowTimeout { ttl, timeout });
        }
        manifest.source.positions = fields.finish()?;
        Ok(manifest)
    }
}

/// Name and version cannot be set for all apps, and not by the operator.
fn check_scope(fields: &mut Fields<'_>, part: Part) {
    let (scope, keys): (_, &[&str]) = match part {
        Part::App => return,
        Part::OneApp => ("for one app: it is the app's own", &["name", "version"]),
        Part::AllApps => ("for all apps: each has its own", &["name", "version", "hosts"]),
    };
    for key in keys {
        if fields.position(key).is_some() {
            fields.fault(key, ConfigProblem::NotHere { scope });
        }
    }
}

/// A worker must live as long as its longest request; a disabled timeout has no end.
pub(crate) fn is_below(ttl: Duration, timeout: Duration) -> bool {
    timeout.is_zero() || ttl < timeout
}

fn named(node: &Node, check: fn(&str) -> Result<(), InvalidName>) -> Read<String> {
    let text = value::literal(node)?;
    check(&text).or_else(|error| value::fault(node, error))?;
    Ok(text)
}

fn inside(node: &Node) -> Read<PathBuf> {
    path_inside(&value::text(node)?).or_else(|error| value::fault(node, error))
}

pub(crate) fn host(node: &Node) -> Read<HostPattern> {
    value::parsed("a host name, such as shop.example.com")(node)
}

fn cron(node: &Node) -> Read<Cron> {
    value::parsed("a cron expression, such as \"0 * * * *\"")(node)
}

fn lifetime(node: &Node) -> Read<Lifetime> {
    Ok(match value::bound(value::duration)(node)? {
        Bound::Unlimited => Lifetime::Unlimited,
        Bound::Limited(Duration::ZERO) => Lifetime::Ephemeral,
        Bound::Limited(ttl) => Lifetime::Limited(ttl),
    })
}

/// Zero turns the limit off.
fn max_requests(node: &Node) -> Read<Bound<u64>> {
    Ok(match value::bound(value::count(0..=u64::from(u32::MAX)))(node)? {
        Bound::Limited(0) => Bound::Unlimited,
        bound => bound,
    })
}

// === impl Bound ===

impl<T> From<Bound<T>> for Option<T> {
    fn from(bound: Bound<T>) -> Self {
        match bound {
            Bound::Unlimited => None,
            Bound::Limited(limit) => Some(limit),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "manifest/tests.rs"]
mod tests;
