//! The root file system that all sandboxes of an image copy: prepared once by the spawner, in a
//! mount namespace of its own. A copy is one system call.
//!
//! Of the machine's own system a sandbox gets `/usr`, the links to it, and of `/etc` what programs and libraries cannot do
//! without; all of it read-only. Passwords, keys, home folders, sockets and devices are not among it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use super::mounts::{self, MountRestriction};
use super::protocol::SandboxNetwork;
use super::{SpawnError, Step};

/// The spawner hides this folder under its templates. Nothing in it is of use to a sandbox.
const BUILD_DIRS: [&str; 2] = ["/run", "/tmp"];

/// Names in the root of the machine that are part of its system.
const SYSTEM_DIRS: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Entries of `/etc` that are world-readable, and the same for every user.
const ETC_ENTRIES: [&str; 12] = [
    "alternatives",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "ld.so.cache",
    "localtime",
    "magic",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "ssl/certs",
];
const OPENSSL: &str = "ssl/openssl.cnf";
/// Of every version that there is.
const PYTHON_PREFIX: &str = "python3";

const PASSWD: &str = "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nsandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n\
                      nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n";
const HOSTS: &str = "127.0.0.1 localhost sandbox\n::1 localhost\n";
/// No resolver: a name that is asked for fails at once instead of after a time.
const RESOLV: &str = "# No network.\n";
const NSSWITCH: &str = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";

/// Names and numbers.
const DEVICES: [(&str, u32, u32); 6] =
    [("full", 1, 7), ("null", 1, 3), ("random", 1, 8), ("tty", 5, 0), ("urandom", 1, 9), ("zero", 1, 5)];
/// Folders that each sandbox fills for itself.
pub const PRIVATE_DIRS: [&str; 4] = ["work", "tmp", "home", "dev/shm"];
/// Among them: memory that programs share by names.
pub const SHM_DIR: &str = "dev/shm";
/// Where the programs lie that Hearth brings along.
const PROGRAM_DIR: &str = ".hearth";
/// A file in which there is nothing, and which covers others.
pub const EMPTY_FILE: &str = ".hearth/empty";

/// Where templates lie in the spawner's namespace, and where a child puts its root together.
pub struct RootfsBuilder {
    pub folder: PathBuf,
    typescript: &'static [u8],
    count: usize,
}

/// A finished root file system.
#[derive(Clone, Debug)]
pub struct RootfsTemplate {
    pub root: PathBuf,
    /// A folder where a child mounts its copy.
    pub stage: PathBuf,
    /// A folder where a child mounts what it can write to.
    pub disk: PathBuf,
}

impl RootfsBuilder {
    /// In a mount namespace of the caller's own.
    pub fn new(typescript: &'static [u8]) -> Result<Self, SpawnError> {
        let folder = BUILD_DIRS.iter().map(PathBuf::from).find(|folder| folder.is_dir()).ok_or_else(|| SpawnError {
            step: "a folder for the root file system",
            error: io::ErrorKind::NotFound.into(),
        })?;
        mounts::tmpfs(&folder, "mode=755,size=16m").step("a root file system in memory")?;
        for name in ["stage", "disk"] {
            fs::create_dir(folder.join(name)).step("a folder for the root file system")?;
        }
        Ok(Self { folder, typescript, count: 0 })
    }

    /// Prepares a root file system: of the machine's own system, or of a folder.
    pub fn template(&mut self, image: Option<&Path>, network: SandboxNetwork) -> Result<RootfsTemplate, SpawnError> {
        let root = self.new_root()?;
        match image {
            None => {
                bind_system_dirs(&root, &SYSTEM_DIRS).step("the machine's /usr")?;
                write_etc(&root, network).step("the files in /etc")?;
            }
            Some(image) => bind_image(image, &root).step("the image's folder")?,
        }
        write_programs(&root, self.typescript).step("the programs beside the agent")?;
        bind_devices(&root).step("the devices")?;
        for name in PRIVATE_DIRS.iter().chain(&["proc", "run", "var"]) {
            fs::create_dir_all(root.join(name)).step("the folders of the root file system")?;
        }
        if !root.join("var/tmp").exists() && !is_mount(&root.join("var")) {
            symlink("/tmp", root.join("var/tmp")).step("the folders of the root file system")?;
        }
        self.finish(root)
    }

    /// A root file system with nothing in it.
    pub fn new_root(&mut self) -> Result<PathBuf, SpawnError> {
        self.count += 1;
        let root = self.folder.join(self.count.to_string());
        fs::create_dir(&root).step("a folder for the root file system")?;
        mounts::tmpfs(&root, "mode=755,size=16m").step("a root file system in memory")?;
        // Everything below is made in it: were it not there, it would be made on the machine.
        match is_mount(&root) {
            true => Ok(root),
            false => Err(SpawnError { step: "a root file system in memory", error: io::ErrorKind::NotFound.into() }),
        }
    }

    /// Makes it read-only.
    pub fn finish(&self, root: PathBuf) -> Result<RootfsTemplate, SpawnError> {
        mounts::restrict(&root, MountRestriction::ReadOnlyWithDevices).step("a read-only root file system")?;
        Ok(RootfsTemplate { root, stage: self.folder.join("stage"), disk: self.folder.join("disk") })
    }
}

/// Folders of the machine's system, by their names in its root.
pub fn bind_system_dirs(root: &Path, names: &[&str]) -> io::Result<()> {
    for name in names {
        let (here, there) = (Path::new("/").join(name), root.join(name));
        match fs::symlink_metadata(&here) {
            Ok(meta) if meta.is_symlink() => symlink(fs::read_link(&here)?, there)?,
            Ok(meta) if meta.is_dir() => bind(&here, &there, MountRestriction::ReadOnly)?,
            _ => {}
        }
    }
    Ok(())
}

fn write_etc(root: &Path, network: SandboxNetwork) -> io::Result<()> {
    let etc = root.join("etc");
    fs::create_dir(&etc)?;
    for (name, text) in [("passwd", PASSWD), ("group", GROUP), ("hostname", "sandbox\n"), ("nsswitch.conf", NSSWITCH)] {
        fs::write(etc.join(name), text)?;
    }
    for (name, own) in [("hosts", HOSTS), ("resolv.conf", RESOLV)] {
        let text = match network {
            SandboxNetwork::Loopback => own.to_owned(),
            SandboxNetwork::Host => fs::read_to_string(Path::new("/etc").join(name)).unwrap_or_else(|_| own.to_owned()),
        };
        fs::write(etc.join(name), text)?;
    }
    symlink("/proc/mounts", etc.join("mtab"))?;
    fs::create_dir(etc.join("ssl"))?;
    let pythons = fs::read_dir("/etc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pythons = pythons.filter(|name| name.starts_with(PYTHON_PREFIX));
    for name in ETC_ENTRIES.into_iter().chain([OPENSSL]).map(str::to_owned).chain(pythons) {
        let (here, there) = (Path::new("/etc").join(&name), etc.join(&name));
        match fs::symlink_metadata(&here) {
            // Links lead into /usr or to each other.
            Ok(meta) if meta.is_symlink() => symlink(fs::read_link(&here)?, there)?,
            Ok(meta) if meta.is_dir() => bind(&here, &there, MountRestriction::ReadOnly)?,
            Ok(meta) if meta.is_file() => drop(fs::copy(&here, &there)?),
            _ => {}
        }
    }
    Ok(())
}

/// All of an image but what each sandbox has of its own.
fn bind_image(image: &Path, root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(image)? {
        let entry = entry?;
        let name = entry.file_name();
        if ["dev", "proc", "sys", "run", "tmp", "work", "home", PROGRAM_DIR].iter().any(|own| name == *own) {
            continue;
        }
        let (here, there) = (entry.path(), root.join(&name));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&here)?, there)?;
        } else if kind.is_dir() {
            bind(&here, &there, MountRestriction::ReadOnly)?;
        }
    }
    Ok(())
}

fn write_programs(root: &Path, typescript: &[u8]) -> io::Result<()> {
    let folder = root.join(PROGRAM_DIR);
    fs::create_dir(&folder)?;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(folder.join("typescript"))?;
    file.write_all(typescript)?;
    new_file(&root.join(EMPTY_FILE))
}

/// An empty file where there is nothing yet. What is there is never opened, let alone emptied: it may be bound from elsewhere.
pub fn new_file(at: &Path) -> io::Result<()> {
    File::create_new(at).map(drop)
}

fn bind_devices(root: &Path) -> io::Result<()> {
    let dev = root.join("dev");
    fs::create_dir_all(&dev)?;
    for (name, major, minor) in DEVICES {
        let there = dev.join(name);
        new_file(&there)?;
        bind_char_device(&Path::new("/dev").join(name), Some(libc::makedev(major, minor)), &there)?;
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        symlink(target, dev.join(name))?;
    }
    Ok(())
}

/// A folder, with all that is in it.
pub fn bind(here: &Path, there: &Path, restriction: MountRestriction) -> io::Result<()> {
    fs::create_dir_all(there)?;
    bind_to(here, there, restriction)
}

/// The same where there is something of its kind to be covered.
pub fn bind_to(here: &Path, there: &Path, restriction: MountRestriction) -> io::Result<()> {
    // By descriptor: what is bound is what was looked at, wherever its path leads by now.
    let source = open_path(here)?;
    mounts::bind(Path::new(&format!("/proc/self/fd/{}", source.as_raw_fd())), there)?;
    mounts::restrict(there, restriction)
}

/// The machine's own node, which must be a device, and that one where a number is named: a file in its place would be
/// shared by all sandboxes.
pub fn bind_char_device(here: &Path, number: Option<libc::dev_t>, there: &Path) -> io::Result<()> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let node = fs::OpenOptions::new().read(true).custom_flags(flags).open(here)?;
    let meta = node.metadata()?;
    if !meta.file_type().is_char_device() || number.is_some_and(|number| number != meta.rdev()) {
        return Err(io::Error::other(format!("{} is not the device that it must be", here.display())));
    }
    mounts::bind(Path::new(&format!("/proc/self/fd/{}", node.as_raw_fd())), there)
}

impl RootfsTemplate {
    /// Whether its devices are what they were bound from; a machine's own may be replaced while we run.
    pub fn devices_intact(&self) -> bool {
        DEVICES.iter().all(|(name, major, minor)| {
            let meta = fs::symlink_metadata(self.root.join("dev").join(name));
            meta.is_ok_and(|meta| meta.file_type().is_char_device() && meta.rdev() == libc::makedev(*major, *minor))
        })
    }
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).map(OwnedFd::from)
}

fn is_mount(path: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev()).ok();
    path.parent().is_some_and(|parent| device(path) != device(parent))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_not_bound_as_one_and_what_is_there_is_not_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let (file, there) = (folder.path().join("null"), folder.path().join("there"));
        fs::write(&file, "content").unwrap();
        let error = bind_char_device(&file, Some(libc::makedev(1, 3)), &there).unwrap_err();
        assert!(error.to_string().contains("not the device"), "{error}");
        symlink("/dev/null", folder.path().join("link")).unwrap();
        assert!(bind_char_device(&folder.path().join("link"), None, &there).is_err(), "links are not followed");
        let other = bind_char_device(Path::new("/dev/zero"), Some(libc::makedev(1, 3)), &there).unwrap_err();
        assert!(other.to_string().contains("not the device"), "{other}");
        assert_eq!(new_file(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&file).unwrap(), "content");
    }
}
