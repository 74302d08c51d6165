//! An executor for connections, on top of tokio's: connections that are ready at the same time are served in one batch. All
//! of them are read, then all are polled, then all answers are written.
//!
//! Why: one connection after the other, each of the three phases would find the processor's caches filled by the phase before
//! it, and the phases are large: the kernel's receive path, the server's and the app's code, the kernel's send path. In a batch
//! each of them is fetched once for all connections (docs/lab/speed.md has the measurements).
//!
//! ```text
//! epoll events ──> read ──> ready queue ──> poll ──> unflushed list ──> write ──> idle
//!                              ^              └──── nothing to write ─────────────┘ │
//!                              └── woken: a timer fired, an answer is there ────────┘
//! ```
//!
//! | file | |
//! |---|---|
//! | `acceptor.rs` | accepts connections without registering them with tokio |
//! | `pool.rs` | the reactors of a server: one for every few cores |
//! | `reactor.rs` | an epoll instance with its table of connections |
//! | `driver.rs` | the tasks that read, poll and write the connections of a reactor |
//! | `slab.rs` | the table: states of the connections, ready queue, parked drivers; plain data |
//! | `socket.rs` | the connection's end of its socket, and what epoll has reported about it |
//! | `io_buffers.rs` | bytes read ahead of, and written behind, a connection |
//! | `poll_scope.rs` | how a driver gives the connection that it polls its buffers and its budget |
//!
//! Each connection is a future with an entry in a reactor's table; its socket is watched by the reactor's own epoll, which tokio
//! watches in turn. The work is done by *drivers*: tokio tasks that are all alike. Any of them takes the next ready connection,
//! and holds nothing but the one that it polls. So if a poll blocks in a long turn of JavaScript, the other drivers go on with
//! the rest, on whichever thread replaces the blocked one:
//!
//! - Some drivers are always parked. A driver that starts working leaves the epoll to one of them, so that new events wake a
//!   driver even while this one is blocked.
//! - A driver that finds more than one connection ready wakes two others: tokio keeps the task that was woken last for the
//!   waking thread itself, and lets other threads steal the one before, be it to help or to replace a blocked thread.
//!
//! A panic in a connection ends that connection alone.
#![forbid(unsafe_code)]

mod acceptor;
mod driver;
mod io_buffers;
mod poll_scope;
mod pool;
mod reactor;
mod slab;
mod socket;

use std::future::Future;
use std::pin::Pin;

pub use acceptor::RawAcceptor;
pub use poll_scope::{defer_next_write, poll_budget};
pub use pool::ReactorPool;
pub use socket::{ReactorSocket, ReadHint};

/// What serves a connection, to its end.
pub type ConnectionFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
