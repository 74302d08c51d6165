//! What reaches a worker from outside.

use std::time::Instant;

use hearth_core::{Failure, LimitExceeded, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::Arrival;
use super::hooks::Hook;
use crate::sockets::SocketId;
use crate::state::OpOutcome;

/// A cron's event: when it was due (milliseconds since the epoch), and the expression that said so.
#[derive(Clone, Debug)]
pub struct Scheduled {
    pub scheduled_time: f64,
    pub cron: String,
}

/// A task: an id, its payload as JSON, and which attempt this is.
#[derive(Clone, Debug)]
pub struct Task {
    pub id: String,
    pub payload: Option<String>,
    pub attempt: u32,
    pub scheduled_time: Option<f64>,
}

/// How a scheduled event or a task ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventResult {
    pub success: bool,
    /// As JSON.
    pub data: Option<String>,
    pub error: Option<String>,
}

pub(crate) enum Event {
    /// The worker's first: evaluate the modules.
    Load {
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<(), Failure>>,
    },
    Fetch {
        request: Box<Request>,
        arrival: Arrival,
        reply: oneshot::Sender<Result<Response, Failure>>,
    },
    Scheduled {
        id: RequestId,
        event: Scheduled,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    },
    Task {
        id: RequestId,
        event: Task,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    },
    Hook {
        id: RequestId,
        hook: Hook,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    },
    /// A hook has had its time. `cut` is told, or dropped, when nothing of it is left.
    HookLate {
        id: RequestId,
        hook: Hook,
        cut: oneshot::Sender<()>,
    },
    /// An op's work is done.
    Settled {
        op: u64,
        outcome: OpOutcome,
    },
    TimersDue,
    /// A request's time is up.
    Expired {
        request: RequestId,
        exceeded: LimitExceeded,
    },
    /// The client went away before the end of the response.
    Disconnected {
        request: RequestId,
    },
    /// The response's body was read to its end.
    StreamDone {
        request: RequestId,
    },
    /// Something has come for a WebSocket.
    Socket {
        socket: SocketId,
    },
    /// The connection that a response became is over.
    SocketGone {
        request: RequestId,
    },
    /// The worker is to be replaced, and should not wait for its WebSockets.
    Leave,
}

impl Event {
    /// Tells whoever waits that nothing will come of it.
    pub(crate) fn refuse(self, failure: &Failure) {
        // A receiver that is gone has nobody to tell.
        match self {
            Self::Load { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Fetch { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Scheduled { reply, .. } | Self::Task { reply, .. } | Self::Hook { reply, .. } => {
                drop(reply.send(Err(failure.clone())));
            }
            Self::HookLate { .. }
            | Self::Settled { .. }
            | Self::TimersDue
            | Self::Expired { .. }
            | Self::Disconnected { .. }
            | Self::StreamDone { .. }
            | Self::Socket { .. }
            | Self::SocketGone { .. }
            | Self::Leave => {}
        }
    }
}
