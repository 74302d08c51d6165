//! Events for scripts, and their outcomes.

use hearth_cell::AppHost;
use hearth_core::{Failure, Request, Response};
use hearth_runtime::{EventResult, Scheduled, Task};

use crate::body::forward;
use crate::error::Error;

/// An event for a script's handlers.
pub enum Event {
    /// `fetch`.
    Fetch(Box<Request>),
    /// `scheduled`: of a cron.
    Scheduled(Scheduled),
    /// `task`: work with a payload and a result, both JSON.
    Task(Task),
}

/// The outcome of an event.
#[derive(Debug)]
pub enum Outcome {
    Response(Box<Response>),
    Event(EventResult),
}

// === impl Event ===

impl Event {
    /// A GET request without headers.
    pub fn get(url: impl Into<String>) -> Self {
        Self::Fetch(Box::new(Request::get(url)))
    }

    /// A task with a payload.
    pub fn task(id: impl Into<String>, payload: Option<String>) -> Self {
        Self::Task(Task { id: id.into(), payload, attempt: 1, scheduled_time: None })
    }

    /// A cron's event that was due at `scheduled_time` (milliseconds since the epoch).
    pub fn scheduled(cron: impl Into<String>, scheduled_time: f64) -> Self {
        Self::Scheduled(Scheduled { scheduled_time, cron: cron.into() })
    }

    /// Gives it to a worker. Called on a thread that runs JavaScript: a body is pulled there.
    pub(crate) async fn give_to(self, worker: &hearth_runtime::Worker) -> Result<Outcome, Failure> {
        match self {
            Self::Fetch(request) => Ok(Outcome::Response(Box::new(forward(worker.fetch(*request).await?)))),
            Self::Scheduled(event) => Ok(Outcome::Event(worker.scheduled(event).await?)),
            Self::Task(event) => Ok(Outcome::Event(worker.task(event).await?)),
        }
    }

    /// The same for a script that a cell serves.
    pub(crate) async fn serve(self, host: &AppHost, on_warm_hit: impl FnOnce() + Send) -> Result<Outcome, Failure> {
        match self {
            Self::Fetch(request) => Ok(Outcome::Response(Box::new(forward(host.fetch(*request, on_warm_hit).await?)))),
            Self::Scheduled(event) => Ok(Outcome::Event(host.scheduled(event, on_warm_hit).await?)),
            Self::Task(event) => Ok(Outcome::Event(host.task(event, on_warm_hit).await?)),
        }
    }
}

impl From<Request> for Event {
    fn from(request: Request) -> Self {
        Self::Fetch(Box::new(request))
    }
}

// === impl Outcome ===

impl Outcome {
    /// The response to a request.
    pub fn response(self) -> Result<Response, Error> {
        match self {
            Self::Response(response) => Ok(*response),
            Self::Event(_) => Err(Error::NoResponse),
        }
    }

    /// The result of a scheduled event or a task.
    pub fn event(self) -> Option<EventResult> {
        match self {
            Self::Response(_) => None,
            Self::Event(result) => Some(result),
        }
    }

    /// The response's body as text, read to its end.
    pub async fn text(self) -> Result<String, Error> {
        let body = self.response()?.body.collect().await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}
