//! What a sandbox is to have, and what is said between a driver and its spawner.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A sandbox to be made. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// No other has it; a name for a folder.
    pub name: String,
    pub memory: u64,
    /// Thousandths of a processor.
    pub millicpus: u32,
    pub processes: u32,
    /// For all that is written, in memory.
    pub disk: u64,
    /// A folder with a root file system; the machine's own system without one.
    pub image: Option<PathBuf>,
    pub network: Network,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Network {
    /// A loopback of its own, with a listener whose connections come out.
    Loopback,
    /// That of the machine.
    Host,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    Create { ticket: u64, plan: Plan },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// The first thing: what holds sandboxes here.
    Ready(Facilities),
    /// Or: none can be made here, and why.
    Unable {
        reason: String,
    },
    /// With the agent's connection, the process as a descriptor, and, with a loopback, the listener.
    Created {
        ticket: u64,
        pid: i32,
    },
    Failed {
        ticket: u64,
        reason: String,
    },
}

/// What holds sandboxes here, beside namespaces, which there is nothing without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facilities {
    /// Which limits a sandbox's processes have together: `memory`, `pids`, `cpu`.
    pub limits: Vec<String>,
    /// Why there are not more.
    pub without_limits: Option<String>,
    /// The version of Landlock, if it is there.
    pub landlock: Option<u32>,
    /// Each sandbox has a user that nobody else has.
    pub own_users: bool,
}
