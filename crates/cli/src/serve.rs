//! `hearth serve`: flags over `hearth.yaml` over defaults, listeners opened, and control started with all of it.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use hearth_config::{AccessLog, Admin, LogFormat, OperatorConfig};
use hearth_control::{AdminConfig, Journal, ServeConfig};
use hearth_core::ByteSize;
use hearth_journal::{Colours, Format};
use hearth_link::{AccessFormat, CellPlan, CertificatePlan, FrontPlan, ListenerPlan};
use hearth_store::AdminToken;

use crate::log;
use crate::serve_options::{AccessLogFormat, AdminAt, LogLineFormat, ServeOptions};
use crate::settings::{PoolSettings, override_with};
use crate::signals;

const LISTEN: &str = "127.0.0.1:8080";
const ADMIN: &str = "127.0.0.1:9090";
const DATA: &str = ".hearth";
const CONFIG: &str = "hearth.yaml";

pub fn serve(options: ServeOptions) -> anyhow::Result<()> {
    let operator = configuration(options.config.as_deref())?;
    let format = match (options.log_format, operator.log_format) {
        (Some(LogLineFormat::Json), _) | (None, Some(LogFormat::Json)) => Format::Json,
        _ => Format::Text,
    };
    let journal = Journal::new(format, colours());
    log::to_journal(&journal);
    let served = serve_with(options, operator, journal.clone());
    // An error is told after the log, not in the midst of it.
    journal.finish();
    served
}

fn serve_with(options: ServeOptions, mut operator: OperatorConfig, journal: Journal) -> anyhow::Result<()> {
    override_with(&mut operator.defaults, &options.app);
    if let Some(egress) = &options.app.egress {
        operator.ceilings.egress = Some(egress.clone());
    }
    warn_of_no_effect(&operator);
    let roots = folders(&options)?;
    let data = options.data.clone().or(operator.data.clone()).unwrap_or_else(|| DATA.into());
    let certificates = certificates(&options, &operator)?;
    let (listeners, listening) = listeners(&options, &operator, &certificates)?;
    let plan = plan(&options, &operator, listening, certificates);
    let admin = administration(&options, &operator, &data)?;
    let admin_address = admin.as_ref().map(|admin| admin.listener.local_addr()).transpose()?;
    // The file itself, whatever becomes of its name: a new cell must be of the same program as its control.
    let program = PathBuf::from("/proc/self/exe");
    let (given, file) = (options.admin_token.is_some(), data.join("admin.token"));
    let addresses: Vec<String> = plan.listeners.iter().map(address).collect();
    let config = ServeConfig { program, roots, data: data.clone(), operator, plan, listeners, admin, journal };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(async {
        // Before anybody is told that we are there: who is told may want us to stop.
        let stop = signals::stop().context("cannot watch for signals")?;
        let look_again = signals::look_again().context("cannot watch for signals")?;
        hearth_control::serve(config, stop, look_again, |_| {
            if let Some(address) = admin_address {
                match given {
                    true => tracing::info!("Admin API on http://{address} with the token that was given"),
                    false => tracing::info!("Admin API on http://{address} with the token in {}", file.display()),
                }
            }
            for address in &addresses {
                tracing::info!("Listening on {address}");
            }
        })
        .await?;
        anyhow::Ok(())
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    served?;
    tracing::info!("Stopped");
    Ok(())
}

fn colours() -> Colours {
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) { Colours::On } else { Colours::Off }
}

/// `hearth.yaml`, if it was named or is there.
fn configuration(file: Option<&Path>) -> anyhow::Result<OperatorConfig> {
    let path = file.unwrap_or(Path::new(CONFIG));
    match std::fs::read_to_string(path) {
        Ok(text) => OperatorConfig::parse(&text, path).map_err(|errors| anyhow::anyhow!("{errors}")),
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(OperatorConfig::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// What the operator says about one app may be above the ceiling of all.
fn largest_body(operator: &OperatorConfig) -> ByteSize {
    let own = operator.apps.values().filter_map(|app| app.max_body_size).max();
    own.unwrap_or_default().max(operator.ceilings.max_body_size)
}

/// Keys that are read and do nothing yet: who wrote them should know.
fn warn_of_no_effect(operator: &OperatorConfig) {
    let keys = [
        ("cells", operator.cells.is_some()),
        ("standby", operator.standby.is_some()),
        ("stuck_grace", operator.stuck_grace.is_some()),
        ("stuck_limit", operator.stuck_limit.is_some()),
        ("isolate_owners", operator.isolate_owners.is_some()),
        ("jail", operator.jail.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, is_set)| *is_set) {
        tracing::warn!("hearth.yaml: `{key}` has no effect yet");
    }
}

fn folders(options: &ServeOptions) -> anyhow::Result<Vec<PathBuf>> {
    let all: Vec<&PathBuf> = options.folders.iter().chain(&options.apps).collect();
    let mut roots = Vec::new();
    for folder in all {
        let root = folder.canonicalize().with_context(|| format!("cannot open {}", folder.display()))?;
        if !root.is_dir() {
            bail!(
                "{} is not a folder: `hearth serve` takes folders of apps, `hearth run` takes one app's file",
                folder.display()
            );
        }
        roots.push(root);
    }
    Ok(roots)
}

fn certificates(options: &ServeOptions, operator: &OperatorConfig) -> anyhow::Result<Vec<CertificatePlan>> {
    if options.cert.len() != options.key.len() {
        bail!(
            "there are {} --cert and {} --key: each certificate needs its key",
            options.cert.len(),
            options.key.len()
        );
    }
    let flags = options.cert.iter().zip(&options.key);
    let configured = operator.tls.iter().flatten().map(|one| (&one.cert, &one.key));
    let read =
        |path: &PathBuf| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
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

/// All that is listened on, open, and what each is.
fn listeners(
    options: &ServeOptions,
    operator: &OperatorConfig,
    certificates: &[CertificatePlan],
) -> anyhow::Result<(Vec<TcpListener>, Vec<ListenerPlan>)> {
    let default = vec![LISTEN.parse::<SocketAddr>().expect("a constant")];
    let tls = if options.listen_tls.is_empty() {
        operator.listen_tls.clone().unwrap_or_default()
    } else {
        options.listen_tls.clone()
    };
    let plain = match (options.listen.is_empty(), &operator.listen) {
        (false, _) => options.listen.clone(),
        (true, Some(listen)) => listen.clone(),
        // Who listens with TLS need not listen without.
        (true, None) if !tls.is_empty() => Vec::new(),
        (true, None) => default,
    };
    if !tls.is_empty() && certificates.is_empty() {
        bail!("listening with TLS needs a certificate: --cert FILE --key FILE, or `tls:` in hearth.yaml");
    }
    if tls.is_empty() && !certificates.is_empty() {
        bail!(
            "there is a certificate and nobody listens with it: add --listen-tls ADDRESS:PORT, or `listen_tls:` in hearth.yaml"
        );
    }
    let (mut open, mut plans) = (Vec::new(), Vec::new());
    for address in plain {
        let (listener, bound) = listen(address)?;
        open.push(listener);
        plans.push(ListenerPlan::Plain(bound));
    }
    for address in tls {
        let (listener, bound) = listen(address)?;
        open.push(listener);
        plans.push(ListenerPlan::Tls(bound));
    }
    Ok((open, plans))
}

fn listen(address: SocketAddr) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    let bound = listener.local_addr().context("the listener has no address")?;
    Ok((listener, bound))
}

fn address(listener: &ListenerPlan) -> String {
    match listener {
        ListenerPlan::Plain(address) => format!("http://{address}"),
        ListenerPlan::Tls(address) => format!("https://{address}"),
    }
}

fn administration(
    options: &ServeOptions,
    operator: &OperatorConfig,
    data: &Path,
) -> anyhow::Result<Option<AdminConfig>> {
    let at = match (options.admin, operator.admin) {
        (Some(AdminAt::Off), _) | (None, Some(Admin::Off)) => return Ok(None),
        (Some(AdminAt::Address(address)), _) | (None, Some(Admin::At(address))) => address,
        (None, None) => ADMIN.parse().expect("a constant"),
    };
    let token = match &options.admin_token {
        Some(token) if token.is_empty() => bail!("the admin token is empty: leave --admin-token out, and one is made"),
        Some(token) => token.clone(),
        None => {
            std::fs::create_dir_all(data).with_context(|| format!("cannot make {}", data.display()))?;
            let made = AdminToken::read_or_make(data)?;
            if let Some(note) = &made.note {
                tracing::warn!("{note}");
            }
            made.token.reveal().to_owned()
        }
    };
    let (listener, _) = listen(at)?;
    Ok(Some(AdminConfig { listener, token }))
}

fn plan(
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
        threads: pool.terms.threads,
        isolates: pool.isolates,
        spares: pool.spares,
        memory_budget: pool.memory_budget,
        max_queued: pool.max_queued,
        queue: pool.terms.queue,
        queue_timeout: pool.terms.queue_timeout,
        domains,
        listeners,
        front: FrontPlan {
            max_body: largest_body(operator),
            head_timeout: options.head_timeout.or(operator.head_timeout).unwrap_or(seconds(10)),
            keep_alive_timeout: operator.keep_alive_timeout.unwrap_or(seconds(75)),
            body_timeout: operator.body_timeout.unwrap_or(seconds(300)),
            write_timeout: operator.write_timeout.unwrap_or(seconds(300)),
            drain_timeout: options.drain_timeout.or(operator.drain_timeout).unwrap_or(seconds(10)),
            max_connections: operator.max_connections.unwrap_or(10_000) as usize,
            max_connections_per_client: operator.max_connections_per_client.map(|count| count as usize),
            rate: operator.rate_limit,
            trusted_proxies: operator.trusted_proxies.iter().flatten().map(ToString::to_string).collect(),
            compression: operator.compression.unwrap_or(true),
            access_log,
            detailed_errors: options.dev,
        },
        certificates,
        log: log::filter(),
        breadcrumbs: options.breadcrumbs.clone(),
    }
}
