//! Starts virtual machine monitors in a jail (`hearth_sandbox_spawner`, monitor jails). A spawner
//! process starts them, because that takes a process with one thread. It is started on first use,
//! and again if it should die; its monitors die with it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hearth_sandbox_spawner::cgroup::{CgroupHierarchies, SandboxCgroups};
use hearth_sandbox_spawner::{
    HostFeatures, MonitorJail, SandboxNetwork, SandboxSpec, SpawnReply, SpawnRequest, seqpacket,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use super::memfd;
use super::vmm::Hardware;
use crate::drivers::process::SpawnerCommand;
use crate::drivers::process::instance::ProcessInstance;

/// A spawner answers in milliseconds, but it may have to share the machine.
const MONITOR_TIMEOUT: Duration = Duration::from_secs(60);
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// For a killed monitor to be gone.
const KILL_TIMEOUT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// CPU share of a monitor beside its guest's processors, in thousandths of one.
const OWN_MILLICPUS: u32 = 250;
/// Threads of a monitor, beside one for each of its guest's processors.
const MAX_MONITOR_THREADS: u32 = 64;
/// For the sockets that it listens on.
const FOLDER_BYTES: u64 = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum MonitorJailError {
    #[error("the spawner cannot be started: {0}")]
    Spawner(#[source] io::Error),
    #[error("the spawner does not answer: {0}")]
    Ask(#[source] io::Error),
    #[error("no jail can be made here: {0}")]
    Unable(String),
    #[error("the monitor cannot be started: {0}")]
    Refused(String),
}

/// Starts monitors.
pub(super) struct MonitorJails {
    command: SpawnerCommand,
    hierarchies: CgroupHierarchies,
    spawner: Mutex<Option<Spawner>>,
}

struct Spawner {
    line: SpawnerConnection,
    host_features: HostFeatures,
    last: u64,
}

/// The connection to a spawner, which ends with it.
struct SpawnerConnection {
    child: Child,
    channel: OwnedFd,
}

/// A monitor to be started.
pub(super) struct MonitorCommand<'a> {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) files: Vec<PathBuf>,
    pub(super) devices: Vec<PathBuf>,
    /// Beside its stderr, which go to descriptor 2.
    pub(super) stdin: BorrowedFd<'a>,
    pub(super) stdout: BorrowedFd<'a>,
    /// From descriptor 3 on.
    pub(super) others: Vec<BorrowedFd<'a>>,
    pub(super) hardware: Hardware,
    /// Memory beside the guest's.
    pub(super) own_megabytes: u64,
}

/// A monitor that runs. Dropping it kills it, and waits for its end.
pub(super) struct JailedMonitor {
    process: Option<OwnedFd>,
    folder: OwnedFd,
    groups: SandboxCgroups,
    stderr: File,
}

impl MonitorJails {
    pub(super) fn new(command: SpawnerCommand) -> Self {
        Self { command, hierarchies: CgroupHierarchies::find(), spawner: Mutex::default() }
    }

    /// The kernel features that confine monitors here. Blocks.
    pub(super) fn host_features(&self) -> Result<HostFeatures, MonitorJailError> {
        self.with_spawner(|spawner| Ok(spawner.host_features.clone()))
    }

    /// Blocks, for a few milliseconds.
    pub(super) fn start(&self, order: MonitorCommand<'_>) -> Result<JailedMonitor, MonitorJailError> {
        let stderr = memfd::create("stderr").map_err(MonitorJailError::Ask)?;
        self.with_spawner(|spawner| {
            spawner.last += 1;
            let plan = SandboxSpec {
                name: format!("microvm-{}", spawner.last),
                memory: (order.hardware.megabytes + order.own_megabytes) << 20,
                millicpus: u32::from(order.hardware.cpus) * 1_000 + OWN_MILLICPUS,
                processes: MAX_MONITOR_THREADS + u32::from(order.hardware.cpus),
                disk: FOLDER_BYTES,
                image: None,
                network: SandboxNetwork::Loopback,
            };
            let groups = self.hierarchies.groups(spawner.line.child.id(), &plan.name);
            let MonitorCommand { program, arguments, files, devices, .. } = order;
            let jail = MonitorJail { spec: plan, program, arguments, files, devices };
            let mut fds = vec![order.stdin, order.stdout, stderr.as_fd()];
            fds.extend(&order.others);
            let mut fds = spawner.enclose(jail, &fds)?.into_iter();
            let (Some(process), Some(folder)) = (fds.next(), fds.next()) else {
                return Err(MonitorJailError::Ask(io::ErrorKind::InvalidData.into()));
            };
            Ok(JailedMonitor { process: Some(process), folder, groups, stderr })
        })
    }

    /// Removes what monitors of servers that have ended left behind; returns their number.
    pub(super) fn sweep(&self) -> usize {
        self.hierarchies.remove_stale()
    }

    /// Ends the spawner and with it all monitors.
    pub(super) fn end(&self) {
        drop(self.lock().take());
    }

    fn with_spawner<T>(
        &self,
        work: impl FnOnce(&mut Spawner) -> Result<T, MonitorJailError>,
    ) -> Result<T, MonitorJailError> {
        let mut spawner = self.lock();
        let mut live = match spawner.take().filter(Spawner::is_alive) {
            Some(live) => live,
            None => Spawner::start(&self.command)?,
        };
        let done = work(&mut live);
        // A spawner that sent an invalid message is not used again; its monitors end with it.
        if !matches!(done, Err(MonitorJailError::Ask(_))) {
            *spawner = Some(live);
        }
        done
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Spawner>> {
        // A thread that panicked under the lock had taken the spawner out.
        self.spawner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spawner {
    fn start(command: &SpawnerCommand) -> Result<Self, MonitorJailError> {
        let (ours, theirs) = seqpacket::pair().map_err(MonitorJailError::Spawner)?;
        seqpacket::set_receive_timeout(ours.as_fd(), MONITOR_TIMEOUT).map_err(MonitorJailError::Spawner)?;
        let mut program = Command::new(&command.program);
        program.args(&command.arguments).env_clear().stdin(theirs).stdout(Stdio::null());
        // Not in the terminal's process group: an interrupt is for the server, which then ends it
        // in order.
        program.process_group(0);
        let child = program.spawn().map_err(MonitorJailError::Spawner)?;
        // The command holds the other end of the channel.
        drop(program);
        let line = SpawnerConnection { child, channel: ours };
        seqpacket::send(line.channel.as_fd(), &SpawnRequest::Begin { disks: None }, &[])
            .map_err(MonitorJailError::Ask)?;
        match line.receive()? {
            (SpawnReply::Ready(host_features), _) => Ok(Self { line, host_features, last: 0 }),
            (SpawnReply::Unable { reason }, _) => Err(MonitorJailError::Unable(reason)),
            _ => Err(MonitorJailError::Ask(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Whether its end of the channel is open.
    fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.line.channel, PollFlags::empty())];
        poll(&mut fds, Some(&NOW)).is_ok_and(|_| !fds[0].revents().contains(PollFlags::HUP))
    }

    fn enclose(&mut self, jail: MonitorJail, fds: &[BorrowedFd<'_>]) -> Result<Vec<OwnedFd>, MonitorJailError> {
        let ask = SpawnRequest::CreateMonitor { ticket: self.last, jail };
        seqpacket::send(self.line.channel.as_fd(), &ask, fds).map_err(MonitorJailError::Ask)?;
        match self.line.receive()? {
            (SpawnReply::Created { ticket, .. }, fds) if ticket == self.last => Ok(fds),
            (SpawnReply::Failed { ticket, reason }, _) if ticket == self.last => Err(MonitorJailError::Refused(reason)),
            _ => Err(MonitorJailError::Ask(io::ErrorKind::InvalidData.into())),
        }
    }
}

impl SpawnerConnection {
    fn receive(&self) -> Result<(SpawnReply, Vec<OwnedFd>), MonitorJailError> {
        let received = seqpacket::receive::<SpawnReply>(self.channel.as_fd()).map_err(MonitorJailError::Ask)?;
        received.ok_or_else(|| MonitorJailError::Ask(io::ErrorKind::UnexpectedEof.into()))
    }
}

impl Drop for SpawnerConnection {
    fn drop(&mut self) {
        // Neither fails for a child of this process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl JailedMonitor {
    /// The path of a file in the monitor's writable folder, as seen from here.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()).into()
    }

    pub(super) fn is_alive(&self) -> bool {
        // The pidfd of an ended process is readable; if it cannot be polled, the process counts as
        // alive.
        self.wait(&NOW).unwrap_or(true)
    }

    /// Its stderr, as the end of a sentence.
    pub(super) fn stderr_text(&mut self) -> String {
        memfd::stderr_text(&mut self.stderr)
    }

    /// On the current runtime.
    pub(super) fn into_instance(mut self) -> io::Result<ProcessInstance> {
        let process = self.process.take().expect("taken only here and at its end");
        ProcessInstance::new(process, self.groups.clone())
    }

    /// Whether it is still alive after that time.
    fn wait(&self, time: &Timespec) -> io::Result<bool> {
        let Some(process) = &self.process else { return Ok(false) };
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        Ok(poll(&mut fds, Some(time))? == 0)
    }
}

impl Drop for JailedMonitor {
    fn drop(&mut self) {
        let Some(process) = &self.process else { return };
        // Fails where it has ended already.
        let _ = pidfd_send_signal(process, Signal::KILL);
        // What is left is swept by the next server.
        let _ = self.wait(&KILL_TIMEOUT);
        self.groups.remove();
    }
}
