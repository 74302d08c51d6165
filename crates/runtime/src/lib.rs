//! V8 isolates that run web-standard apps.
//!
//! | to understand | read |
//! |---|---|
//! | how V8 is started, isolates made, locked and dropped | `platform.rs`, `isolate.rs`, `locker.rs`, `shared_isolate.rs` |
//! | where the web APIs come from | `bootstrap.rs` (the one list), `snapshot.rs`, `ops/` (natives), `../js/` |
//! | how a request runs | `worker/mod.rs` (inbox), `worker/core.rs` (events), `worker/turn.rs` (one entry of JavaScript) |
//! | what belongs to a request | `state.rs`, `requests.rs`, `bodies.rs`, `timers.rs` |
//! | how limits hold | `watchdog.rs` (time), `heap.rs` (memory), `requests.rs` (budgets by phase) |
//! | modules | `modules/`, `code_cache.rs` |

mod app;
mod bodies;
mod bootstrap;
mod callbacks;
mod code_cache;
mod console;
mod entry;
mod heap;
mod isolate;
mod locker;
mod modules;
mod op_error;
mod ops;
mod platform;
mod rejections;
mod requests;
mod shared_isolate;
mod snapshot;
mod state;
mod timers;
mod watchdog;
mod worker;

pub use app::App;
pub use bootstrap::BootstrapError;
pub use code_cache::{CodeCache, CodeCacheStatistics, UnpackError, pack, unpack};
pub use isolate::{Isolate, LockedIsolate};
pub use platform::{Platform, PlatformError, THREAD_STACK};
pub use shared_isolate::SharedIsolate;
pub use snapshot::Snapshot;
pub use watchdog::{STUCK_GRACE, StuckObserver, set_breadcrumbs, set_stuck_observer};
pub use worker::{EventResult, Health, ResponseFuture, Scheduled, Task, Worker};
