//! Sandboxes behind a kernel written in Go: gVisor's `runsc`. What a program asks of the system is answered by that kernel,
//! which itself may ask little of the machine's. Slower to start and at file work than `process`, and harder to leave.
//!
//! The agent is the first process; its connection is the standard input that `runsc` was given. The files are the machine's
//! own system, read-only, or those of an image; what is written is in memory. There is no network.
//!
//! All of it lies below one folder for each server, `FOLDER/PID`: the state that `runsc` keeps, a root that all sandboxes
//! share, and a bundle for each. What belongs to a server that is no more is swept.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use hearth_jail::sandbox::cgroup::{Groups, Hierarchies};
use hearth_jail::sandbox::{Network, Plan};
use serde_json::{Value, json};

use super::blocking::{asynchronous, blocking};
use crate::driver::{
    BootError, BootSpec, Booted, BoxFuture, DestroyError, Driver, DriverName, Image, Instance, Probe, Reach,
    Unavailable, Usage,
};

pub const NAME: DriverName = DriverName("gvisor");

/// The kernel in Go needs threads of its own, beside those of the programs.
const PROCESSES: u32 = 2048;
/// What the kernel in Go takes for itself, beside the programs' memory.
const OWN_MEMORY: ByteSize = ByteSize::mb(96);

pub struct GVisor {
    runsc: Option<PathBuf>,
    folder: PathBuf,
    hierarchies: Hierarchies,
}

impl GVisor {
    /// `folder` is for what it keeps while it runs; several servers may have the same.
    pub fn new(folder: &Path) -> Self {
        let places = ["/usr/local/bin/runsc", "/usr/bin/runsc", "/usr/local/sbin/runsc", "/usr/sbin/runsc"];
        let runsc = places.iter().map(PathBuf::from).find(|path| path.exists());
        Self::with(runsc, folder)
    }

    /// The same with that `runsc`.
    pub fn with(runsc: Option<PathBuf>, folder: &Path) -> Self {
        Self { runsc, folder: folder.to_owned(), hierarchies: Hierarchies::find() }
    }

    fn own(&self) -> PathBuf {
        self.folder.join(std::process::id().to_string())
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let Some(runsc) = self.runsc.clone() else { return Err(BootError { reason: "there is no runsc".to_owned() }) };
        let plan = Plan {
            name: format!("gvisor-{}", spec.id),
            memory: spec.shape.memory.bytes() + OWN_MEMORY.bytes(),
            millicpus: u32::from(spec.shape.cpus) * 1000,
            processes: PROCESSES,
            disk: spec.shape.memory.bytes() / 2,
            image: None,
            network: Network::Loopback,
        };
        let groups = self.hierarchies.groups(std::process::id(), &plan.name);
        let container = Container { runsc, own: self.own(), name: spec.id.to_string() };
        let image = spec.image.clone();
        let (running, agent) = blocking(move || container.start(&image, &plan, groups)).await?;
        Ok(Booted { instance: Box::new(running), agent: Box::new(asynchronous(agent)?), uplink: None })
    }
}

impl Driver for GVisor {
    fn name(&self) -> DriverName {
        NAME
    }

    fn reach(&self) -> Reach {
        Reach::Nothing
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        Box::pin(async {
            let no = |reason: String| Err(Unavailable { driver: NAME, reason });
            let Some(runsc) = &self.runsc else {
                return no("there is no runsc: install gVisor (Debian's package runsc, of 2024 or later)".to_owned());
            };
            let version = Command::new(runsc).arg("--version").output();
            let version = match version {
                Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
                Ok(output) => return no(format!("{} does not work: {}", runsc.display(), output.status)),
                Err(error) => return no(format!("{} cannot be started: {error}", runsc.display())),
            };
            let version = version.lines().next().unwrap_or_default().to_owned();
            let notes = self.hierarchies.missing.iter().map(|why| format!("limits are missing: {why}")).collect();
            Ok(Probe { summary: format!("{version} (systrap)"), notes })
        })
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        let (runsc, folder) = (self.runsc.clone(), self.folder.clone());
        Box::pin(async {
            let swept = tokio::task::spawn_blocking(move || runsc.map_or(0, |runsc| sweep(&runsc, &folder)));
            swept.await.unwrap_or_default()
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        let own = self.own();
        // There may be none.
        Box::pin(async move { drop(tokio::task::spawn_blocking(move || fs::remove_dir_all(own)).await) })
    }
}

/// One sandbox, as `runsc` knows it.
#[derive(Clone)]
struct Container {
    runsc: PathBuf,
    own: PathBuf,
    name: String,
}

impl Container {
    fn start(self, image: &Image, plan: &Plan, groups: Groups) -> io::Result<(Running, UnixStream)> {
        let root = match image {
            Image::Host => self.shared_root()?,
            Image::Folder(folder) => folder.clone(),
        };
        let bundle = self.bundle();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&bundle)?;
        fs::write(
            bundle.join("config.json"),
            specification(image, &root, &self.own.join("programs"), plan).to_string(),
        )?;
        let programs = self.own.join("programs");
        install(&programs)?;
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = self.command();
        command.arg("run").arg("--bundle").arg(&bundle).arg(&self.name);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn();
        // It holds the other side of our socket.
        drop(command);
        let running = Running { child: Mutex::new(Some(child?)), container: self, groups };
        let pid = running.lock().as_ref().map_or(0, Child::id);
        // Before it has had the time to start anything.
        running.groups.enter(plan, i32::try_from(pid).unwrap_or_default())?;
        Ok((running, ours))
    }

    fn bundle(&self) -> PathBuf {
        self.own.join("bundles").join(&self.name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.runsc);
        command.env_clear().arg("--root").arg(self.own.join("state"));
        command.args(["--network=none", "--ignore-cgroups", "--platform=systrap", "--host-uds=none"]);
        command
    }

    /// What all have that are made of the machine's own system: the names of its folders.
    fn shared_root(&self) -> io::Result<PathBuf> {
        let root = self.own.join("root");
        if root.exists() {
            return Ok(root);
        }
        let made = self.own.join(format!("root-{}", self.name));
        for name in ["usr", "proc", "dev", "tmp", "work", "etc"] {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(made.join(name))?;
        }
        for name in ["bin", "sbin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), made.join(name))?;
        }
        fs::write(made.join("etc/passwd"), "root:x:0:0:root:/work:/bin/sh\n")?;
        fs::write(made.join("etc/group"), "root:x:0:\n")?;
        fs::write(made.join("etc/hosts"), "127.0.0.1 localhost\n")?;
        // Programs start without it, only slower.
        let _ = fs::copy("/etc/ld.so.cache", made.join("etc/ld.so.cache"));
        match fs::rename(&made, &root) {
            // Somebody was faster.
            Err(_) if root.exists() => fs::remove_dir_all(&made).map(|()| root),
            renamed => renamed.map(|()| root),
        }
    }

    /// Ends what a server that is no more has left, whatever state it is in.
    fn delete(&self) -> io::Result<()> {
        let deleted = self.command().args(["delete", "--force"]).arg(&self.name).stdin(Stdio::null()).output()?;
        self.forget();
        match deleted.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(String::from_utf8_lossy(&deleted.stderr).trim().to_owned())),
        }
    }

    /// Removes what is kept of it.
    fn forget(&self) {
        // There may be none.
        let _ = fs::remove_dir_all(self.bundle());
        for file in fs::read_dir(self.own.join("state")).into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(&self.name) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Dropping it ends it, too.
struct Running {
    child: Mutex<Option<Child>>,
    container: Container,
    groups: Groups,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Option<Child>> {
        // Nothing that can panic runs under this lock.
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance for Running {
    fn is_alive(&self) -> bool {
        self.lock().as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn usage(&self) -> Usage {
        let used = self.groups.usage();
        let memory = used.memory.map(|bytes| ByteSize::kb(bytes >> 10));
        // Threads of the kernel in Go are no processes of the sandbox's.
        Usage { memory, processes: None, cpu: used.cpu }
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        let child = self.lock().take();
        let (container, groups) = (self.container.clone(), self.groups.clone());
        Box::pin(async move {
            let Some(child) = child else { return Ok(()) };
            let ended = tokio::task::spawn_blocking(move || end(child, &container, &groups)).await;
            let wrong = |reason: String| DestroyError { reason };
            ended.map_err(|error| wrong(error.to_string()))?.map_err(|error| wrong(error.to_string()))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = self.lock().take() {
            let (container, groups) = (self.container.clone(), self.groups.clone());
            // Takes its time, and who drops it has none. What goes wrong is swept by the next server.
            std::thread::spawn(move || end(child, &container, &groups));
        }
    }
}

/// Kills all of it: `runsc` itself can take many seconds over it.
fn end(mut child: Child, container: &Container, groups: &Groups) -> io::Result<()> {
    let family = descendants(child.id());
    // Who has ended already need not be killed.
    let _ = child.kill();
    for pid in family.into_iter().filter_map(|pid| rustix::process::Pid::from_raw(pid as i32)) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    child.wait()?;
    container.forget();
    groups.remove();
    Ok(())
}

/// The processes below this one, children before their own.
fn descendants(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    let mut at = 0;
    while at < found.len() {
        let children = format!("/proc/{0}/task/{0}/children", found[at]);
        let children = fs::read_to_string(children).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    found.split_off(1)
}

/// The agent, as a file in a folder of its own.
fn install(folder: &Path) -> io::Result<()> {
    let agent = folder.join("agent");
    if agent.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let part = folder.join(format!("agent-{:?}", std::thread::current().id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&part)?;
    io::Write::write_all(&mut file, hearth_agent_image::AGENT)?;
    drop(file);
    fs::rename(part, agent)
}

/// What `runsc` is told, as the Open Container Initiative has it.
fn specification(image: &Image, root: &Path, programs: &Path, plan: &Plan) -> Value {
    let memory = |to: &str| {
        let size = format!("size={}", plan.disk);
        json!({ "destination": to, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", size] })
    };
    let read_only = |from: &Path, to: &str| json!({ "destination": to, "type": "bind", "source": from, "options": ["ro", "rbind"] });
    let mut mounts = vec![
        json!({ "destination": "/proc", "type": "proc", "source": "proc" }),
        json!({ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" }),
        memory("/tmp"),
        memory("/work"),
        read_only(programs, "/.hearth"),
    ];
    if *image == Image::Host {
        mounts.push(read_only(Path::new("/usr"), "/usr"));
    }
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({ "type": kind }));
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "user": { "uid": 0, "gid": 0 },
            "args": ["/.hearth/agent"],
            "env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/work"],
            "cwd": "/work",
            "capabilities": { "bounding": [], "effective": [], "permitted": [] },
            "noNewPrivileges": true,
        },
        "root": { "path": root, "readonly": true },
        "hostname": "sandbox",
        "mounts": mounts,
        "linux": { "namespaces": namespaces },
    })
}

/// Ends the sandboxes of servers that are no more.
fn sweep(runsc: &Path, folder: &Path) -> usize {
    let Ok(servers) = fs::read_dir(folder) else { return 0 };
    let mut swept = 0;
    for server in servers.flatten() {
        let own = server.path();
        let pid = server.file_name();
        if Path::new("/proc").join(&pid).exists() || pid.to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        for bundle in fs::read_dir(own.join("bundles")).into_iter().flatten().flatten() {
            let name = bundle.file_name().to_string_lossy().into_owned();
            let container = Container { runsc: runsc.to_owned(), own: own.clone(), name };
            if let Err(error) = container.delete() {
                tracing::debug!(%error, "A sandbox of an earlier server was gone already");
            }
            swept += 1;
        }
        // What is left of it is tried again by the next server.
        let _ = fs::remove_dir_all(&own);
    }
    swept
}
