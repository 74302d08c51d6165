//! The server's configuration, at its start and at each reload: flags over `hearth.yaml` over defaults, and the files that these
//! name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use hearth_config::{AccessLog, JailMode, OperatorConfig, Ratio};
use hearth_control::{Configuration, ConfigurationError, ConfigurationSource};
use hearth_core::ByteSize;
use hearth_gateway::read_pem;
use hearth_ipc::{AccessFormat, CellPlan, CellRole, CertificatePlan, FrontPlan, JailPlan, ListenerPlan};

use crate::log;
use crate::otel;
use crate::serve_options::{AccessLogFormat, ServeOptions};
use crate::settings::{PoolSettings, fill_in_borrowed, override_with};
use crate::terminal::chain;

pub const FILE: &str = "hearth.yaml";

/// Reads the configuration at a reload; the listeners stay as they are.
pub struct Reader {
    pub options: ServeOptions,
    pub listening: Vec<ListenerPlan>,
}

/// `hearth.yaml` with environment variables laid over it.
pub struct LayeredConfig {
    pub operator: OperatorConfig,
    /// The text of the file; empty without one.
    pub text: String,
}

impl ConfigurationSource for Reader {
    fn read(&self) -> Result<Configuration, ConfigurationError> {
        let read = || {
            let LayeredConfig { mut operator, text } = LayeredConfig::read(&self.options)?;
            fill_in_borrowed(&mut operator.defaults);
            let certificates = certificates(&self.options, &operator)?;
            let with_tls = self.listening.iter().any(|listener| matches!(listener, ListenerPlan::Tls(_)));
            // Switching the admin API off needs a restart: its listener is open already.
            if with_tls && certificates.is_empty() {
                bail!("there is no certificate any more for the address that listens with TLS: `tls:` is missing");
            }
            let plan = plan(&self.options, &operator, self.listening.clone(), certificates);
            anyhow::Ok(Configuration { operator, plan, text })
        };
        read().map_err(|error| ConfigurationError(chain(&error)))
    }
}

impl LayeredConfig {
    pub fn read(options: &ServeOptions) -> anyhow::Result<Self> {
        let (path, text) = text(options.config.as_deref())?;
        let parsed = OperatorConfig::parse(&text, &path);
        let mut operator = parsed.map_err(|errors| anyhow::anyhow!("{errors}"))?;
        override_with(&mut operator.defaults, &options.app);
        operator.cells = options.cells.or(operator.cells);
        operator.standby = options.standby.or(operator.standby);
        if let Some(egress) = &options.app.egress {
            operator.ceilings.egress = Some(egress.clone());
        }
        operator.otel = otel::over(operator.otel)?;
        Ok(Self { operator, text })
    }
}

/// The path and text of `hearth.yaml`: an empty text if no file was named and the default does not exist.
pub fn text(named: Option<&Path>) -> anyhow::Result<(PathBuf, String)> {
    let path = named.unwrap_or(Path::new(FILE)).to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok((path, String::new())),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

pub fn certificates(options: &ServeOptions, operator: &OperatorConfig) -> anyhow::Result<Vec<CertificatePlan>> {
    if options.cert.len() != options.key.len() {
        bail!(
            "there are {} --cert and {} --key: each certificate needs its key",
            options.cert.len(),
            options.key.len()
        );
    }
    let flags = options.cert.iter().zip(&options.key);
    let configured = operator.tls.iter().flatten().map(|one| (&one.cert, &one.key));
    let read = |path: &PathBuf| read_pem(path).with_context(|| format!("cannot read {}", path.display()));
    flags
        .chain(configured)
        .map(|(cert, key)| {
            Ok(CertificatePlan {
                file: cert.display().to_string(),
                key_file: key.display().to_string(),
                certificate: read(cert)?,
                key: read(key)?,
            })
        })
        .collect()
}

pub fn plan(
    options: &ServeOptions,
    operator: &OperatorConfig,
    listeners: Vec<ListenerPlan>,
    certificates: Vec<CertificatePlan>,
) -> CellPlan {
    let pool = PoolSettings::new(&options.pool, operator);
    let domains = if options.domains.is_empty() {
        let configured = operator.domains.as_ref().map(|all| all.iter().map(ToString::to_string).collect());
        configured.unwrap_or_else(|| vec!["localhost".to_owned()])
    } else {
        options.domains.clone()
    };
    let seconds = Duration::from_secs;
    let access_log = match (options.access_log, operator.access_log) {
        (Some(AccessLogFormat::Text), _) | (None, Some(AccessLog::Text)) => AccessFormat::Text,
        (Some(AccessLogFormat::Json), _) | (None, Some(AccessLog::Json)) => AccessFormat::Json,
        _ => AccessFormat::Off,
    };
    CellPlan {
        role: CellRole::Main,
        jail: JailPlan { mode: operator.jail.unwrap_or(JailMode::Auto), readable: Vec::new(), writable: Vec::new() },
        threads: pool.terms.threads,
        isolates: pool.isolates,
        initial_heap: pool.initial_heap,
        max_per_owner: pool.max_per_owner,
        max_fresh: pool.terms.max_fresh,
        spares: pool.spares,
        cells: operator.cells.map_or(1, usize::from),
        memory_budget: pool.memory_budget,
        max_queued: pool.max_queued,
        queue: pool.terms.queue,
        queue_timeout: pool.terms.queue_timeout,
        domains,
        paths: operator.paths.unwrap_or(true),
        listeners,
        front: FrontPlan {
            max_body: largest_body(operator),
            head_timeout: options.head_timeout.or(operator.head_timeout).unwrap_or(seconds(10)),
            keep_alive_timeout: operator.keep_alive_timeout.unwrap_or(seconds(75)),
            body_timeout: operator.body_timeout.unwrap_or(seconds(300)),
            write_timeout: operator.write_timeout.unwrap_or(seconds(300)),
            drain_timeout: options.drain_timeout.or(operator.drain_timeout).unwrap_or(seconds(10)),
            max_connections: operator.max_connections.unwrap_or(10_000) as usize,
            max_connections_per_client: Some(operator.max_connections_per_client.unwrap_or(1000) as usize),
            rate: operator.rate_limit,
            trusted_proxies: operator.trusted_proxies.iter().flatten().map(ToString::to_string).collect(),
            compression: operator.compression.unwrap_or(true),
            access_log,
            traces: operator.otel.as_ref().map_or(Ratio::NONE, |otel| otel.traces),
            detailed_errors: options.dev,
        },
        certificates,
        log: log::filter(),
        stuck_grace: operator.stuck_grace,
    }
}

/// The operator's settings of one app may exceed the ceiling for all apps.
fn largest_body(operator: &OperatorConfig) -> ByteSize {
    let own = operator.apps.values().filter_map(|app| app.max_body_size).max();
    own.unwrap_or_default().max(operator.ceilings.max_body_size)
}
