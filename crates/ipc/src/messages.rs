//! All messages between control and a cell. Control begins: a plan, then a catalogue, which the cell confirms once it can
//! serve it. The cell accepts no connection before `Accept`; until then it is a standby. A query has an id, and its reply
//! has the same; control itself answers the queries of a cell that is gone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use hearth_core::{AppName, IdleConnections, Owner, VersionName};
use hearth_log::LogRecord;

use crate::eval::{EvalOutcome, EvalRequest};
use crate::plan::{CellPlan, CertificatePlan};
use crate::span::Span;
use crate::stats::CellStats;
use crate::version::VersionSpec;

/// Identifies a query of control's. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueryId(pub u64);

#[derive(Debug, Serialize, Deserialize)]
pub enum ControlMessage {
    /// The first message, after the descriptors.
    Begin(Box<CellPlan>),
    /// The whole catalogue. Versions that are not in it are retired when their requests have ended.
    Serve {
        generation: u64,
        versions: Vec<VersionSpec>,
    },
    Query {
        id: QueryId,
        query: Query,
    },
    /// Certificates for later handshakes. Control has checked them.
    Certificates(Vec<CertificatePlan>),
    /// Accept connections from now on, once there is a catalogue.
    Accept,
    /// Heartbeat. Answered by the threads that serve, with the same number.
    Ping(u64),
    /// Whether requests to apps are admitted from now on. Initially they are.
    Admit(Admission),
    /// Accept nothing more, finish requests in flight, and exit.
    Drain(IdleConnections),
}

/// Whether requests to apps are admitted. Others are answered 503; requests in flight go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admission {
    Open,
    Closed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Query {
    /// The pool's statistics, as the admin API shows them.
    Pool,
    /// All workers, as the admin API shows them.
    Workers,
    Stats,
    /// Loads the modules of a version, which starts a worker of it.
    Load {
        app: AppName,
        version: VersionName,
    },
    /// Answered when admission is closed and no request to an app is in flight, or when admission is open again.
    Quiet,
    /// Runs code that belongs to no app.
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
        /// JSON text, unparsed.
        payload: Option<String>,
        attempt: u32,
        /// Milliseconds since 1970.
        time: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub enum CellMessage {
    /// The cell accepts connections.
    Accepting,
    /// The answer to `Ping`.
    Pong(u64),
    /// The catalogue of this generation, or a newer one, is ready to be served.
    Serving {
        generation: u64,
        problems: Vec<LoadError>,
    },
    Reply {
        id: QueryId,
        reply: QueryReply,
    },
    Log(LogRecord),
    /// A formatted line of the access log.
    Access(String),
    /// A traced request.
    Span(Box<Span>),
    Event(CellEvent),
    /// Sent every second, so that little is lost when the cell crashes.
    Stats(Box<CellStats>),
    /// All requests have ended. The last message of a drain.
    Drained,
}

/// A version that the cell cannot serve, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadError {
    pub app: AppName,
    pub version: VersionName,
    pub message: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum QueryReply {
    Pool(Value),
    Workers(Vec<Value>),
    Quiet,
    Stats(Box<CellStats>),
    Event(EventOutcome),
    Eval(Box<EvalOutcome>),
}

/// The outcome of a scheduled event, a task or a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventOutcome {
    Succeeded {
        /// JSON.
        data: Option<String>,
    },
    /// The app failed.
    Failed {
        message: String,
    },
    /// The event did not reach the app, or was stopped: code and message of the failure.
    Refused {
        code: String,
        message: String,
    },
    NoSuchApp,
}

/// An incident in a cell that is shown to operators at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CellEvent {
    StuckBegan { app: AppName, owner: Owner, request: u64 },
    StuckEnded { app: AppName, owner: Owner, request: u64 },
}
