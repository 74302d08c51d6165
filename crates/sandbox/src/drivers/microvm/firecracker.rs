//! Firecracker: a monitor that does little else than run machines like these. It needs KVM. It is
//! configured over a socket in the one folder that it can write to (`api.rs`), and the agent is
//! reached through another there (`vsock.rs`). All other files are passed to it as descriptors.
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

use hearth_sandbox_spawner::MONITOR_DIR;
use serde_json::json;

use super::api::{Api, ApiError, Method};
use super::kvm;
use super::memfd::{create, fd_path, seal};
use super::monitor_jail::{JailedMonitor, MonitorCommand, MonitorJails};
use super::vmm::{Guest, Hardware, Machine, Port, Snapshot, Vmm, VmmError};
use super::vsock::{self, VsockError};
use crate::driver::Probe;

const PROGRAM: &str = "firecracker";
const PLACES: [&str; 2] = ["/usr/local/bin/firecracker", "/usr/bin/firecracker"];
/// The first version whose API takes the path of a snapshot's memory in this form.
const MIN_VERSION: (u32, u32) = (1, 1);
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
/// Between two attempts to connect.
const POLL_DELAY: Duration = Duration::from_millis(2);
/// For a guest to boot.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct Firecracker {
    program: PathBuf,
    /// Other files that it may read: the folder that it is in, where that is its own.
    files: Vec<PathBuf>,
    /// Timeout of each answer.
    timeout: Duration,
    jails: Arc<MonitorJails>,
}

struct FirecrackerMachine {
    process: JailedMonitor,
    api: Api,
    timeout: Duration,
    /// Where a snapshot is written; only a machine that was booted can be saved.
    room: Option<Snapshot>,
}

impl Firecracker {
    /// The program in that folder, else the machine's; `None` where there is none.
    pub(super) fn find(folder: &Path, timeout: Duration, jails: Arc<MonitorJails>) -> Option<Self> {
        let own = folder.canonicalize().ok().filter(|folder| folder.join(PROGRAM).exists());
        if let Some(folder) = own {
            return Some(Self { program: folder.join(PROGRAM), files: vec![folder], timeout, jails });
        }
        let program = PLACES.iter().map(PathBuf::from).find(|place| place.exists())?;
        Some(Self { files: vec![program.clone()], program, timeout, jails })
    }

    /// Why there is none, as a text.
    pub(super) fn missing(folder: &Path) -> String {
        format!("there is no {} and no {}", folder.join(PROGRAM).display(), PLACES.join(" or "))
    }

    /// Starts one without a configuration.
    fn start(
        &self,
        hardware: Hardware,
        others: &[&File],
        own_megabytes: u64,
    ) -> Result<(JailedMonitor, Api), VmmError> {
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        let mut process = self.jails.start(MonitorCommand {
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
        match reach(&process, self.timeout) {
            Ok(socket) => Ok((process, Api::new(socket, self.timeout))),
            Err(error) => Err(VmmError::Api { error: ApiError::Connect(error), words: process.stderr_text() }),
        }
    }

    fn configure(api: &mut Api, hardware: Hardware, cid: u32) -> Result<(), ApiError> {
        // One processor, or an even number of them; the control group limits how much of them is
        // used.
        let cpus = if hardware.cpus > 1 { hardware.cpus.next_multiple_of(2) } else { 1 };
        let machine = json!({ "vcpu_count": cpus, "mem_size_mib": hardware.megabytes });
        api.ask(Method::Put, "/machine-config", &machine)?;
        let arguments = "quiet panic=-1 reboot=k pci=off random.trust_cpu=on";
        let source = json!({
            "kernel_image_path": fd_path(KERNEL), "initrd_path": fd_path(INITRAMFS), "boot_args": arguments,
        });
        api.ask(Method::Put, "/boot-source", &source)?;
        let vsock = json!({ "guest_cid": cid, "uds_path": format!("{MONITOR_DIR}/{AGENT}") });
        api.ask(Method::Put, "/vsock", &vsock)?;
        api.ask(Method::Put, "/actions", &json!({ "action_type": "InstanceStart" }))
    }
}

fn with_stderr(process: &mut JailedMonitor, error: ApiError) -> VmmError {
    VmmError::Api { error, words: process.stderr_text() }
}

/// Connects to the API socket, which Firecracker opens when it is ready.
fn reach(process: &JailedMonitor, timeout: Duration) -> io::Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(process.path(API)) {
            Ok(socket) => return Ok(socket),
            Err(error) if !process.is_alive() || began.elapsed() > timeout => return Err(error),
            Err(_) => std::thread::sleep(POLL_DELAY),
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
        if version < MIN_VERSION {
            let ((is, minor), (oldest, least)) = (version, MIN_VERSION);
            return Err(format!("{program} is version {is}.{minor}: it must be {oldest}.{least} or newer"));
        }
        Ok(Probe { summary: format!("Firecracker {}.{} with KVM", version.0, version.1), notes: Vec::new() })
    }

    fn boot(&self, hardware: Hardware, guest: &Guest) -> Result<Box<dyn Machine>, VmmError> {
        let room = Snapshot { memory: create("memory")?, state: create("state")? };
        let files = [&guest.kernel, &guest.initramfs, &room.state, &room.memory];
        // The snapshot is written to memfds by this process: memory for the guest's twice.
        let own = OWN_MEGABYTES + hardware.megabytes;
        let (mut process, mut api) = self.start(hardware, &files, own)?;
        Self::configure(&mut api, hardware, guest.cid).map_err(|error| with_stderr(&mut process, error))?;
        Ok(Box::new(FirecrackerMachine { process, api, timeout: self.timeout, room: Some(room) }))
    }

    fn restore(&self, hardware: Hardware, snapshot: &Snapshot) -> Result<Box<dyn Machine>, VmmError> {
        let files = [&snapshot.state, &snapshot.memory];
        let (mut process, mut api) = self.start(hardware, &files, OWN_MEGABYTES)?;
        let load = json!({
            "snapshot_path": fd_path(SAVED_STATE),
            "mem_backend": { "backend_type": "File", "backend_path": fd_path(SAVED_MEMORY) },
            "resume_vm": true,
        });
        api.ask(Method::Put, "/snapshot/load", &load).map_err(|error| with_stderr(&mut process, error))?;
        Ok(Box::new(FirecrackerMachine { process, api, timeout: self.timeout, room: None }))
    }
}

impl Machine for FirecrackerMachine {
    fn agent(&mut self) -> Result<UnixStream, VmmError> {
        let deadline = Instant::now() + BOOT_TIMEOUT.max(self.timeout);
        loop {
            let error = match vsock::connect(&self.process.path(AGENT), self.timeout) {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            // A booting guest does not listen yet.
            if !matches!(error, VsockError::NotListening) || !self.process.is_alive() || Instant::now() > deadline {
                return Err(VmmError::Vsock { error, words: self.process.stderr_text() });
            }
            std::thread::sleep(POLL_DELAY);
        }
    }

    fn pause(&mut self) -> Result<(), VmmError> {
        let paused = self.api.ask(Method::Patch, "/vm", &json!({ "state": "Paused" }));
        paused.map_err(|error| with_stderr(&mut self.process, error))
    }

    fn save(self: Box<Self>) -> Result<Snapshot, VmmError> {
        let Self { mut process, mut api, room, .. } = *self;
        let snapshot = room.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        let create = json!({
            "snapshot_type": "Full", "snapshot_path": fd_path(STATE), "mem_file_path": fd_path(MEMORY),
        });
        api.ask(Method::Put, "/snapshot/create", &create).map_err(|error| with_stderr(&mut process, error))?;
        // While it runs it might write more.
        drop(process);
        seal(&snapshot.memory)?;
        seal(&snapshot.state)?;
        Ok(snapshot)
    }

    fn into_process(self: Box<Self>) -> JailedMonitor {
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
