//! `hearth serve`: flags over `hearth.yaml` over defaults, listeners opened, and control started with all of it.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use hearth_apps::discovery::discover;
use hearth_apps::{ENTRIES, MANIFESTS};
use hearth_config::{AdminListen, LogFormat, OperatorConfig};
use hearth_control::sandboxes::{McpPlan, SandboxPlan};
use hearth_control::{AdminConfig, CHECK_OUTPUT, Configuration, LogStore, ServeConfig, ServerEnd, UpgradeTarget};
use hearth_ipc::{CertificatePlan, ListenerPlan};
use hearth_log::{Colours, Format};
use hearth_store::AdminToken;

use crate::configuration::{self, LayeredConfig, Reader};
use crate::doctor::check_jail;
use crate::log;
use crate::serve_options::{AdminAt, LogLineFormat, ServeOptions};
use crate::service::{
    ListenerKind, Listeners, Notifier, PendingRollback, PreviousProgram, RolledBack, UpgradeState, UpgradeStateError,
    exec_successor, with_upgrade_state,
};
use crate::settings::fill_in_borrowed;
use crate::sighup::Terminal;
use crate::{signals, threads};

pub const LISTEN: &str = "127.0.0.1:8080";
pub const ADMIN: &str = "127.0.0.1:9090";
pub const DATA: &str = ".hearth";

pub fn serve(options: ServeOptions) -> anyhow::Result<()> {
    // Before anything else is opened.
    with_upgrade_state(|state, rollback| serve_upgraded(options, state, rollback))
}

fn serve_upgraded(options: ServeOptions, state: UpgradeState, rollback: PendingRollback) -> anyhow::Result<()> {
    let mut written = LayeredConfig::read(&options)?;
    let format = match (options.log_format, written.operator.log_format) {
        (Some(LogLineFormat::Json), _) | (None, Some(LogFormat::Json)) => Format::Json,
        // Without a flag, a terminal gets stack traces on lines of their own.
        (None, None) if colours() == Colours::On => Format::Terminal,
        _ => Format::Text,
    };
    let journal = LogStore::new(format, colours());
    log::to_journal(&journal);
    // After the log is set up: each borrowed variable that is used is logged.
    fill_in_borrowed(&mut written.operator.defaults);
    let served = serve_with(options, written, journal.clone(), (state, rollback));
    // So that `main` prints an error after the last log record.
    journal.finish();
    served
}

fn serve_with(
    options: ServeOptions,
    written: LayeredConfig,
    journal: LogStore,
    (state, rollback): (UpgradeState, PendingRollback),
) -> anyhow::Result<()> {
    let LayeredConfig { operator, text } = written;
    check_jail(operator.jail)?;
    let roots = folders(&options)?;
    let data = options.data.clone().or(operator.data.clone()).unwrap_or_else(|| DATA.into());
    let certificates = configuration::certificates(&options, &operator)?;
    if roots.is_empty() && !options.check {
        tracing::info!("No folder of apps was named: apps come by `hearth deploy`; `hearth serve DIR` serves a folder");
    }
    if options.check {
        hearth_control::check_certificates(&certificates)?;
        check_images(&operator)?;
        println!("{CHECK_OUTPUT}");
        return Ok(());
    }
    let UpgradeState { listeners: sockets, inherited, rolled_back } = state;
    if let Some(RolledBack { reason, .. }) = &rolled_back {
        tracing::error!(reason, "Upgrade failed: this program continues");
    }
    let mut sockets = Listeners::new(sockets)?;
    let (listeners, listening) = listeners(&options, &operator, &certificates, &mut sockets)?;
    let plan = configuration::plan(&options, &operator, listening.clone(), certificates);
    let admin = administration(&options, &operator, &data, &mut sockets)?;
    let admin_address = admin.as_ref().map(|admin| admin.listener.local_addr()).transpose()?;
    let sandboxes = sandboxes(&options, &operator, &data, &mut sockets)?;
    // The executable itself, not its path: a new cell must run the same program as its control.
    let program = PathBuf::from("/proc/self/exe");
    let (given, file) = (options.admin_token.is_some(), data.join("admin.token"));
    let addresses: Vec<String> = plan.listeners.iter().map(address).collect();
    let configuration = Configuration { operator, plan, text };
    let source = Arc::new(Reader { options, listening });
    let successor = UpgradeTarget {
        // By its path, which the next program's file will have.
        program: match rolled_back {
            Some(RolledBack { program, .. }) => program,
            None => std::env::current_exe().context("this program's own file cannot be found")?,
        },
        arguments: std::env::args_os().skip(1).collect(),
        version: format!("hearth {}", crate::version()),
    };
    let config = ServeConfig {
        program,
        roots,
        data,
        configuration,
        source,
        listeners,
        admin,
        sandboxes,
        log_store: journal.clone(),
        upgrade_target: Some(successor.clone()),
        inherited,
    };
    let runtime = threads::start()?;
    let served = runtime.block_on(async {
        // Before readiness is announced: a stop signal may follow at once.
        let notifier = Notifier::from_environment();
        let alive = tokio::spawn(notifier.clone().keep_alive());
        let terminal = Terminal::now();
        let stop = signals::stop(terminal).context("cannot watch for signals")?;
        let stop = {
            let notifier = notifier.clone();
            async move {
                stop.await;
                notifier.stopping();
            }
        };
        let reload = signals::reload(terminal).context("cannot watch for signals")?;
        let upgrade = signals::upgrade().context("cannot watch for signals")?;
        let ended = hearth_control::serve(config, stop, reload, upgrade, |_| {
            if let Some(address) = admin_address {
                match given {
                    true => tracing::info!("Admin API on http://{address} with the token that was given"),
                    false => tracing::info!("Admin API on http://{address} with the token in {}", file.display()),
                }
            }
            for address in &addresses {
                tracing::info!("Listening on {address}");
            }
            rollback.commit();
            notifier.ready(&format!("Listening on {}", addresses.join(", ")));
        })
        .await?;
        if let ServerEnd::Upgrade { listeners, left } = ended {
            notifier.reloading();
            journal.finish();
            let state = UpgradeState { listeners: sockets.export(listeners), inherited: *left, rolled_back: None };
            return Err(exec_upgrade(&successor, state).into());
        }
        alive.abort();
        anyhow::Ok(())
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    served?;
    tracing::info!("Stopped");
    Ok(())
}

/// Executes the new program, or this one again if the new one cannot be executed. Returns only if neither can.
fn exec_upgrade(successor: &UpgradeTarget, mut state: UpgradeState) -> UpgradeStateError {
    let UpgradeTarget { program, arguments, .. } = successor;
    let previous = PreviousProgram { program: program.clone(), arguments: arguments.clone() };
    let error = exec_successor(program, arguments, &state, Some(&previous));
    eprintln!("hearth: {} cannot take over: {error}", program.display());
    state.rolled_back = Some(RolledBack { reason: error.to_string(), program: program.clone() });
    exec_successor(Path::new("/proc/self/exe"), arguments, &state, None)
}

fn colours() -> Colours {
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) { Colours::On } else { Colours::Off }
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
        look_for_apps(&root, folder)?;
        roots.push(root);
    }
    Ok(roots)
}

/// Checks the folders of sandbox images, which the server itself opens only on demand.
fn check_images(operator: &OperatorConfig) -> anyhow::Result<()> {
    let images = operator.sandboxes.iter().flat_map(|sandboxes| &sandboxes.images);
    for (name, folder) in images {
        if !folder.is_dir() {
            bail!("hearth.yaml: sandboxes.images.{name}: there is no folder {}", folder.display());
        }
    }
    Ok(())
}

/// Serves a folder without an app, since apps can be added, but refuses a folder that is an app itself: a mistake.
fn look_for_apps(root: &Path, said: &Path) -> anyhow::Result<()> {
    let discovered = discover(std::slice::from_ref(&root.to_owned()));
    if !discovered.found.is_empty() || !discovered.problems.is_empty() {
        return Ok(());
    }
    let said = said.display();
    let mut marks = MANIFESTS.iter().chain(&ENTRIES);
    if let Some(mark) = marks.find(|mark| root.join(mark).is_file()) {
        bail!(
            "{said} is an app itself ({mark} is in it), and `hearth serve` takes the folder that apps are in: name that one, \
             or use `hearth dev {said}` or `hearth run {said}`"
        );
    }
    tracing::warn!(
        "{said} holds no app yet: an app is a folder in it with an index.ts, index.js or index.html; `hearth init` makes one"
    );
    Ok(())
}

/// The listening sockets, and what each serves.
fn listeners(
    options: &ServeOptions,
    operator: &OperatorConfig,
    certificates: &[CertificatePlan],
    sockets: &mut Listeners,
) -> anyhow::Result<(Vec<TcpListener>, Vec<ListenerPlan>)> {
    let default = vec![LISTEN.parse::<SocketAddr>().expect("a constant")];
    let tls = if options.listen_tls.is_empty() {
        operator.listen_tls.clone().unwrap_or_default()
    } else {
        options.listen_tls.clone()
    };
    let with_tls = !tls.is_empty() || sockets.has_activated(ListenerKind::Tls);
    let plain = match (options.listen.is_empty(), &operator.listen) {
        (false, _) => options.listen.clone(),
        (true, Some(listen)) => listen.clone(),
        // With TLS there is no default plain listener.
        (true, None) if with_tls => Vec::new(),
        (true, None) => default,
    };
    if with_tls && certificates.is_empty() {
        bail!("listening with TLS needs a certificate: --cert FILE --key FILE, or `tls:` in hearth.yaml");
    }
    if !with_tls && !certificates.is_empty() {
        bail!(
            "there is a certificate but no TLS listener: add --listen-tls ADDRESS:PORT, or `listen_tls:` in hearth.yaml"
        );
    }
    let (mut open, mut plans) = (Vec::new(), Vec::new());
    for (listener, bound) in sockets.open(ListenerKind::Plain, &plain)? {
        open.push(listener);
        plans.push(ListenerPlan::Plain(bound));
    }
    for (listener, bound) in sockets.open(ListenerKind::Tls, &tls)? {
        open.push(listener);
        plans.push(ListenerPlan::Tls(bound));
    }
    Ok((open, plans))
}

fn address(listener: &ListenerPlan) -> String {
    match listener {
        ListenerPlan::Plain(address) => format!("http://{address}"),
        ListenerPlan::Tls(address) => format!("https://{address}"),
        ListenerPlan::Hop(path) => format!("unix:{}", path.display()),
    }
}

/// Sandboxes are enabled by `sandboxes` in `hearth.yaml`, or by an MCP listener.
fn sandboxes(
    options: &ServeOptions,
    operator: &OperatorConfig,
    data: &Path,
    sockets: &mut Listeners,
) -> anyhow::Result<Option<SandboxPlan>> {
    let address = options.mcp.or(operator.mcp);
    if operator.sandboxes.is_none() && address.is_none() {
        return Ok(None);
    }
    let config = crate::sandboxes::config(&options.sandboxes, operator.sandboxes.as_ref(), data)?;
    let mcp = match address {
        None => None,
        Some(address) => {
            let front = crate::mcp::front(&options.mcp_front, data)?;
            let opened = sockets.open(ListenerKind::Mcp, &[address])?;
            opened.into_iter().next().map(|(listener, _)| McpPlan { listener, front })
        }
    };
    Ok(Some(SandboxPlan { sandboxes: config, mcp }))
}

fn administration(
    options: &ServeOptions,
    operator: &OperatorConfig,
    data: &Path,
    sockets: &mut Listeners,
) -> anyhow::Result<Option<AdminConfig>> {
    let at = match (options.admin, operator.admin) {
        (Some(AdminAt::Off), _) | (None, Some(AdminListen::Off)) => return Ok(None),
        (Some(AdminAt::Address(address)), _) | (None, Some(AdminListen::At(address))) => address,
        (None, None) => ADMIN.parse().expect("a constant"),
    };
    let token = match &options.admin_token {
        Some(token) if token.is_empty() => bail!("the admin token is empty: leave --admin-token out, and one is made"),
        Some(token) => token.clone(),
        None => {
            let made = AdminToken::read_or_create(data)?;
            if let Some(note) = &made.warning {
                tracing::warn!("{note}");
            }
            made.token.reveal().to_owned()
        }
    };
    let listener = sockets.open(ListenerKind::Admin, &[at])?.into_iter().map(|(listener, _)| listener).next();
    Ok(listener.map(|listener| AdminConfig { listener, token }))
}
