//! What a sandbox is to have, and what is said between a driver and its spawner.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A sandbox to be made. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// No other has it; a name for a folder.
    pub name: String,
    pub memory: u64,
    /// Thousandths of a processor.
    pub millicpus: u32,
    pub processes: u32,
    /// For all that is written to files. In memory, where there are no disks, it is [`SandboxSpec::disk_in_memory`] at most.
    pub disk: u64,
    /// A folder with a root file system; the machine's own system without one.
    pub image: Option<PathBuf>,
    pub network: SandboxNetwork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SandboxNetwork {
    /// A loopback of its own, with a listener whose connections come out.
    Loopback,
    /// That of the machine.
    Host,
}

/// A virtual machine monitor to be started in a jail. Descriptors that come with the request are
/// its 0, 1, 2, …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorJail {
    /// Its limits, and the size of the one folder that it can write to. It has no network and no image.
    #[serde(rename = "plan")]
    pub spec: SandboxSpec,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Files and folders that it may read beside the system's libraries, at the places that they have on the machine. The
    /// program must be among them.
    pub files: Vec<PathBuf>,
    /// Devices that it may use.
    pub devices: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpawnRequest {
    /// The first thing: the folder for disks, if there is to be one.
    Begin { disks: Option<PathBuf> },
    Create {
        ticket: u64,
        #[serde(rename = "plan")]
        spec: SandboxSpec,
    },
    #[serde(rename = "Enclose")]
    CreateMonitor {
        ticket: u64,
        #[serde(rename = "enclosure")]
        jail: MonitorJail,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpawnReply {
    /// The first thing: what holds sandboxes here.
    Ready(HostFeatures),
    /// Or: none can be made here, and why.
    Unable {
        reason: String,
    },
    /// A sandbox: with the agent's connection, the process as a descriptor, and, with a loopback, the listener.
    /// An enclosure: with the process as a descriptor, and the folder that it can write to.
    Created {
        ticket: u64,
        pid: i32,
    },
    Failed {
        ticket: u64,
        reason: String,
    },
    /// It makes no more, and why: another must take its place. What it has made goes on.
    Unfit {
        ticket: u64,
        reason: String,
    },
}

/// What holds sandboxes here, beside namespaces, which there is nothing without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFeatures {
    /// Which limits a sandbox's processes have together: `memory`, `pids`, `cpu`.
    pub limits: Vec<String>,
    /// Why there are not more.
    pub without_limits: Option<String>,
    /// The version of Landlock, if it is there.
    pub landlock: Option<u32>,
    /// Each sandbox has a user id of its own.
    pub own_users: bool,
    /// Why sandboxes write into memory instead of onto disks, where they do.
    pub without_disks: Option<String>,
}

impl SandboxSpec {
    /// So much less than all that a full disk is an error before it is the end of a program.
    pub fn disk_in_memory(&self) -> u64 {
        self.disk.min(self.memory / 2)
    }
}
