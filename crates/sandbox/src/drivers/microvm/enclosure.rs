//! Monitors between walls (`hearth_jail::sandbox`, enclosures): a spawner starts them, because only a process with one thread
//! can. It is started by the first who needs it, and again if it should die; its monitors die with it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hearth_jail::sandbox::cgroup::{CgroupHierarchies, SandboxCgroups};
use hearth_jail::sandbox::{
    HostFeatures, MonitorJail, SandboxNetwork, SandboxSpec, SpawnReply, SpawnRequest, seqpacket,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use super::file;
use super::vmm::Hardware;
use crate::drivers::process::SpawnerCommand;
use crate::drivers::process::instance::ProcessInstance;

/// A spawner answers in milliseconds, but it may have to share the machine.
const PATIENCE: Duration = Duration::from_secs(60);
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Who was killed is gone soon; longer than this nobody waits for it.
const LAST_MOMENTS: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// What a monitor does beside running its guest's processors, in thousandths of one.
const OWN_MILLICPUS: u32 = 250;
/// Threads of a monitor, beside one for each of its guest's processors.
const THREADS: u32 = 64;
/// For sockets that it listens on.
const FOLDER_BYTES: u64 = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum EnclosureError {
    #[error("the spawner cannot be started: {0}")]
    Spawner(#[source] io::Error),
    #[error("the spawner cannot be asked: {0}")]
    Ask(#[source] io::Error),
    #[error("no wall can be built here: {0}")]
    Unable(String),
    #[error("the monitor cannot be started: {0}")]
    Refused(String),
}

/// Starts monitors.
pub(super) struct Enclosures {
    command: SpawnerCommand,
    hierarchies: CgroupHierarchies,
    spawner: Mutex<Option<Spawner>>,
}

struct Spawner {
    line: Line,
    facilities: HostFeatures,
    last: u64,
}

/// To a spawner, which ends with it.
struct Line {
    child: Child,
    channel: OwnedFd,
}

/// A program to be started, and what it is to have.
pub(super) struct Order<'a> {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) files: Vec<PathBuf>,
    pub(super) devices: Vec<PathBuf>,
    /// Beside its complaints, which go to descriptor 2.
    pub(super) stdin: BorrowedFd<'a>,
    pub(super) stdout: BorrowedFd<'a>,
    /// From descriptor 3 on.
    pub(super) others: Vec<BorrowedFd<'a>>,
    pub(super) hardware: Hardware,
    /// Memory beside the guest's.
    pub(super) own_megabytes: u64,
}

/// A monitor that runs. Dropping it kills it, and waits for its end.
pub(super) struct Enclosed {
    process: Option<OwnedFd>,
    folder: OwnedFd,
    groups: SandboxCgroups,
    complaints: File,
}

impl Enclosures {
    pub(super) fn new(command: SpawnerCommand) -> Self {
        Self { command, hierarchies: CgroupHierarchies::find(), spawner: Mutex::default() }
    }

    /// What holds monitors here. Blocks.
    pub(super) fn facilities(&self) -> Result<HostFeatures, EnclosureError> {
        self.with_spawner(|spawner| Ok(spawner.facilities.clone()))
    }

    /// Blocks, for a few milliseconds.
    pub(super) fn start(&self, order: Order<'_>) -> Result<Enclosed, EnclosureError> {
        let complaints = file::nameless("complaints").map_err(EnclosureError::Ask)?;
        self.with_spawner(|spawner| {
            spawner.last += 1;
            let plan = SandboxSpec {
                name: format!("microvm-{}", spawner.last),
                memory: (order.hardware.megabytes + order.own_megabytes) << 20,
                millicpus: u32::from(order.hardware.cpus) * 1_000 + OWN_MILLICPUS,
                processes: THREADS + u32::from(order.hardware.cpus),
                disk: FOLDER_BYTES,
                image: None,
                network: SandboxNetwork::Loopback,
            };
            let groups = self.hierarchies.groups(spawner.line.child.id(), &plan.name);
            let Order { program, arguments, files, devices, .. } = order;
            let enclosure = MonitorJail { spec: plan, program, arguments, files, devices };
            let mut fds = vec![order.stdin, order.stdout, complaints.as_fd()];
            fds.extend(&order.others);
            let mut fds = spawner.enclose(enclosure, &fds)?.into_iter();
            let (Some(process), Some(folder)) = (fds.next(), fds.next()) else {
                return Err(EnclosureError::Ask(io::ErrorKind::InvalidData.into()));
            };
            Ok(Enclosed { process: Some(process), folder, groups, complaints })
        })
    }

    /// Removes what monitors of servers that are no more have left, and says of how many.
    pub(super) fn sweep(&self) -> usize {
        self.hierarchies.remove_stale()
    }

    /// Ends the spawner and with it all monitors.
    pub(super) fn end(&self) {
        drop(self.lock().take());
    }

    fn with_spawner<T>(
        &self,
        work: impl FnOnce(&mut Spawner) -> Result<T, EnclosureError>,
    ) -> Result<T, EnclosureError> {
        let mut spawner = self.lock();
        let mut live = match spawner.take().filter(Spawner::is_alive) {
            Some(live) => live,
            None => Spawner::start(&self.command)?,
        };
        let done = work(&mut live);
        // One that cannot be understood is not asked again; its monitors end with it.
        if !matches!(done, Err(EnclosureError::Ask(_))) {
            *spawner = Some(live);
        }
        done
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Spawner>> {
        // Who panicked under it had taken the spawner out.
        self.spawner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spawner {
    fn start(command: &SpawnerCommand) -> Result<Self, EnclosureError> {
        let (ours, theirs) = seqpacket::pair().map_err(EnclosureError::Spawner)?;
        seqpacket::set_receive_timeout(ours.as_fd(), PATIENCE).map_err(EnclosureError::Spawner)?;
        let mut program = Command::new(&command.program);
        program.args(&command.arguments).env_clear().stdin(theirs).stdout(Stdio::null());
        // What is typed at a terminal is for the server, which then ends it in order.
        program.process_group(0);
        let child = program.spawn().map_err(EnclosureError::Spawner)?;
        // It holds the other side of our channel.
        drop(program);
        let line = Line { child, channel: ours };
        seqpacket::send(line.channel.as_fd(), &SpawnRequest::Begin { disks: None }, &[])
            .map_err(EnclosureError::Ask)?;
        match line.hear()? {
            (SpawnReply::Ready(facilities), _) => Ok(Self { line, facilities, last: 0 }),
            (SpawnReply::Unable { reason }, _) => Err(EnclosureError::Unable(reason)),
            _ => Err(EnclosureError::Ask(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Its end of the channel is open.
    fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.line.channel, PollFlags::empty())];
        poll(&mut fds, Some(&NOW)).is_ok_and(|_| !fds[0].revents().contains(PollFlags::HUP))
    }

    fn enclose(&mut self, enclosure: MonitorJail, fds: &[BorrowedFd<'_>]) -> Result<Vec<OwnedFd>, EnclosureError> {
        let ask = SpawnRequest::CreateMonitor { ticket: self.last, jail: enclosure };
        seqpacket::send(self.line.channel.as_fd(), &ask, fds).map_err(EnclosureError::Ask)?;
        match self.line.hear()? {
            (SpawnReply::Created { ticket, .. }, fds) if ticket == self.last => Ok(fds),
            (SpawnReply::Failed { ticket, reason }, _) if ticket == self.last => Err(EnclosureError::Refused(reason)),
            _ => Err(EnclosureError::Ask(io::ErrorKind::InvalidData.into())),
        }
    }
}

impl Line {
    fn hear(&self) -> Result<(SpawnReply, Vec<OwnedFd>), EnclosureError> {
        let heard = seqpacket::receive::<SpawnReply>(self.channel.as_fd()).map_err(EnclosureError::Ask)?;
        heard.ok_or_else(|| EnclosureError::Ask(io::ErrorKind::UnexpectedEof.into()))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Neither fails for a child of our own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Enclosed {
    /// A place in the folder that the monitor can write to, as seen from here.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()).into()
    }

    pub(super) fn is_alive(&self) -> bool {
        // A process that has ended can be read from; one that cannot be asked about is taken for alive.
        self.wait(&NOW).unwrap_or(true)
    }

    /// What it complained about, as the end of a sentence.
    pub(super) fn words(&mut self) -> String {
        file::words(&mut self.complaints)
    }

    /// On the current runtime.
    pub(super) fn into_instance(mut self) -> io::Result<ProcessInstance> {
        let process = self.process.take().expect("taken only here and at its end");
        ProcessInstance::new(process, self.groups.clone())
    }

    /// Whether it is still alive when the time is over.
    fn wait(&self, time: &Timespec) -> io::Result<bool> {
        let Some(process) = &self.process else { return Ok(false) };
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        Ok(poll(&mut fds, Some(time))? == 0)
    }
}

impl Drop for Enclosed {
    fn drop(&mut self) {
        let Some(process) = &self.process else { return };
        // It may have ended already.
        let _ = pidfd_send_signal(process, Signal::KILL);
        // What is left after that is swept by the next server.
        let _ = self.wait(&LAST_MOMENTS);
        self.groups.remove();
    }
}
