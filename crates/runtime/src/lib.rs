//! V8 isolates that run web-standard apps.
//!
//! | to understand | read |
//! |---|---|
//! | how V8 is started, isolates made, entered and dropped | `platform.rs`, `isolate.rs`, `locker.rs`, `presence.rs`, `stack.rs`, `shared_isolate.rs` |
//! | where the web APIs come from | `bootstrap.rs` (the one list), `globals.rs`, `rare.rs`, `snapshot.rs`, `ops/` (natives), `../js/` |
//! | how a request runs | `worker/mod.rs` (inbox), `worker/core.rs` (events), `worker/turn.rs` (one entry of JavaScript) |
//! | what belongs to a request | `state.rs`, `requests.rs`, `bodies.rs`, `sockets.rs`, `timers.rs` |
//! | how limits hold | `watchdog.rs` (time), `heap.rs` (memory), `ledger.rs` (of all together), `cage.rs` (the end of it), `requests.rs` (budgets by phase) |
//! | which threads | `threads.rs`, `worker/place.rs` |
//! | what an embedding program adds | `operations.rs`, `ops/bindings.rs` |
//! | modules | `modules/`, `code_cache.rs` |

mod app;
mod blank;
mod bodies;
mod bookmarks;
mod bootstrap;
mod cage;
mod callbacks;
mod code_cache;
mod console;
mod cover;
mod entry;
mod file_body;
mod globals;
mod heap;
mod isolate;
mod last_request;
mod ledger;
mod locker;
mod modules;
mod natives;
mod op_error;
mod operations;
mod ops;
mod platform;
mod presence;
mod rare;
mod rejections;
mod requests;
mod reserve;
mod shared_isolate;
mod snapshot;
mod sockets;
mod stack;
mod state;
mod supply;
mod threads;
mod timers;
mod trial;
mod watchdog;
mod worker;

pub use app::{App, Meters};
pub use blank::Blank;
pub use bootstrap::BootstrapError;
pub use cage::blame;
pub use code_cache::{CodeCache, CodeCacheStatistics, UnpackError, pack, unpack};
pub use isolate::{Isolate, LockedIsolate, Locking};
pub use last_request::running_request;
pub use ledger::{BLANK, Holdings, Rules as BudgetRules, holders, holdings, set_budget};
pub use operations::{
    Binding, BindingCall, DefaultOperations, Fetched, LogLevel, LogLine, Network, OperationError, OperationFuture,
    Operations,
};
pub use platform::{Platform, PlatformError, THREAD_STACK};
pub use shared_isolate::SharedIsolate;
pub use snapshot::Snapshot;
pub use threads::{Lane, Threads};
/// For those who use an isolate by V8's own API: the same version.
pub use v8;
pub use watchdog::{
    STUCK_GRACE, Stuck, StuckObserver, StuckTurn, set_breadcrumbs, set_stuck_grace, set_stuck_observer,
};
pub use worker::{
    Desk, EventResult, Handled, Health, Hook, Place, ResponseFuture, Scheduled, Task, WeakWorker, Worker, WorkerCounts,
    WorkerId,
};
