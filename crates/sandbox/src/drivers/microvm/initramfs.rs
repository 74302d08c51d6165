//! The guest's files as the kernel takes them from its boot loader: a cpio archive ("newc"),
//! unpacked into memory. Written here and not by a tool, so that it holds the agent of this very
//! program.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::vmm::Port;
use super::vsock;
use crate::proxy::AUTHORITIES;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const DEVICE: u32 = 0o020_000;
const LINK: u32 = 0o120_000;
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
/// The guest's first program: mounts what programs expect, loads the modules, and becomes the
/// agent. When the agent ends, the kernel has no init process left, and the machine ends.
const INIT: &str = "#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=1777 tmp /tmp
ip link set lo up
for module in MODULES; do insmod /$module; done
export PATH=/usr/local/bin:/usr/bin:/bin HOME=/work PIP_BREAK_SYSTEM_PACKAGES=1
exec /agent --port=PORT
";

#[derive(Clone, Copy, Debug)]
pub(super) struct Programs<'a> {
    pub(super) agent: &'a [u8],
    /// Lies at `/.hearth/typescript`.
    pub(super) typescript: &'a [u8],
}

/// How the agent is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgentAccess<'a> {
    pub(super) port: Port,
    /// Where the kernel's modules are.
    pub(super) modules: &'a Path,
}

/// The kernel modules for that, each after its dependencies.
pub(super) fn modules(port: Port) -> &'static [&'static str] {
    match port {
        Port::Serial => &["virtio_mmio.ko"],
        Port::Vsock => {
            &["virtio_mmio.ko", "vsock.ko", "vmw_vsock_virtio_transport_common.ko", "vmw_vsock_virtio_transport.ko"]
        }
    }
}

fn init(port: Port) -> String {
    let name = match port {
        Port::Serial => "/dev/vport0p1".to_owned(),
        Port::Vsock => format!("vsock:{}", vsock::PORT),
    };
    INIT.replace("MODULES", &modules(port).join(" ")).replace("PORT", &name)
}

/// Writes an archive with everything below `root`, the programs and the modules, which replace
/// files of `root` with their names. Where `root` has no certificates, the machine's are added.
pub(super) fn write(to: &File, root: &Path, way: AgentAccess<'_>, programs: Programs<'_>) -> io::Result<()> {
    let modules = modules(way.port);
    let own = [&["init", "agent", ".hearth"], modules].concat();
    let mut archive = Archive { to: BufWriter::new(to), entries: 0, own };
    archive.folder(root, Path::new(""))?;
    archive.add_certificates(root)?;
    archive.entry(b"init", REGULAR | 0o755, init(way.port).as_bytes(), 0)?;
    archive.entry(b"agent", REGULAR | 0o755, programs.agent, 0)?;
    archive.entry(b".hearth", DIRECTORY | 0o755, b"", 0)?;
    archive.entry(b".hearth/typescript", REGULAR | 0o755, programs.typescript, 0)?;
    for module in modules {
        archive.entry(module.as_bytes(), REGULAR | 0o644, &fs::read(way.modules.join(module))?, 0)?;
    }
    // The kernel opens it for the first program, before there is a /dev.
    archive.entry(b"dev/console", DEVICE | 0o600, b"", (5 << 8) | 1)?;
    archive.entry(b"TRAILER!!!", 0, b"", 0)?;
    archive.to.flush()
}

struct Archive<'a> {
    to: BufWriter<&'a File>,
    entries: u32,
    /// Names that are not taken from `root`.
    own: Vec<&'static str>,
}

impl Archive<'_> {
    /// All that is in the folder, each folder before its contents. Owner and times are not kept:
    /// root owns all.
    fn folder(&mut self, folder: &Path, name: &Path) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), name.join(entry.file_name()));
            if self.own.iter().any(|own| name.as_os_str() == *own) {
                continue;
            }
            let metadata = fs::symlink_metadata(&path)?;
            let bytes = name.as_os_str().as_bytes();
            let kind = metadata.file_type();
            if kind.is_dir() {
                self.entry(bytes, DIRECTORY | (metadata.mode() & 0o7777), b"", 0)?;
                self.folder(&path, &name)?;
            } else if kind.is_symlink() {
                self.entry(bytes, metadata.mode(), fs::read_link(&path)?.as_os_str().as_bytes(), 0)?;
            } else if kind.is_file() {
                let mut contents = Vec::new();
                File::open(&path)?.read_to_end(&mut contents)?;
                self.entry(bytes, REGULAR | (metadata.mode() & 0o7777), &contents, 0)?;
            }
        }
        Ok(())
    }

    /// Adds the machine's certificates, for the programs inside.
    fn add_certificates(&mut self, root: &Path) -> io::Result<()> {
        let lacks = |name: &str| fs::symlink_metadata(root.join(name)).is_err();
        let Some(certificates) = AUTHORITIES.iter().find_map(|path| fs::read(path).ok()) else { return Ok(()) };
        if !lacks("etc/ssl") {
            return Ok(());
        }
        for folder in ["etc", "etc/ssl", "etc/ssl/certs"].into_iter().filter(|folder| lacks(folder)) {
            self.entry(folder.as_bytes(), DIRECTORY | 0o755, b"", 0)?;
        }
        self.entry(CERTIFICATES.as_bytes(), REGULAR | 0o644, &certificates, 0)?;
        // Debian's OpenSSL looks for them here.
        if root.join("usr/lib").is_dir() && lacks("usr/lib/ssl") {
            self.entry(b"usr/lib/ssl", DIRECTORY | 0o755, b"", 0)?;
            self.entry(b"usr/lib/ssl/cert.pem", LINK | 0o777, format!("/{CERTIFICATES}").as_bytes(), 0)?;
        }
        Ok(())
    }

    fn entry(&mut self, name: &[u8], mode: u32, contents: &[u8], device: u32) -> io::Result<()> {
        self.entries += 1;
        let too_long = |_| io::Error::new(io::ErrorKind::FileTooLarge, String::from_utf8_lossy(name).into_owned());
        let length = u32::try_from(contents.len()).map_err(too_long)?;
        let name_length = name.len() as u32 + 1;
        // Inode, mode, owner, group, links, time, length, device (two), as a device (two), length
        // of the name, checksum.
        let head = [self.entries, mode, 0, 0, 1, 0, length, 0, 0, device >> 8, device & 0xff, name_length, 0];
        self.to.write_all(b"070701")?;
        for number in head {
            write!(self.to, "{number:08x}")?;
        }
        self.to.write_all(name)?;
        self.pad(6 + 8 * head.len() + name.len(), 1)?;
        self.to.write_all(contents)?;
        self.pad(contents.len(), 0)
    }

    /// At least `least` zeros, to the next multiple of four.
    fn pad(&mut self, written: usize, least: usize) -> io::Result<()> {
        let zeros = least + (4 - (written + least) % 4) % 4;
        self.to.write_all(&[0; 4][..zeros])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Seek;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Names, modes and contents, read back as the kernel reads them.
    fn read(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let (mut at, mut found) = (0, Vec::new());
        loop {
            assert_eq!(&archive[at..at + 6], b"070701");
            let field = |n: usize| {
                let text = std::str::from_utf8(&archive[at + 6 + 8 * n..at + 14 + 8 * n]).unwrap();
                u32::from_str_radix(text, 16).unwrap() as usize
            };
            let (mode, length, name_length) = (field(1), field(6), field(11));
            let name = String::from_utf8(archive[at + 110..at + 110 + name_length - 1].to_vec()).unwrap();
            let start = (at + 110 + name_length).next_multiple_of(4);
            if name == "TRAILER!!!" {
                return found;
            }
            found.push((name, mode as u32, archive[start..start + length].to_vec()));
            at = (start + length).next_multiple_of(4);
        }
    }

    #[test]
    fn what_is_in_a_folder_is_in_the_archive() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        fs::write(root.path().join("usr/bin/a"), b"12345").unwrap();
        fs::write(root.path().join("init"), b"not this one").unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        symlink("usr/bin", root.path().join("bin")).unwrap();
        let modules = tempfile::tempdir().unwrap();
        for name in super::modules(Port::Vsock) {
            fs::write(modules.path().join(name), b"m").unwrap();
        }
        let mut file = tempfile::tempfile().unwrap();
        let programs = Programs { agent: b"the agent", typescript: b"the other" };
        write(&file, root.path(), AgentAccess { port: Port::Vsock, modules: modules.path() }, programs).unwrap();
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let found = read(&bytes);
        let get = |name: &str| found.iter().find(|(found, ..)| found == name).unwrap();
        assert_eq!(get("usr/bin/a").2, b"12345");
        assert_eq!(get("bin").2, b"usr/bin");
        assert_eq!(get("usr").1 & 0o170_000, DIRECTORY);
        assert_eq!(get("agent").2, b"the agent");
        assert_eq!(get(".hearth/typescript").2, b"the other");
        assert_eq!(get("dev/console").1, DEVICE | 0o600);
        assert_eq!(get("vsock.ko").2, b"m");
        // Some machines have no certificates.
        if let Some(trusted) = AUTHORITIES.iter().find_map(|path| fs::read(path).ok()) {
            assert!(get(CERTIFICATES).2 == trusted);
        }
        let init = String::from_utf8(get("init").2.clone()).unwrap();
        assert!(init.starts_with("#!/bin/sh"));
        assert!(init.contains("for module in virtio_mmio.ko vsock.ko vmw_vsock_virtio_transport_common.ko "));
        assert!(init.ends_with("exec /agent --port=vsock:52\n"));
        assert_eq!(found.iter().filter(|(name, ..)| name == "init").count(), 1);
    }
}
