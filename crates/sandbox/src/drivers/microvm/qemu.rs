//! QEMU's `microvm` machine: no firmware, no PCI, one serial port for the agent. With KVM where the
//! processor supports it; else all instructions are emulated, which is slow and works everywhere.
//!
//! It gets these descriptors only: the monitor's socket, the agent's, stderr, the guest's memory,
//! and for a boot the kernel and the guest's files. QEMU's own system call filter is on beside that
//! of the jail.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::kvm::{self, Kvm};
use super::memfd::{create, fd_path, seal};
use super::monitor_jail::{JailedMonitor, MonitorCommand, MonitorJails};
use super::qmp::{Qmp, QmpError};
use super::vmm::{Guest, Hardware, Machine, Port, Snapshot, Vmm, VmmError};
use crate::driver::{About, Probe, ProbeNote};

/// In the command line of every QEMU of Hearth.
const MARK: &str = "hearth-microvm";
const PROGRAM: &str = "qemu-system-x86_64";
/// What Debian's package needs beside its libraries.
const INSTALLED: [&str; 3] = ["/usr/bin/qemu-system-x86_64", "/usr/share/qemu", "/usr/share/seabios"];
/// Older versions damage the memory of guests that they emulate.
const MIN_EMULATION_VERSION: u32 = 9;
/// What QEMU takes beside the guest's memory; emulation keeps what it has translated.
const OWN_MEGABYTES: u64 = 96;
const OWN_MEGABYTES_EMULATING: u64 = 256;
/// Descriptors.
const MEMORY: usize = 3;
const KERNEL: usize = 4;
const INITRAMFS: usize = 5;

/// What a machine starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartFrom {
    Boot,
    Snapshot,
}

pub(super) struct Qemu {
    program: PathBuf,
    /// `None`: where it looks by itself.
    firmware: Option<PathBuf>,
    accelerator: Kvm,
    jails: Arc<MonitorJails>,
}

struct QemuMachine {
    process: JailedMonitor,
    agent: Option<UnixStream>,
    qmp: Qmp,
    memory: File,
}

impl Qemu {
    /// The program in that folder, else the machine's.
    pub(super) fn find(folder: &Path, jails: Arc<MonitorJails>) -> Self {
        let own = folder.canonicalize().ok().filter(|folder| folder.join(PROGRAM).exists());
        let program = own.as_ref().map_or_else(|| INSTALLED[0].into(), |folder| folder.join(PROGRAM));
        Self { program, firmware: own, accelerator: Kvm::here(), jails }
    }

    /// Its major version, if it can be started.
    fn version(&self) -> Option<u32> {
        let said = Command::new(&self.program).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.split("version ").nth(1)?.split('.').next()?.parse().ok()
    }

    fn files(&self) -> Vec<PathBuf> {
        match &self.firmware {
            Some(folder) => vec![folder.clone()],
            None => INSTALLED.iter().map(PathBuf::from).filter(|path| path.exists()).collect(),
        }
    }

    fn start(
        &self,
        hardware: Hardware,
        memory: &File,
        guest: Option<&Guest>,
    ) -> Result<(JailedMonitor, Qmp, UnixStream), VmmError> {
        let (monitor, monitors) = UnixStream::pair()?;
        let (agent, agents) = UnixStream::pair()?;
        let mut others = vec![memory.as_fd()];
        others.extend(guest.iter().flat_map(|guest| [guest.kernel.as_fd(), guest.initramfs.as_fd()]));
        let kvm = self.accelerator.is_usable();
        let mut process = self.jails.start(MonitorCommand {
            program: self.program.clone(),
            arguments: self.arguments(hardware, guest.map_or(StartFrom::Snapshot, |_| StartFrom::Boot)),
            files: self.files(),
            devices: if kvm { vec![kvm::DEVICE.into()] } else { Vec::new() },
            stdin: monitors.as_fd(),
            stdout: agents.as_fd(),
            others,
            hardware,
            own_megabytes: if kvm { OWN_MEGABYTES } else { OWN_MEGABYTES_EMULATING },
        })?;
        // Closed here, so that the end of QEMU shows as the end of the streams.
        drop((monitors, agents));
        match Qmp::begin(monitor) {
            Ok(qmp) => Ok((process, qmp, agent)),
            Err(error) => Err(with_stderr(&mut process, error)),
        }
    }

    fn arguments(&self, hardware: Hardware, start_from: StartFrom) -> Vec<String> {
        let Hardware { megabytes, cpus } = hardware;
        let (accelerator, model) = match self.accelerator.is_usable() {
            true => ("kvm", "host"),
            // The cache of translated code: 64 MB are enough for an interpreter.
            false => ("tcg,tb-size=64", "max"),
        };
        // A booting machine writes its memory through to the file, for others to start from; a
        // restored one writes to a private copy.
        let share = if start_from == StartFrom::Boot { "on" } else { "off" };
        let memory = fd_path(MEMORY);
        let mut all: Vec<String> = Vec::new();
        if let Some(firmware) = &self.firmware {
            all.extend(["-L".to_owned(), firmware.display().to_string()]);
        }
        // Without the legacy interrupt controller and timer, emulation hangs. The firmware is the
        // one that comes with QEMU.
        let fixed = format!(
            "-name {MARK} -machine microvm,acpi=on,rtc=off,isa-serial=off,x-option-roms=off,memory-backend=memory \
             -bios qboot.rom -accel {accelerator} -cpu {model} -m {megabytes}M -smp {cpus} \
             -object memory-backend-file,id=memory,size={megabytes}M,mem-path={memory},share={share} \
             -nodefaults -no-user-config -display none -no-reboot \
             -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny \
             -chardev socket,id=monitor,fd=0 -mon chardev=monitor,mode=control \
             -device virtio-serial-device,max_ports=2 \
             -chardev socket,id=agent,fd=1 -device virtserialport,chardev=agent,name=agent"
        );
        all.extend(fixed.split_whitespace().map(str::to_owned));
        if start_from == StartFrom::Boot {
            let append =
                format!("quiet panic=-1 reboot=t no_timer_check random.trust_cpu=on mitigations=off {}", kvm::clock());
            all.extend(["-kernel".to_owned(), fd_path(KERNEL), "-initrd".to_owned(), fd_path(INITRAMFS)]);
            all.extend(["-append".to_owned(), append]);
        } else {
            all.extend(["-incoming".to_owned(), "defer".to_owned()]);
        }
        all
    }
}

fn with_stderr(process: &mut JailedMonitor, error: QmpError) -> VmmError {
    VmmError::Qmp { error, words: process.stderr_text() }
}

impl Vmm for Qemu {
    fn port(&self) -> Port {
        Port::Serial
    }

    fn probe(&self) -> Result<Probe, String> {
        let Some(version) = self.version() else {
            let program = self.program.display();
            return Err(format!("{program} cannot be started: install Debian's package qemu-system-x86"));
        };
        let Err(why) = self.accelerator.usable() else {
            return Ok(Probe { summary: format!("QEMU {version} with KVM"), notes: Vec::new() });
        };
        if version < MIN_EMULATION_VERSION {
            return Err(format!(
                "QEMU {version} damages the memory of guests that it emulates: it must be {MIN_EMULATION_VERSION} or newer \
                 (`tools/drivers` gets one), or the machine have KVM ({why})"
            ));
        }
        let slow = format!(
            "{why}: guests are emulated, several times slower, and QEMU's emulation is no boundary that its makers vouch for"
        );
        Ok(Probe { summary: format!("QEMU {version} with emulation"), notes: vec![ProbeNote::new(About::Wall, slow)] })
    }

    fn boot(&self, hardware: Hardware, guest: &Guest) -> Result<Box<dyn Machine>, VmmError> {
        let memory = create("memory")?;
        memory.set_len(hardware.megabytes << 20)?;
        let (process, qmp, agent) = self.start(hardware, &memory, Some(guest))?;
        Ok(Box::new(QemuMachine { process, agent: Some(agent), qmp, memory }))
    }

    fn restore(&self, hardware: Hardware, snapshot: &Snapshot) -> Result<Box<dyn Machine>, VmmError> {
        let (mut process, mut qmp, agent) = self.start(hardware, &snapshot.memory, None)?;
        // Opened anew: a shared descriptor would share its read position.
        let own = std::os::fd::AsRawFd::as_raw_fd(&snapshot.state);
        let state = File::open(format!("/proc/self/fd/{own}"))?;
        qmp.restore(state.as_fd()).map_err(|error| with_stderr(&mut process, error))?;
        let memory = snapshot.memory.try_clone()?;
        Ok(Box::new(QemuMachine { process, agent: Some(agent), qmp, memory }))
    }
}

impl Machine for QemuMachine {
    fn agent(&mut self) -> Result<UnixStream, VmmError> {
        Ok(self.agent.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?)
    }

    fn pause(&mut self) -> Result<(), VmmError> {
        self.qmp.pause().map_err(|error| with_stderr(&mut self.process, error))
    }

    fn save(self: Box<Self>) -> Result<Snapshot, VmmError> {
        let Self { mut process, mut qmp, memory, .. } = *self;
        let state = create("state")?;
        qmp.save(state.as_fd()).map_err(|error| with_stderr(&mut process, error))?;
        // While it runs it has the memory mapped writable.
        drop(process);
        seal(&memory)?;
        seal(&state)?;
        Ok(Snapshot { memory, state })
    }

    fn into_process(self: Box<Self>) -> JailedMonitor {
        self.process
    }
}
