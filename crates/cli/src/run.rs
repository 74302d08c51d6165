//! `hearth run FILE`: one app, warm, on HTTP.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hearth_apps::{AppModules, app_folder};
use hearth_cell::{AppHost, HostConfig};
use hearth_core::AppName;
use hearth_gateway::{Config, Errors, Server};
use hearth_jail::breadcrumbs::Breadcrumbs;
use hearth_runtime::{Platform, Stuck, Threads};

use crate::arguments::RunOptions;
use crate::{log, one_app};

/// Threads that breadcrumbs are kept for.
const CRUMBS: usize = 255;

pub fn run(options: RunOptions) -> anyhow::Result<()> {
    log::init("info");
    let file = options.file.canonicalize().with_context(|| format!("cannot open {}", options.file.display()))?;
    let platform = Platform::init()?;
    if let Some(path) = &options.breadcrumbs {
        keep_breadcrumbs(path)?;
    }
    hearth_runtime::set_stuck_observer(Arc::new(|turn| {
        let (app, request) = (turn.app.as_str(), turn.request.raw());
        match turn.state {
            Stuck::Begins => tracing::error!(app, request, "A turn is stuck: it goes on although it was terminated"),
            Stuck::Ends => tracing::info!(app, request, "A stuck turn has ended"),
        }
    }));
    let folder = app_folder(&file);
    let modules = AppModules::open(&folder, &file)?;
    let name = one_app::name_of(&folder, &file);
    // A fault in there is met again, and reported, when the first worker starts.
    if let Ok(count) = modules.warm() {
        tracing::info!(app = name.as_str(), modules = count, "App loaded");
    }
    let app = one_app::app(name.clone(), Arc::new(modules), &options.app)?;

    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.map_or(cores, usize::from);
    let runtime = Threads::start(threads).context("cannot start the threads")?;
    let host = HostConfig {
        workers: options.workers.map_or(threads, usize::from),
        queue: 100,
        queue_timeout: Duration::from_secs(5),
    };
    let host = Arc::new(AppHost::new(platform, hearth_snapshot::snapshot(), app, host));
    let config = Config {
        default_host: options.listen.to_string(),
        max_body: options.max_body,
        head_timeout: options.head_timeout,
        body_timeout: options.app.stream_timeout,
        drain_timeout: options.drain_timeout,
        errors: if options.dev { Errors::Detailed } else { Errors::Brief },
        ..Config::default()
    };
    runtime.block_on(serve(options, name, host, config))?;
    // Whatever still runs has had its time.
    runtime.shut_down(Duration::from_secs(1));
    Ok(())
}

async fn serve(options: RunOptions, name: AppName, host: Arc<AppHost>, config: Config) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind(options.listen)
        .await
        .with_context(|| format!("cannot listen on {}", options.listen))?;
    let address = listener.local_addr().context("the listener has no address")?;
    // A failure is not the end: the log has it, and requests are answered 502 until the app can be loaded.
    let warmed = {
        let host = host.clone();
        tokio::spawn(async move { host.warm().await }).await?
    };
    if let Err(failure) = warmed {
        tracing::error!(app = name.as_str(), error = %failure, "The app failed to start");
    }
    // Before anybody is told that we are there: who is told may want us to stop.
    let stop = stop_signal().context("cannot watch for signals")?;
    tracing::info!(app = name.as_str(), "Listening on http://{address}");
    // The handler inside runs on the runtime's own threads, not on this one.
    let server = Server::new(config, host);
    let summary = tokio::spawn(server.serve(vec![listener], stop)).await?;
    tracing::info!(?summary, "Stopped");
    Ok(())
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
