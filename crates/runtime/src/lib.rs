//! V8 isolates that run web-standard apps.
//!
//! | subject | files |
//! |---|---|
//! | V8's start; how isolates are created, entered and dropped | `platform.rs`, `isolate.rs`, `locker.rs`, `current_isolate.rs`, `stack_limit.rs`, `shared_isolate.rs` |
//! | the web APIs | `bootstrap.rs` (the list of built-in files), `lazy_globals.rs`, `lazy_code.rs`, `op_injection.rs`, `snapshot.rs`, `ops/` (natives), `../js/` |
//! | the path of a request | `worker/mod.rs` (inbox), `worker/inner.rs` (events), `worker/turn.rs` (one entry of JavaScript) |
//! | what belongs to a request | `context_state.rs`, `request_table.rs`, `body_table.rs`, `socket_table.rs`, `timers.rs` |
//! | sockets, which belong to a worker | `net_table.rs`, `ops/net.rs`, `ops/net_tls.rs`, `ops/dns.rs` |
//! | limits | `watchdog.rs` (time), `heap.rs` (memory of an isolate), `memory_accounting.rs` (of all together), `oom_attribution.rs` (out of memory), `request_table.rs` (budgets by phase) |
//! | threads | `scheduler/` |
//! | what an embedding program adds | `operations.rs`, `ops/bindings.rs` |
//! | modules | `modules/`, `code_cache.rs` |

mod app;
mod assets;
mod body_table;
mod bootstrap;
mod callbacks;
mod code_cache;
mod console;
mod context_state;
mod current_isolate;
mod current_request;
mod file_body;
mod heap;
mod html_rewriter;
mod isolate;
mod js_entry_points;
mod lazy_code;
mod lazy_globals;
mod locker;
mod memory_accounting;
mod modules;
mod natives;
mod net_table;
mod oom_attribution;
mod op_error;
mod op_injection;
mod operations;
mod ops;
mod page_anchors;
mod platform;
mod rejections;
mod request_table;
mod scheduler;
mod shared_isolate;
mod snapshot;
mod socket_table;
mod spare_isolate;
mod stack_limit;
mod timers;
mod watchdog;
mod worker;

pub use app::{App, Meters};
pub use assets::{AssetRequest, AssetSource, Assets};
pub use bootstrap::BootstrapError;
pub use code_cache::{CodeCache, CodeCacheStatistics, UnpackError, pack, unpack};
pub use current_request::running_request;
pub use isolate::{Isolate, LockedIsolate, Locking};
pub use memory_accounting::{EMPTY_ISOLATE_SIZE, MemoryBudget, MemoryTotals, memory_by_owner, memory_totals};
pub use oom_attribution::attribute_oom;
pub use operations::{
    Binding, BindingCall, DefaultOperations, Fetched, LogLevel, LogLine, Network, OperationError, OperationFuture,
    Operations,
};
pub use platform::{Platform, PlatformError, THREAD_STACK};
pub use scheduler::{JsThreads, LatencyProfile, Mailbox, ThreadPolicy, TurnPools};
pub use shared_isolate::SharedIsolate;
pub use snapshot::Snapshot;
pub use spare_isolate::SpareIsolate;
/// The same version for programs that use an isolate by V8's own API.
pub use v8;
pub use watchdog::{STUCK_GRACE, Stuck, StuckObserver, StuckTurn};
pub use worker::{
    EventResult, Health, Hook, ResponseFuture, Scheduled, Task, TimedReply, WeakWorker, Worker, WorkerCounts, WorkerId,
};
