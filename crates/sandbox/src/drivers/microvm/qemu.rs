//! QEMU's `microvm` machine: no firmware, no PCI, one serial port for the agent. With KVM where the processor can; else all
//! instructions are emulated, which is slow and works everywhere.
//!
//! Its three standard descriptors are all it is given: the monitor's socket, the agent's, and where it complains. The guest's
//! memory, kernel and files are files without a name that it opens through `/proc`: nothing is left of them when both are
//! gone. QEMU's own filter of system calls is on: it can start no program.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::qmp::{Qmp, QmpError};

/// In the command line of every QEMU of ours.
pub(super) const MARK: &str = "hearth-microvm";

const PROGRAM: &str = "qemu-system-x86_64";

/// A QEMU, and where its firmware is.
#[derive(Clone, Debug)]
pub(super) struct Qemu {
    pub(super) program: PathBuf,
    /// `None`: where it looks by itself.
    firmware: Option<PathBuf>,
}

/// How the guest's instructions are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accelerator {
    Kvm,
    Emulation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hardware {
    pub(super) megabytes: u64,
    pub(super) cpus: u16,
}

/// What a machine begins with.
pub(super) enum Beginning<'a> {
    /// Its memory is written through to the file, for others to begin with.
    Boot { kernel: &'a Path, initramfs: &'a File },
    /// The memory that the file has; what it changes is its own.
    Snapshot { state: &'a File },
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("{program} cannot be started: {error}")]
    Spawn { program: String, error: io::Error },
    #[error("no sockets for QEMU: {0}")]
    Io(#[from] io::Error),
    #[error("{error}{words}")]
    Qmp { error: QmpError, words: String },
}

/// Dropping it kills it.
pub(super) struct Machine {
    child: Option<Child>,
    pub(super) agent: Option<UnixStream>,
    qmp: Qmp,
}

impl Qemu {
    /// The one in that folder, else the machine's.
    pub(super) fn find(folder: &Path) -> Self {
        let own = folder.join(PROGRAM);
        match own.exists() {
            true => Self { program: own, firmware: Some(folder.to_owned()) },
            false => Self { program: Path::new("/usr/bin").join(PROGRAM), firmware: None },
        }
    }

    /// The first number of its version, if it can be started.
    pub(super) fn version(&self) -> Option<u32> {
        let said = Command::new(&self.program).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.split("version ").nth(1)?.split('.').next()?.parse().ok()
    }
}

impl Accelerator {
    /// What this machine can do. That there is a `/dev/kvm` is not enough: some offer one to guests made for them only.
    pub(super) fn here() -> Self {
        let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let can = flags
            .lines()
            .find(|line| line.starts_with("flags"))
            .is_some_and(|line| line.split_whitespace().any(|flag| matches!(flag, "vmx" | "svm")));
        match can && File::options().read(true).write(true).open("/dev/kvm").is_ok() {
            true => Self::Kvm,
            false => Self::Emulation,
        }
    }
}

impl Machine {
    pub(super) fn start(
        qemu: &Qemu,
        accelerator: Accelerator,
        hardware: Hardware,
        memory: &File,
        beginning: &Beginning<'_>,
    ) -> Result<Self, StartError> {
        let (monitor, theirs) = UnixStream::pair()?;
        let (agent, agents) = UnixStream::pair()?;
        let mut command = Command::new(&qemu.program);
        if let Some(firmware) = &qemu.firmware {
            command.arg("-L").arg(firmware);
        }
        command.args(arguments(accelerator, hardware, memory, beginning)).env_clear();
        command.stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(agents)).stderr(Stdio::piped());
        let spawned = command.spawn();
        // It holds our ends of the sockets' other sides.
        drop(command);
        let mut child =
            spawned.map_err(|error| StartError::Spawn { program: qemu.program.display().to_string(), error })?;
        match Self::settle(monitor, beginning) {
            Ok(qmp) => Ok(Self { child: Some(child), agent: Some(agent), qmp }),
            Err(error) => {
                let words = last_words(&mut child);
                Err(StartError::Qmp { error, words })
            }
        }
    }

    fn settle(monitor: UnixStream, beginning: &Beginning<'_>) -> Result<Qmp, QmpError> {
        let mut qmp = Qmp::begin(monitor)?;
        if let Beginning::Snapshot { state } = beginning {
            // Opened anew: who shares a descriptor shares the place that was read to.
            let state = File::open(path(state))?;
            qmp.restore(std::os::fd::AsFd::as_fd(&state))?;
        }
        Ok(qmp)
    }

    /// Ends it, with everything but its memory in `state`.
    pub(super) fn save(mut self, state: &File) -> Result<(), QmpError> {
        self.qmp.save(std::os::fd::AsFd::as_fd(state))
    }

    /// The process, for who sees to its end.
    pub(super) fn into_child(mut self) -> Child {
        self.child.take().expect("taken only here, by value")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn arguments(
    accelerator: Accelerator,
    hardware: Hardware,
    memory: &File,
    beginning: &Beginning<'_>,
) -> Vec<std::ffi::OsString> {
    let Hardware { megabytes, cpus } = hardware;
    let (accelerator, model) = match accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        // What is translated is kept: 64 MB of it are enough for an interpreter.
        Accelerator::Emulation => ("tcg,tb-size=64", "max"),
    };
    let share = if let Beginning::Boot { .. } = beginning { "on" } else { "off" };
    let memory = path(memory);
    let mut all = vec![
        "-name".into(),
        MARK.into(),
        "-machine".into(),
        // Without the interrupt controller and timer of old, emulation hangs.
        "microvm,acpi=on,rtc=off,isa-serial=off,x-option-roms=off,memory-backend=memory".into(),
        "-accel".into(),
        accelerator.into(),
        "-cpu".into(),
        model.into(),
        "-m".into(),
        format!("{megabytes}M").into(),
        "-smp".into(),
        cpus.to_string().into(),
        "-object".into(),
        format!("memory-backend-file,id=memory,size={megabytes}M,mem-path={},share={share}", memory.display()).into(),
    ];
    let fixed = "-nodefaults -no-user-config -display none -no-reboot \
        -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny \
        -chardev socket,id=monitor,fd=0 -mon chardev=monitor,mode=control \
        -device virtio-serial-device,max_ports=2 \
        -chardev socket,id=agent,fd=1 -device virtserialport,chardev=agent,name=agent";
    all.extend(fixed.split_whitespace().map(Into::into));
    match beginning {
        Beginning::Boot { kernel, initramfs } => all.extend([
            "-kernel".into(),
            kernel.as_os_str().to_owned(),
            "-initrd".into(),
            path(initramfs).into_os_string(),
            "-append".into(),
            format!("quiet panic=-1 reboot=t no_timer_check random.trust_cpu=on mitigations=off {}", clock()).into(),
        ]),
        Beginning::Snapshot { .. } => all.extend(["-incoming".into(), "defer".into()]),
    }
    all
}

/// How fast the guest's clock ticks: as fast as ours. It would measure that against a timer which, emulated on a busy machine,
/// is so far off that the kernel gives up and waits for ever.
fn clock() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let megahertz =
        about.lines().find_map(|line| line.strip_prefix("cpu MHz")?.split(':').nth(1)?.trim().parse::<f64>().ok());
    let kilohertz = megahertz.map(|megahertz| (megahertz * 1000.0) as u64);
    kilohertz.map_or_else(|| "tsc=reliable".to_owned(), |khz| format!("tsc=reliable tsc_early_khz={khz}"))
}

/// Where another process finds a file that has no name.
fn path(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// What it said before it ended.
fn last_words(child: &mut Child) -> String {
    let _ = child.kill();
    let _ = child.wait();
    let mut words = String::new();
    if let Some(stderr) = &mut child.stderr {
        // Nothing can be said of why it cannot be read.
        let _ = stderr.take(4_000).read_to_string(&mut words);
    }
    match words.trim() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}
