//! Firecracker: a monitor that does little else than run machines like ours. It needs KVM. It is configured over a socket in the
//! one folder that it can write to (`api.rs`), and the agent is reached through another there (`vsock.rs`). All files that it
//! is told of are descriptors that it has.
//!
//! Written to its published contract, and tested against a program that holds to that contract strictly; it has not been run
//! on a machine with KVM.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_jail::sandbox::MONITOR_DIR;
use serde_json::json;

use super::api::{Api, ApiError, Method};
use super::enclosure::{Enclosed, Enclosures, Order};
use super::file::{inside, nameless, seal};
use super::kvm;
use super::vmm::{Guest, Hardware, Machine, Port, Snapshot, Vmm, VmmError};
use super::vsock::{self, VsockError};
use crate::driver::Probe;

const PROGRAM: &str = "firecracker";
const PLACES: [&str; 2] = ["/usr/local/bin/firecracker", "/usr/bin/firecracker"];
/// The first that takes where a snapshot's memory is as we say it.
const OLDEST: (u32, u32) = (1, 1);
/// Sockets in its folder.
const API: &str = "api.sock";
const AGENT: &str = "agent.sock";
/// What it takes beside the guest's memory.
const OWN_MEGABYTES: u64 = 64;
/// Descriptors of one that boots.
const KERNEL: usize = 3;
const INITRAMFS: usize = 4;
const STATE: usize = 5;
const MEMORY: usize = 6;
/// Descriptors of one that is restored.
const SAVED_STATE: usize = 3;
const SAVED_MEMORY: usize = 4;
/// Between two attempts to reach somebody who is not there yet.
const PAUSE: Duration = Duration::from_millis(2);
/// Nobody who boots takes longer.
const BOOT: Duration = Duration::from_secs(120);

pub(super) struct Firecracker {
    program: PathBuf,
    /// What else of the machine's files it may read: the folder that it is in, where that is its own.
    files: Vec<PathBuf>,
    /// How long it may take for an answer.
    patience: Duration,
    enclosures: Arc<Enclosures>,
}

struct FirecrackerMachine {
    process: Enclosed,
    api: Api,
    patience: Duration,
    /// Where a snapshot goes to; only one that boots can be saved.
    room: Option<Snapshot>,
}

impl Firecracker {
    /// The one in that folder, else the machine's; `None` where there is none.
    pub(super) fn find(folder: &Path, patience: Duration, enclosures: Arc<Enclosures>) -> Option<Self> {
        let own = folder.canonicalize().ok().filter(|folder| folder.join(PROGRAM).exists());
        if let Some(folder) = own {
            return Some(Self { program: folder.join(PROGRAM), files: vec![folder], patience, enclosures });
        }
        let program = PLACES.iter().map(PathBuf::from).find(|place| place.exists())?;
        Some(Self { files: vec![program.clone()], program, patience, enclosures })
    }

    /// Why there is none, for who looks.
    pub(super) fn missing(folder: &Path) -> String {
        format!("there is no {} and no {}", folder.join(PROGRAM).display(), PLACES.join(" or "))
    }

    /// Starts one that knows nothing yet.
    fn start(&self, hardware: Hardware, others: &[&File], own_megabytes: u64) -> Result<(Enclosed, Api), VmmError> {
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        let mut process = self.enclosures.start(Order {
            program: self.program.clone(),
            arguments: vec![
                "--api-sock".to_owned(),
                format!("{MONITOR_DIR}/{API}"),
                "--id".to_owned(),
                "hearth".to_owned(),
            ],
            files: self.files.clone(),
            devices: [kvm::DEVICE].map(PathBuf::from).into_iter().filter(|device| device.exists()).collect(),
            stdin: nothing.as_fd(),
            stdout: nothing.as_fd(),
            others: others.iter().map(|file| file.as_fd()).collect(),
            hardware,
            own_megabytes,
        })?;
        match reach(&process, self.patience) {
            Ok(socket) => Ok((process, Api::new(socket, self.patience))),
            Err(error) => Err(VmmError::Api { error: ApiError::Connect(error), words: process.words() }),
        }
    }

    fn configure(api: &mut Api, hardware: Hardware, cid: u32) -> Result<(), ApiError> {
        // One processor, or an even number of them; that no more are used than was asked for is the control group's business.
        let cpus = if hardware.cpus > 1 { hardware.cpus.next_multiple_of(2) } else { 1 };
        let machine = json!({ "vcpu_count": cpus, "mem_size_mib": hardware.megabytes });
        api.ask(Method::Put, "/machine-config", &machine)?;
        let arguments = "quiet panic=-1 reboot=k pci=off random.trust_cpu=on";
        let source = json!({
            "kernel_image_path": inside(KERNEL), "initrd_path": inside(INITRAMFS), "boot_args": arguments,
        });
        api.ask(Method::Put, "/boot-source", &source)?;
        let vsock = json!({ "guest_cid": cid, "uds_path": format!("{MONITOR_DIR}/{AGENT}") });
        api.ask(Method::Put, "/vsock", &vsock)?;
        api.ask(Method::Put, "/actions", &json!({ "action_type": "InstanceStart" }))
    }
}

fn complaint(process: &mut Enclosed, error: ApiError) -> VmmError {
    VmmError::Api { error, words: process.words() }
}

/// The socket for requests, which it opens when it is ready for them.
fn reach(process: &Enclosed, patience: Duration) -> io::Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(process.path(API)) {
            Ok(socket) => return Ok(socket),
            Err(error) if !process.is_alive() || began.elapsed() > patience => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

impl Vmm for Firecracker {
    fn port(&self) -> Port {
        Port::Vsock
    }

    fn probe(&self) -> Result<Probe, String> {
        let program = self.program.display();
        let said = Command::new(&self.program).arg("--version").env_clear().output();
        let said = said.map_err(|error| format!("{program} cannot be started: {error}"))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = version(&said).ok_or_else(|| format!("{program} does not say its version"))?;
        if version < OLDEST {
            let ((is, minor), (oldest, least)) = (version, OLDEST);
            return Err(format!("{program} is version {is}.{minor}: it must be {oldest}.{least} or newer"));
        }
        Ok(Probe { summary: format!("Firecracker {}.{} with KVM", version.0, version.1), notes: Vec::new() })
    }

    fn boot(&self, hardware: Hardware, guest: &Guest) -> Result<Box<dyn Machine>, VmmError> {
        let room = Snapshot { memory: nameless("memory")?, state: nameless("state")? };
        let files = [&guest.kernel, &guest.initramfs, &room.state, &room.memory];
        // What it saves lies in memory, and is written by it: room for the guest's twice.
        let own = OWN_MEGABYTES + hardware.megabytes;
        let (mut process, mut api) = self.start(hardware, &files, own)?;
        Self::configure(&mut api, hardware, guest.cid).map_err(|error| complaint(&mut process, error))?;
        Ok(Box::new(FirecrackerMachine { process, api, patience: self.patience, room: Some(room) }))
    }

    fn restore(&self, hardware: Hardware, snapshot: &Snapshot) -> Result<Box<dyn Machine>, VmmError> {
        let files = [&snapshot.state, &snapshot.memory];
        let (mut process, mut api) = self.start(hardware, &files, OWN_MEGABYTES)?;
        let load = json!({
            "snapshot_path": inside(SAVED_STATE),
            "mem_backend": { "backend_type": "File", "backend_path": inside(SAVED_MEMORY) },
            "resume_vm": true,
        });
        api.ask(Method::Put, "/snapshot/load", &load).map_err(|error| complaint(&mut process, error))?;
        Ok(Box::new(FirecrackerMachine { process, api, patience: self.patience, room: None }))
    }
}

impl Machine for FirecrackerMachine {
    fn agent(&mut self) -> Result<UnixStream, VmmError> {
        let deadline = Instant::now() + BOOT.max(self.patience);
        loop {
            let error = match vsock::connect(&self.process.path(AGENT), self.patience) {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            // A guest that boots does not listen yet.
            if !matches!(error, VsockError::Nobody) || !self.process.is_alive() || Instant::now() > deadline {
                return Err(VmmError::Vsock { error, words: self.process.words() });
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn pause(&mut self) -> Result<(), VmmError> {
        let paused = self.api.ask(Method::Patch, "/vm", &json!({ "state": "Paused" }));
        paused.map_err(|error| complaint(&mut self.process, error))
    }

    fn save(self: Box<Self>) -> Result<Snapshot, VmmError> {
        let Self { mut process, mut api, room, .. } = *self;
        let snapshot = room.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        let create = json!({
            "snapshot_type": "Full", "snapshot_path": inside(STATE), "mem_file_path": inside(MEMORY),
        });
        api.ask(Method::Put, "/snapshot/create", &create).map_err(|error| complaint(&mut process, error))?;
        // Until it is gone it might write more.
        drop(process);
        seal(&snapshot.memory)?;
        seal(&snapshot.state)?;
        Ok(snapshot)
    }

    fn into_process(self: Box<Self>) -> Enclosed {
        self.process
    }
}

/// `Firecracker v1.12.0` and more lines.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_once("Firecracker v")?.1.split(['.', '-', '\n']).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_version_is_read() {
        assert_eq!(version("Firecracker v1.12.0\n\nSupported snapshot data format versions: v6.0.0\n"), Some((1, 12)));
        assert_eq!(version("Firecracker v1.17.0-dev"), Some((1, 17)));
        assert_eq!(version("hello"), None);
    }
}
