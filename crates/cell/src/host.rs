//! The workers of one app. A request goes to the first worker that is free, so that an app with little traffic has one
//! warm worker and one module state; while turns run in all of them another worker is started, up to `workers`.
//! A worker that is gone is forgotten; one that is retiring gets no more requests and is kept until it has finished.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_core::{Dispatch, Failure, Request, Response};
use hearth_runtime::{App, Health, Platform, Snapshot, Worker};

use crate::admission::Admission;

/// How an app is hosted.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Workers at once. Each has an isolate and a module state of its own.
    pub workers: usize,
    /// Requests that may wait for a place.
    pub queue: usize,
    /// How long they may wait.
    pub queue_timeout: Duration,
}

pub struct AppHost {
    platform: Platform,
    snapshot: Snapshot,
    app: Arc<App>,
    config: HostConfig,
    workers: Mutex<Vec<Worker>>,
    admission: Admission,
    /// One start at a time: those who wait for it share what it brings.
    starting: tokio::sync::Mutex<()>,
}

enum Choice {
    Use(Worker),
    /// All are busy, and there may be more; until then, this one.
    Start(Option<Worker>),
}

impl AppHost {
    pub fn new(platform: Platform, snapshot: Snapshot, app: Arc<App>, config: HostConfig) -> Self {
        let workers = config.workers.max(1);
        let places = match app.limits.concurrency {
            0 => usize::MAX,
            concurrency => workers.saturating_mul(concurrency as usize),
        };
        let admission = Admission::new(places, config.queue, config.queue_timeout);
        Self {
            platform,
            snapshot,
            app,
            config: HostConfig { workers, ..config },
            workers: Mutex::default(),
            admission,
            starting: tokio::sync::Mutex::new(()),
        }
    }

    /// Starts the first worker, so that the first request finds it warm.
    pub async fn warm(&self) -> Result<(), Failure> {
        self.worker().await.map(drop)
    }

    /// A worker for the next request.
    async fn worker(&self) -> Result<Worker, Failure> {
        match self.choose() {
            Choice::Use(worker) => Ok(worker),
            Choice::Start(meanwhile) => self.start(meanwhile).await,
        }
    }

    fn choose(&self) -> Choice {
        let mut workers = self.lock();
        workers.retain(|worker| match worker.health() {
            Health::Ready => true,
            Health::Retiring => worker.active() > 0,
            Health::Gone => false,
        });
        let mut least: Option<&Worker> = None;
        let mut ready = 0;
        for worker in workers.iter().filter(|worker| worker.health() == Health::Ready) {
            ready += 1;
            let has_room = self.app.limits.concurrency == 0 || worker.active() < self.app.limits.concurrency;
            if has_room && !worker.is_busy() {
                return Choice::Use(worker.clone());
            }
            if least.is_none_or(|least| worker.active() < least.active()) {
                least = Some(worker);
            }
        }
        match least {
            Some(least) if ready >= self.config.workers => Choice::Use(least.clone()),
            least => Choice::Start(least.cloned()),
        }
    }

    async fn start(&self, meanwhile: Option<Worker>) -> Result<Worker, Failure> {
        let turn = match meanwhile {
            // Somebody is starting one already: its own request will be the first there.
            Some(worker) => match self.starting.try_lock() {
                Ok(turn) => turn,
                Err(_) => return Ok(worker),
            },
            None => self.starting.lock().await,
        };
        // Whoever had the lock before may have brought what is needed.
        if let Choice::Use(worker) = self.choose() {
            return Ok(worker);
        }
        let worker = Worker::start(self.platform, &self.snapshot, self.app.clone()).await?;
        self.lock().push(worker.clone());
        drop(turn);
        Ok(worker)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        // Nothing that can panic runs under this lock.
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dispatch for AppHost {
    async fn dispatch(&self, request: Request) -> Result<Response, Failure> {
        let place = self.admission.admit().await?;
        let worker = self.worker().await?;
        let response = worker.fetch(request).await?;
        Ok(place.keep(response))
    }
}
