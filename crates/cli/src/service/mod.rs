//! What service managers expect of a service beyond signals: activated sockets, notifications of its state, and upgrades
//! without a lost request.
//!
//! | file | |
//! |---|---|
//! | `listeners.rs` | listening sockets: bound here, opened by the service manager, or inherited |
//! | `notify.rs` | tells systemd that the server is ready, alive, reloading or stopping |
//! | `upgrade.rs` | the state that one program hands to the next, and how the next is executed |
//! | `rollback.rs` | starts the previous program again if this one fails before it serves |

mod listeners;
mod notify;
mod rollback;
mod upgrade;

pub use listeners::{ListenerKind, Listeners};
pub use notify::Notifier;
pub use rollback::{PendingRollback, roll_back_upgrade, with_upgrade_state};
pub use upgrade::{PreviousProgram, RolledBack, UpgradeState, UpgradeStateError, exec_successor};
