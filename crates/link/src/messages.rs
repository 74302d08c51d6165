//! All that control and cell ever say. Control speaks first: a plan, then a catalogue; the cell says when it has it. It
//! accepts nobody before it is told to: until then it is a standby, which has all that it needs and costs nobody anything.
//! A question has a number, and its reply has the same; a question whose cell is gone is answered by control itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use hearth_core::{AppName, IdleConnections, Owner, VersionName};
use hearth_journal::LogLine;

use crate::eval::{EvalOutcome, EvalRequest};
use crate::plan::{CellPlan, CertificatePlan};
use crate::span::Span;
use crate::stats::CellStats;
use crate::version::VersionSpec;

/// A question of control's. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallId(pub u64);

#[derive(Debug, Serialize, Deserialize)]
pub enum ToCell {
    /// The first message, after the listeners.
    Begin(Box<CellPlan>),
    /// All versions there are, from now on. What is missing is retired when its requests have ended.
    Serve {
        generation: u64,
        versions: Vec<VersionSpec>,
    },
    Ask {
        call: CallId,
        what: Ask,
    },
    /// For handshakes from now on. They were checked.
    Certificates(Vec<CertificatePlan>),
    /// Take connections from now on, once there is a catalogue.
    Accept,
    /// Are you there? Answered by the threads that serve, with the same number.
    Ping(u64),
    /// Whether apps' requests are let in from now on. Cells let them in to begin with.
    Admit(Admission),
    /// Accept nothing more, finish what is in flight, and end.
    Drain(IdleConnections),
}

/// Whether requests are let in. Those that are not are answered 503, and what is in flight goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admission {
    Open,
    Closed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// The pool's statistics, as the admin API shows them.
    Pool,
    /// Each worker, as the admin API shows them.
    Workers,
    Stats,
    /// Whether a version's modules can be loaded, which starts a worker of it.
    Load {
        app: AppName,
        version: VersionName,
    },
    /// Answered when no request of an app is in flight and none is let in, or when they are let in again.
    Quiet,
    /// Runs code that is no app's.
    Eval(Box<EvalRequest>),
    Scheduled {
        app: AppName,
        version: VersionName,
        /// Milliseconds since 1970.
        time: u64,
        cron: String,
    },
    Task {
        app: AppName,
        version: VersionName,
        id: String,
        /// JSON, as it came.
        payload: Option<String>,
        attempt: u32,
        /// Milliseconds since 1970.
        time: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub enum FromCell {
    /// Connections are taken.
    Accepting,
    /// The answer to a ping.
    Pong(u64),
    /// Everything up to this generation is there to be served.
    Serving {
        generation: u64,
        problems: Vec<Unserved>,
    },
    Reply {
        call: CallId,
        reply: Reply,
    },
    Log(LogLine),
    /// A line of the access log, ready to be written.
    Access(String),
    /// A request that was traced.
    Span(Box<Span>),
    Event(CellEvent),
    /// Unasked, every second: so that little is lost when the cell is.
    Stats(Box<CellStats>),
    /// All requests have ended. The last message.
    Drained,
}

/// A version that cannot be served, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unserved {
    pub app: AppName,
    pub version: VersionName,
    pub message: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    Pool(Value),
    Workers(Vec<Value>),
    Quiet,
    Stats(Box<CellStats>),
    Event(EventOutcome),
    Eval(Box<EvalOutcome>),
}

/// What came of a scheduled event or a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventOutcome {
    Succeeded {
        /// JSON.
        data: Option<String>,
    },
    /// The app's own failure.
    Failed {
        message: String,
    },
    /// It did not get to the app, or was stopped: the code and message of the failure.
    Refused {
        code: String,
        message: String,
    },
    NoSuchApp,
}

/// Something that an operator may want to see at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CellEvent {
    StuckBegan { app: AppName, owner: Owner, request: u64 },
    StuckEnded { app: AppName, owner: Owner, request: u64 },
}
