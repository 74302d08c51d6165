//! QEMU's `microvm` machine: no firmware, no PCI, one serial port for the agent. With KVM where the processor can; else all
//! instructions are emulated, which is slow and works everywhere.
//!
//! Its descriptors are all it is given: the monitor's socket, the agent's, where it complains, the guest's memory, and for one
//! that boots, the kernel and the guest's files. QEMU's own filter of system calls is on beside ours.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::enclosure::{Enclosed, Enclosures, Order};
use super::file::{inside, nameless, seal};
use super::kvm::{self, Kvm};
use super::qmp::{Qmp, QmpError};
use super::vmm::{Guest, Hardware, Machine, Port, Snapshot, Vmm, VmmError};
use crate::driver::{About, Note, Probe};

/// In the command line of every QEMU of ours.
const MARK: &str = "hearth-microvm";
const PROGRAM: &str = "qemu-system-x86_64";
/// What Debian's own needs beside its libraries.
const INSTALLED: [&str; 3] = ["/usr/bin/qemu-system-x86_64", "/usr/share/qemu", "/usr/share/seabios"];
/// What is older damages the memory of guests that it emulates.
const OLDEST_EMULATION: u32 = 9;
/// What QEMU takes beside the guest's memory; emulation keeps what it has translated.
const OWN_MEGABYTES: u64 = 96;
const OWN_MEGABYTES_EMULATING: u64 = 256;
/// Descriptors.
const MEMORY: usize = 3;
const KERNEL: usize = 4;
const INITRAMFS: usize = 5;

/// What a machine begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    Boot,
    Snapshot,
}

pub(super) struct Qemu {
    program: PathBuf,
    /// `None`: where it looks by itself.
    firmware: Option<PathBuf>,
    accelerator: Kvm,
    enclosures: Arc<Enclosures>,
}

struct QemuMachine {
    process: Enclosed,
    agent: Option<UnixStream>,
    qmp: Qmp,
    memory: File,
}

impl Qemu {
    /// The one in that folder, else the machine's.
    pub(super) fn find(folder: &Path, enclosures: Arc<Enclosures>) -> Self {
        let own = folder.canonicalize().ok().filter(|folder| folder.join(PROGRAM).exists());
        let program = own.as_ref().map_or_else(|| INSTALLED[0].into(), |folder| folder.join(PROGRAM));
        Self { program, firmware: own, accelerator: Kvm::here(), enclosures }
    }

    /// The first number of its version, if it can be started.
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
    ) -> Result<(Enclosed, Qmp, UnixStream), VmmError> {
        let (monitor, monitors) = UnixStream::pair()?;
        let (agent, agents) = UnixStream::pair()?;
        let mut others = vec![memory.as_fd()];
        others.extend(guest.iter().flat_map(|guest| [guest.kernel.as_fd(), guest.initramfs.as_fd()]));
        let kvm = self.accelerator.is_usable();
        let mut process = self.enclosures.start(Order {
            program: self.program.clone(),
            arguments: self.arguments(hardware, guest.map_or(Beginning::Snapshot, |_| Beginning::Boot)),
            files: self.files(),
            devices: if kvm { vec![kvm::DEVICE.into()] } else { Vec::new() },
            stdin: monitors.as_fd(),
            stdout: agents.as_fd(),
            others,
            hardware,
            own_megabytes: if kvm { OWN_MEGABYTES } else { OWN_MEGABYTES_EMULATING },
        })?;
        // When QEMU ends, whoever listens to it must notice.
        drop((monitors, agents));
        match Qmp::begin(monitor) {
            Ok(qmp) => Ok((process, qmp, agent)),
            Err(error) => Err(complaint(&mut process, error)),
        }
    }

    fn arguments(&self, hardware: Hardware, beginning: Beginning) -> Vec<String> {
        let Hardware { megabytes, cpus } = hardware;
        let (accelerator, model) = match self.accelerator.is_usable() {
            true => ("kvm", "host"),
            // What is translated is kept: 64 MB of it are enough for an interpreter.
            false => ("tcg,tb-size=64", "max"),
        };
        // One that boots writes its memory through to the file, for others to begin with; what those change is their own.
        let share = if beginning == Beginning::Boot { "on" } else { "off" };
        let memory = inside(MEMORY);
        let mut all: Vec<String> = Vec::new();
        if let Some(firmware) = &self.firmware {
            all.extend(["-L".to_owned(), firmware.display().to_string()]);
        }
        // Without the interrupt controller and timer of old, emulation hangs. The firmware is the one that comes with QEMU itself.
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
        if beginning == Beginning::Boot {
            let append =
                format!("quiet panic=-1 reboot=t no_timer_check random.trust_cpu=on mitigations=off {}", kvm::clock());
            all.extend(["-kernel".to_owned(), inside(KERNEL), "-initrd".to_owned(), inside(INITRAMFS)]);
            all.extend(["-append".to_owned(), append]);
        } else {
            all.extend(["-incoming".to_owned(), "defer".to_owned()]);
        }
        all
    }
}

fn complaint(process: &mut Enclosed, error: QmpError) -> VmmError {
    VmmError::Qmp { error, words: process.words() }
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
        if version < OLDEST_EMULATION {
            return Err(format!(
                "QEMU {version} damages the memory of guests that it emulates: it must be {OLDEST_EMULATION} or newer \
                 (`tools/drivers` gets one), or the machine have KVM ({why})"
            ));
        }
        let slow = format!(
            "{why}: guests are emulated, several times slower, and QEMU's emulation is no boundary that its makers vouch for"
        );
        Ok(Probe { summary: format!("QEMU {version} with emulation"), notes: vec![Note::new(About::Wall, slow)] })
    }

    fn boot(&self, hardware: Hardware, guest: &Guest) -> Result<Box<dyn Machine>, VmmError> {
        let memory = nameless("memory")?;
        memory.set_len(hardware.megabytes << 20)?;
        let (process, qmp, agent) = self.start(hardware, &memory, Some(guest))?;
        Ok(Box::new(QemuMachine { process, agent: Some(agent), qmp, memory }))
    }

    fn restore(&self, hardware: Hardware, snapshot: &Snapshot) -> Result<Box<dyn Machine>, VmmError> {
        let (mut process, mut qmp, agent) = self.start(hardware, &snapshot.memory, None)?;
        // Opened anew: who shares a descriptor shares the place that was read to.
        let own = std::os::fd::AsRawFd::as_raw_fd(&snapshot.state);
        let state = File::open(format!("/proc/self/fd/{own}"))?;
        qmp.restore(state.as_fd()).map_err(|error| complaint(&mut process, error))?;
        let memory = snapshot.memory.try_clone()?;
        Ok(Box::new(QemuMachine { process, agent: Some(agent), qmp, memory }))
    }
}

impl Machine for QemuMachine {
    fn agent(&mut self) -> Result<UnixStream, VmmError> {
        Ok(self.agent.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?)
    }

    fn pause(&mut self) -> Result<(), VmmError> {
        self.qmp.pause().map_err(|error| complaint(&mut self.process, error))
    }

    fn save(self: Box<Self>) -> Result<Snapshot, VmmError> {
        let Self { mut process, mut qmp, memory, .. } = *self;
        let state = nameless("state")?;
        qmp.save(state.as_fd()).map_err(|error| complaint(&mut process, error))?;
        // Until it is gone it has the memory mapped to write to.
        drop(process);
        seal(&memory)?;
        seal(&state)?;
        Ok(Snapshot { memory, state })
    }

    fn into_process(self: Box<Self>) -> Enclosed {
        self.process
    }
}
