//! Hearth's JavaScript inside another Rust program: the same isolates, limits, web platform and pools that `hearth serve` has,
//! without its HTTP server, its processes or its files.
//!
//! ```
//! use std::sync::Arc;
//! use hearth_embed::{DefaultOperations, Event, Limits, execute_pooled, init_pool};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), hearth_embed::Error> {
//! init_pool(100, Limits::default())?; // once, on the main thread
//!
//! let script = "let n = 0; export default { fetch: (request) => new Response(`${request.url} ${++n}`) }";
//! let operations = Arc::new(DefaultOperations);
//! for n in 1..=2 {
//!     let outcome = execute_pooled("greeter", script, operations.clone(), Event::get("http://app/")).await?;
//!     assert_eq!(outcome.text().await?, format!("http://app/ {n}"), "the worker stays warm");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | what | how a script runs | its state |
//! |---|---|---|
//! | [`init_pool`], [`execute_pooled`] | in a warm worker of one pool, on any thread | kept |
//! | [`init_pinned_pool_full`], [`execute_pinned`] | in a warm worker that one thread runs from its start to its end | kept |
//! | [`Worker`] | in an isolate of its own, which goes with it | kept while it lives |
//! | [`SharedIsolate`], [`ExecutionContext`] | in a new context of an isolate that others use afterwards | none |
//! | [`IsolatePool::acquire`] | as the caller does it, in an isolate that is kept for that name | the isolate's |
//!
//! Scripts are text: an ES module with handlers as its default export, or listeners of `addEventListener`. What a script
//! sees of the outside is [`Operations`]: `fetch`, the log, and bindings in `env`.
//!
//! # Threads
//!
//! The first call of any constructor starts V8 and the threads that run JavaScript; [`start`] does it at a moment of the program's
//! choice. Do it on the main thread: on processors with memory protection keys, threads have V8's key from the one that started
//! it. Futures of this crate can be awaited on any executor. `with_lock` alone runs on the caller's thread, which needs a stack of 2 MB.
#![forbid(unsafe_code)]

mod body;
mod context;
mod engine;
mod error;
mod event;
mod hosts;
mod isolates;
mod pinned;
mod pooled;
mod script;
mod worker;

pub use context::{ExecutionContext, SharedIsolate};
pub use engine::start;
pub use error::Error;
pub use event::{Event, Outcome};
pub use hearth_core::{Body, ByteSize, Failure, Headers, LimitExceeded, Limits, Method, Request, RequestId, Response};
pub use hearth_runtime::{
    Binding, BindingCall, DefaultOperations, EventResult, Fetched, LogLevel, LogLine, Network, OperationError,
    OperationFuture, Operations, Scheduled, Task, v8,
};
pub use isolates::PooledIsolate;
pub use pinned::{PinnedPool, PinnedRules, Target, execute_pinned, init_pinned_pool_full};
pub use pooled::{IsolatePool, IsolatePoolStats, execute_pooled, init_pool};
pub use script::Script;
pub use worker::Worker;
