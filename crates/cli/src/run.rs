//! `hearth run FILE` and `hearth serve FOLDER`: apps, warm, on HTTP.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hearth_apps::{AppModules, app_folder};
use hearth_cell::{AppHost, Cell};
use hearth_core::{AppName, Dispatch};
use hearth_gateway::{Config, Errors, Server};
use hearth_jail::breadcrumbs::Breadcrumbs;
use hearth_runtime::{App, Platform, Stuck, Threads};
use tokio::net::TcpListener;

use crate::admin::{Admin, make_token};
use crate::arguments::{AppOptions, PoolOptions, RunOptions, ServeOptions, ServerOptions};
use crate::folder::{self, Apps};
use crate::{log, one_app};

/// Threads that breadcrumbs are kept for.
const CRUMBS: usize = 255;

pub fn run(options: RunOptions) -> anyhow::Result<()> {
    log::init("info");
    let RunOptions { file, app, pool, server } = options;
    let file = file.canonicalize().with_context(|| format!("cannot open {}", file.display()))?;
    let shared = one_app::Shared::new()?;
    let app = load(None, &file, &app, &shared)?;
    serve_with(pool, server, app.limits.stream_silence, |cell, rules| {
        let host = cell.host(app, rules);
        (vec![host.clone()], host)
    })
}

pub fn serve(options: ServeOptions) -> anyhow::Result<()> {
    log::init("info");
    let ServeOptions { apps, app: app_options, pool, server } = options;
    let folder = apps.canonicalize().with_context(|| format!("cannot open {}", apps.display()))?;
    let shared = one_app::Shared::new()?;
    let mut loaded = Vec::new();
    for found in folder::find(&folder)? {
        let entry = found.entry.canonicalize().with_context(|| format!("cannot open {}", found.entry.display()))?;
        // One app that cannot be read is no reason not to serve the others.
        match load(Some(found.name.clone()), &entry, &app_options, &shared) {
            Ok(app) => loaded.push((found.name, app)),
            Err(error) => tracing::error!(app = found.name, "The app cannot be served: {error:#}"),
        }
    }
    serve_with(pool, server, app_options.stream_timeout, |cell, rules| {
        let by_name: HashMap<_, _> = loaded.into_iter().map(|(name, app)| (name, cell.host(app, rules))).collect();
        // Workers start when they are asked for: thousands of apps may be here.
        (Vec::new(), Apps { by_name })
    })
}

fn load(name: Option<String>, file: &Path, options: &AppOptions, shared: &one_app::Shared) -> anyhow::Result<Arc<App>> {
    let folder = app_folder(file);
    let modules = AppModules::open(&folder, file)?;
    let name = name.map_or_else(|| one_app::name_of(&folder, file), AppName::new);
    // A fault in there is met again, and reported, when the first worker starts.
    if let Ok(count) = modules.warm() {
        tracing::info!(app = name.as_str(), modules = count, "App loaded");
    }
    Ok(shared.app(name, Arc::new(modules), options))
}

/// Serves what `apps` makes of a cell: those to be warmed, and who answers requests.
fn serve_with<D: Dispatch>(
    pool: PoolOptions,
    options: ServerOptions,
    body_timeout: Duration,
    apps: impl FnOnce(&Cell, &hearth_cell::AppRules) -> (Vec<AppHost>, D),
) -> anyhow::Result<()> {
    let platform = Platform::init()?;
    if let Some(path) = &options.breadcrumbs {
        keep_breadcrumbs(path)?;
    }
    let threads = Threads::start(pool.threads()).context("cannot start the threads")?;
    let config = Config {
        default_host: options.listen.to_string(),
        max_body: options.max_body,
        head_timeout: options.head_timeout,
        body_timeout,
        drain_timeout: options.drain_timeout,
        errors: if options.dev { Errors::Detailed } else { Errors::Brief },
        ..Config::default()
    };
    threads.block_on(async {
        let listener = listen(options.listen).await?;
        let cell = Cell::start(platform, &hearth_snapshot::snapshot(), threads.lane(), pool.cell());
        watch_for_stuck_turns(&cell);
        let (warm, dispatch) = apps(&cell, &pool.rules());
        answer(listener, options, config, cell, warm, dispatch).await
    })?;
    // Whatever still runs has had its time.
    threads.shut_down(Duration::from_secs(1));
    Ok(())
}

async fn answer<D: Dispatch>(
    listener: TcpListener,
    options: ServerOptions,
    config: Config,
    cell: Cell,
    warm: Vec<AppHost>,
    dispatch: D,
) -> anyhow::Result<()> {
    let address = listener.local_addr().context("the listener has no address")?;
    for host in warm {
        // A failure is not the end: the log has it, and requests are answered 502 until the app can be loaded.
        if let Err(failure) = tokio::spawn(async move { host.warm().await }).await? {
            tracing::error!(error = %failure, "The app failed to start");
        }
    }
    // Before anybody is told that we are there: who is told may want us to stop.
    let stop = stop_signal().context("cannot watch for signals")?;
    let admin = match options.admin {
        Some(at) => Some(administer(at, options.admin_token, &cell).await?),
        None => None,
    };
    tracing::info!("Listening on http://{address}");
    // The handler inside runs on the runtime's own threads, not on this one.
    let patience = config.drain_timeout;
    let server = Server::new(config, Arc::new(dispatch));
    let summary = tokio::spawn(server.serve(vec![listener], stop)).await?;
    if let Some(admin) = admin {
        admin.abort();
    }
    // What waitUntil was given has the same time again.
    if tokio::time::timeout(patience, cell.close()).await.is_err() {
        tracing::warn!("Workers outlived the drain");
    }
    tracing::info!(?summary, "Stopped");
    Ok(())
}

async fn listen(address: std::net::SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// The admin API, until its task is aborted.
async fn administer(
    at: std::net::SocketAddr,
    token: Option<String>,
    cell: &Cell,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let listener = listen(at).await?;
    let address = listener.local_addr().context("the listener has no address")?;
    let token = match token {
        Some(token) => {
            tracing::info!("Admin API on http://{address}");
            token
        }
        None => {
            let token = make_token()?;
            tracing::info!("Admin API on http://{address} with the token {token}");
            token
        }
    };
    let config = Config { default_host: address.to_string(), ..Config::default() };
    let server = Server::new(config, Arc::new(Admin::new(cell.clone(), &token)));
    Ok(tokio::spawn(async move {
        server.serve(vec![listener], std::future::pending::<()>()).await;
    }))
}

fn watch_for_stuck_turns(cell: &Cell) {
    let cell = cell.clone();
    hearth_runtime::set_stuck_observer(Arc::new(move |turn| {
        cell.note_stuck(&turn);
        let (app, request) = (turn.app.as_str(), turn.request.raw());
        match turn.state {
            Stuck::Begins => tracing::error!(app, request, "A turn is stuck: it goes on although it was terminated"),
            Stuck::Ends => tracing::info!(app, request, "A stuck turn has ended"),
        }
    }));
}

/// Ready at the first SIGINT or SIGTERM, from now on: neither ends the process any more once this has returned. A second
/// SIGINT ends it at once, as people expect of Ctrl-C.
fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        std::future::poll_fn(|cx| {
            if interrupt.poll_recv(cx).is_ready() {
                std::task::Poll::Ready(())
            } else {
                terminate.poll_recv(cx).map(drop)
            }
        })
        .await;
        tracing::info!("Stopping: requests in flight are finished first");
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(130);
        });
    })
}

fn keep_breadcrumbs(path: &Path) -> anyhow::Result<()> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    hearth_runtime::set_breadcrumbs(Breadcrumbs::in_file(CRUMBS, &file)?);
    Ok(())
}
