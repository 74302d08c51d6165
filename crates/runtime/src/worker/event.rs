//! The events of a worker's inbox.

use std::time::Instant;

use hearth_core::{Failure, LimitExceeded, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::RequestTiming;
use super::hooks::Hook;
use crate::context_state::OpOutcome;
use crate::socket_table::SocketId;

/// A cron's event: when it was due (milliseconds since the epoch), and its expression.
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
    /// The first event: evaluate the modules.
    Load {
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<(), Failure>>,
    },
    Fetch {
        request: Box<Request>,
        timing: RequestTiming,
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
    /// A hook took too long. `cancelled` is sent or dropped when nothing of it is left.
    HookTimedOut {
        id: RequestId,
        hook: Hook,
        cancelled: oneshot::Sender<()>,
    },
    /// An op's work outside of the isolate is done.
    OpDone {
        op: u64,
        outcome: OpOutcome,
    },
    TimersDue,
    /// A request exceeded a time limit.
    Expired {
        request: RequestId,
        exceeded: LimitExceeded,
    },
    /// The client disconnected before the end of the response.
    Disconnected {
        request: RequestId,
    },
    /// The response's body was sent to its end.
    StreamDone {
        request: RequestId,
    },
    /// A WebSocket has something to read.
    Socket {
        socket: SocketId,
    },
    /// The WebSocket connection that a response became has ended.
    SocketGone {
        request: RequestId,
    },
    /// The worker gets no more requests and should not wait for its WebSockets.
    StartDraining,
}

impl Event {
    /// Gives the failure to the receiver of the event's reply.
    pub(crate) fn refuse(self, failure: &Failure) {
        // A receiver that is gone needs no failure.
        match self {
            Self::Load { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Fetch { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Scheduled { reply, .. } | Self::Task { reply, .. } | Self::Hook { reply, .. } => {
                drop(reply.send(Err(failure.clone())));
            }
            Self::HookTimedOut { .. }
            | Self::OpDone { .. }
            | Self::TimersDue
            | Self::Expired { .. }
            | Self::Disconnected { .. }
            | Self::StreamDone { .. }
            | Self::Socket { .. }
            | Self::SocketGone { .. }
            | Self::StartDraining => {}
        }
    }
}
