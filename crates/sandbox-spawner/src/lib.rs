//! Makes sandboxes of namespaces. A spawner, a process of its own with one thread, makes them:
//! forking a process that has many threads is not safe, and what a spawner has prepared once, each
//! sandbox copies. Contains `unsafe` code.
//!
//! | file | |
//! |---|---|
//! | `protocol.rs` | the specification of a sandbox, and the messages between a driver and its spawner |
//! | `seqpacket.rs` | messages with descriptors between processes |
//! | `spawner.rs` | the spawner: prepares, and makes one sandbox after the other |
//! | `clone.rs` | a process in new namespaces, mapped to a user of its own and put under limits |
//! | `init.rs` | what that process does before it becomes the agent |
//! | `monitor_rootfs.rs`, `monitor_init.rs` | the jail of a virtual machine monitor: its root, and what a process does before it becomes the monitor |
//! | `rootfs.rs` | the root file system that all sandboxes of an image copy |
//! | `disk.rs` | what a sandbox can write to |
//! | `mounts.rs` | mounting |
//! | `loopback.rs` | a loopback with one listener |
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
//! A sandbox ends with its first process, the agent; an agent with its connection or its spawner; a
//! spawner with its driver's end of the channel. So a server that is killed leaves nothing running.

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

/// The step of making a sandbox that failed.
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
