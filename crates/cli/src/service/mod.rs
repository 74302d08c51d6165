//! What those who run services expect of one, beyond signals: sockets that were opened for it, word of how it is, and to
//! be replaced by a newer program without anybody noticing.
//!
//! | file | |
//! |---|---|
//! | `doors.rs` | where we listen: opened here, by the service manager, or by the program before us |
//! | `notify.rs` | says to systemd that we are ready, alive, reloading or stopping |
//! | `heritage.rs` | what one program leaves to the next |

mod doors;
mod heritage;
mod notify;

pub use doors::{Doors, Kind};
pub use heritage::{Heritage, HeritageError, become_next};
pub use notify::Notifier;
