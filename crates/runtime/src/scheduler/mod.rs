//! Which thread runs which turn.
//!
//! A turn is one entry of JavaScript. It cannot be interrupted except by its limits, so a long turn
//! delays whatever waits for its thread. The scheduler classifies versions of apps by the length of
//! their turns ([`latency_class`]) and chooses the place of a worker's next turn ([`dispatch`]):
//!
//! | class | nothing else runs | other workers run |
//! |---|---|---|
//! | fast | inline, in the request's own task | inline |
//! | unproven | own task on the same thread | probation pool; inline if that is full |
//! | slow | low-priority pool | low-priority pool |
//!
//! ```text
//!            average short enough                    one long turn, or a long average
//! Unproven ───────────────────────> Fast ────────────────────────────────────────────> Slow
//!    ^  │                                                                              ^ │
//!    │  └── one long turn, or no short average within the turns of the probation ──────┘ │
//!    └─────────────────────────────── end of the penalty ────────────────────────────────┘
//! ```
//!
//! A turn on a runtime worker that outlives a tick of the watchdog gets a standby worker, which takes
//! over what waits for the thread: `running -> handed off -> released` ([`handoff`], [`standby`]).
//!
//! | file | content |
//! |---|---|
//! | `threads.rs` | [`JsThreads`]: all threads that run JavaScript, and how they end |
//! | `pool.rs` | [`TurnPools`]: the probation pool, the low-priority pool, the disposal thread |
//! | `latency_class.rs` | fast, unproven or slow, from the measured turns |
//! | `dispatch.rs` | the tier of a worker's next turn, and how it gets to a thread of that tier |
//! | `pinned_mailbox.rs` | the same for a worker that is pinned to a thread |
//! | `handoff.rs`, `standby.rs` | replacement of a thread that a long turn blocks |
//! | `deferred_replies.rs` | replies that are sent when their turn is over |
//!
//! Two parts are elsewhere: `hearth_sys::sched` sets priorities and time slices of threads, and
//! `hearth_sys::sched_tick` makes the kernel reschedule in time while long turns use all cores.
//! `watchdog.rs` measures running turns and starts the handoff.

mod deferred_replies;
mod dispatch;
mod handoff;
mod latency_class;
mod pinned_mailbox;
mod pool;
mod standby;
mod threads;

pub use self::dispatch::ThreadPolicy;
pub use self::latency_class::LatencyProfile;
pub use self::pinned_mailbox::Mailbox;
pub use self::pool::TurnPools;
pub use self::threads::JsThreads;

pub(crate) use self::deferred_replies::{DeferredReplies, PendingReply};
pub(crate) use self::dispatch::DispatchState;
pub(crate) use self::handoff::{HandoffGuard, ThreadBackup};
pub(crate) use self::latency_class::LatencyClass;
pub(crate) use self::pool::lower_priority;
