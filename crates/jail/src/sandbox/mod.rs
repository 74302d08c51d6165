//! Sandboxes made of namespaces. A spawner, a process of its own with one thread, makes them: forking a process that has
//! many is not safe, and what a spawner has prepared once, each sandbox copies.
//!
//! | file | |
//! |---|---|
//! | `plan.rs` | what a sandbox is to have, and what is said between a driver and its spawner |
//! | `channel.rs` | messages with descriptors between processes |
//! | `spawner.rs` | the spawner: prepares, and makes one sandbox after the other |
//! | `birth.rs` | a process in new namespaces, mapped to a user of its own and put under limits |
//! | `init.rs` | what that process does until it is the agent |
//! | `enclosure.rs`, `confine.rs` | a program of somebody else's between walls: its root, and what a process does until it is that program |
//! | `template.rs` | the root file system that all sandboxes of an image copy |
//! | `disk.rs` | what a sandbox can write to |
//! | `mounts.rs` | mounting |
//! | `network.rs` | a loopback with one listener |
//! | `cgroup.rs` | limits for all processes of a sandbox together |
//!
//! ```text
//! driver --Begin---> spawner: prepares itself
//! driver <--Ready---
//! driver --Create--> spawner: makes its groups, takes a disk
//!                    spawner --clone3--> child: enters its groups, waits
//!                    maps its user, says go
//!                                        child: network, mounts, pivot, limits, capabilities, Landlock, seccomp, exec agent
//! driver <--Created, [agent, pidfd, listener]-- spawner
//! ```
//! Who ends: a sandbox with its first process, the agent; an agent with its connection or its spawner; a spawner with its
//! driver's end of the channel. So a server that is killed leaves nothing running.

pub mod cgroup;
mod clone;
mod disk;
mod init;
mod loopback;
mod monitor_init;
mod monitor_rootfs;
mod mounts;
mod protocol;
mod rootfs;
pub mod seqpacket;
mod spawner;

pub use loopback::PROXY_ADDR;
pub use monitor_rootfs::MONITOR_DIR;
pub use protocol::{HostFeatures, MonitorJail, SandboxNetwork, SandboxSpec, SpawnReply, SpawnRequest};
pub use spawner::{Programs, serve};

use std::io;

/// What could not be done on the way to a sandbox.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {error}")]
pub struct SpawnError {
    pub step: &'static str,
    #[source]
    pub error: io::Error,
}

/// Names the step that an error belongs to.
trait Step<T> {
    fn step(self, step: &'static str) -> Result<T, SpawnError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &'static str) -> Result<T, SpawnError> {
        self.map_err(|error| SpawnError { step, error: error.into() })
    }
}
