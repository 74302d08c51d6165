//! `hearth run FILE`: one app, warm, on HTTP, all in one process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use hearth_apps::{AppModules, ENTRIES, app_folder};
use hearth_cell::{AppHost, AppPools, SharedServices, record_breadcrumbs_in_file};
use hearth_config::{OperatorConfig, Settings};
use hearth_core::ADMIN_COOKIE;
use hearth_gateway::{Config, ErrorDetail, Listener, Server, Summary};
use hearth_runtime::{App, JsThreads, Platform, Stuck};
use tokio::net::TcpListener;

use crate::arguments::{RunOptions, ServerOptions};
use crate::bind::BindError;
use crate::settings::PoolSettings;
use crate::sighup::Terminal;
use crate::{log, manifest, one_app, signals};

pub fn run(options: RunOptions) -> anyhow::Result<()> {
    log::init(log::DEFAULT);
    let RunOptions { file, env, app: flags, pool, server } = options;
    let path = file.canonicalize().with_context(|| format!("cannot open {}", file.display()))?;
    let (folder, file) = if path.is_dir() { (path.clone(), entry(&path)?) } else { (app_folder(&path), path) };
    let settings = one_app::settings(Some(&folder), &flags, &env)?;
    let pool = PoolSettings::new(&pool, &OperatorConfig::default());
    let app = load(&folder, &file, &settings)?;
    Platform::set_initial_heap(pool.initial_heap);
    let platform = Platform::init()?;
    if let Some(path) = &server.breadcrumbs {
        record_breadcrumbs_in_file(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let threads = JsThreads::start(pool.terms.threads).context("cannot start the threads")?;
    threads.block_on(async {
        let address = server.listen;
        let listener = TcpListener::bind(address).await.map_err(|error| BindError::new(address, "--listen", error))?;
        let cell = AppPools::start(platform, &hearth_snapshot::snapshot(), threads.turn_pools(), pool.cell());
        cell.log_configuration(pool.initial_heap);
        watch_for_stuck_turns(&cell);
        let host = cell.host(app, &pool.terms.app_rules(&settings, Arc::default()));
        answer(listener, config(&server, &settings), cell, host).await
    })?;
    // Blocking tasks that still run are abandoned.
    threads.shutdown(Duration::from_secs(1));
    Ok(())
}

/// The entry of a folder: the one that its manifest names, or the default one.
fn entry(path: &Path) -> anyhow::Result<PathBuf> {
    let folder = path.display();
    let said = manifest::read(path)?.entrypoint;
    let mut found = ENTRIES.iter().map(PathBuf::from).filter(|entry| path.join(entry).is_file());
    let Some(entry) = said.or_else(|| found.next()) else {
        bail!(
            "{folder} is a folder without an index.ts or index.js: name the app's file; `hearth serve {folder}` serves a \
             folder of apps"
        );
    };
    if entry.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html")) {
        bail!("{folder} is a page without a worker: `hearth dev {folder}` serves it");
    }
    Ok(path.join(entry))
}

fn load(folder: &Path, file: &Path, settings: &Settings) -> anyhow::Result<Arc<App>> {
    let modules = AppModules::open(folder, file)?;
    let name = one_app::name_of(folder, file);
    // An error in a module is reported again when the first worker starts.
    if let Ok(count) = modules.preload() {
        tracing::info!(app = name.as_str(), modules = count, "App loaded");
    }
    Ok(one_app::app(&SharedServices::new()?, name, Arc::new(modules), settings))
}

fn config(options: &ServerOptions, settings: &Settings) -> Config {
    Config {
        default_host: options.listen.to_string(),
        max_body: settings.max_body_size,
        head_timeout: options.head_timeout,
        body_timeout: settings.stream_timeout,
        drain_timeout: options.drain_timeout,
        private_cookie: Some(ADMIN_COOKIE.into()),
        errors: if options.dev { ErrorDetail::Detailed } else { ErrorDetail::Brief },
        ..Config::default()
    }
}

async fn answer(listener: TcpListener, config: Config, cell: AppPools, host: AppHost) -> anyhow::Result<()> {
    let address = listener.local_addr().context("the listener has no address")?;
    let warmed = host.clone();
    // The server goes on: the error is logged, and requests get 502 until the app can be loaded.
    if let Err(failure) = tokio::spawn(async move { warmed.warm().await }).await? {
        tracing::error!(error = %failure, "App failed to start");
    }
    // Before readiness is announced: a stop signal may follow at once.
    let stop = signals::stop(Terminal::now()).context("cannot watch for signals")?;
    tracing::info!("Listening on http://{address}");
    // The handler inside runs on the runtime's own threads, not on this one.
    let patience = config.drain_timeout;
    let server = Server::new(config, Arc::new(host));
    let listener = listener.into_std().and_then(Listener::plain).context("cannot listen")?;
    let summary = tokio::spawn(server.serve(vec![listener], stop)).await?;
    // Promises that were given to waitUntil have the drain timeout too.
    if tokio::time::timeout(patience, cell.close()).await.is_err() {
        tracing::warn!("Workers outlived the drain");
    }
    let Summary { served, aborted, rejected, .. } = summary;
    tracing::info!(served, aborted, rejected, "Stopped");
    Ok(())
}

fn watch_for_stuck_turns(cell: &AppPools) {
    let cell = cell.clone();
    Platform::set_stuck_observer(Arc::new(move |turn| {
        cell.on_stuck_turn(&turn);
        let (app, request) = (turn.app.as_str(), turn.request.raw());
        match turn.state {
            Stuck::Begins => tracing::error!(app, request, "turn is stuck: it goes on although it was terminated"),
            Stuck::Ends => tracing::info!(app, request, "stuck turn ended"),
        }
    }));
}
