//! DiskPool of sandboxes: each is a file system of its own (ext4) in a file without a name, mounted for the spawner and its
//! sandboxes alone. Its size is the file's, so a sandbox cannot write more than that, nor more files than the file system has;
//! and only what is written takes room on the machine. Nothing is ever removed file by file: when the last mount goes the file
//! is gone, with all that was in it, also when the spawner is killed.
//!
//! Not quotas: they need a kernel and a file system that were made for them, which many machines do not have. What this needs
//! is root, loop devices and `mkfs.ext4`; where one of them is missing, sandboxes write into memory.
//!
//! A file system of a size is made once and then copied: a hundred kilobytes. One disk more than were asked for is ready.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::mounts;

const MKFS_PATHS: [&str; 3] = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4", "/usr/bin/mkfs.ext4"];
/// No journal: what a crash leaves half-written is gone anyway. Tables of files are zeros, and need not be written as such.
const MKFS_ARGS: [&str; 9] = [
    "-q",
    "-F",
    "-m0",
    "-i16384",
    "-O",
    "^has_journal,^resize_inode",
    "-E",
    "lazy_itable_init=1,nodiscard,root_owner=0:0",
    "/proc/self/fd/0",
];
/// What is removed makes room on the machine again. Tables of files are not written in the background.
const MOUNT_OPTIONS: &str = "discard,noinit_itable";
/// A file system that takes more than this is in a file without holes.
const MAX_IMAGE_BYTES: usize = 32 << 20;
/// A disk is not made where less than this part of it is free on the machine.
const MIN_FREE_DIVISOR: u64 = 8;
/// Where the magic number of the file system is, and what it is.
const EXT4_MAGIC: (u64, [u8; 2]) = (1080, [0x53, 0xef]);
const LOOP_CONTROL: &str = "/dev/loop-control";
const LOOP_MAJOR: u32 = 7;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Another process may take the device that was free.
const MAX_ATTACH_TRIES: u32 = 20;
/// Ends all writing to a file system at once; what was not written is dropped.
const EXT4_IOC_SHUTDOWN: libc::c_ulong = 0x8004_587D;
const SHUTDOWN_NO_FLUSH: u32 = 2;
/// Folders that a sandbox has of its own on it, as in `template.rs`.
pub const FOLDERS: [&str; 3] = ["work", "tmp", "home/sandbox"];

pub struct DiskPool {
    /// Where the files are.
    folder: File,
    /// Where disks are mounted, in the spawner's namespace.
    mounts: PathBuf,
    /// For device nodes of our own.
    nodes: PathBuf,
    /// File systems with nothing in them, by size.
    images: HashMap<u64, EmptyImage>,
    ready: HashMap<u64, Disk>,
    count: u64,
}

/// A disk, mounted.
#[derive(Debug)]
pub struct Disk {
    pub at: PathBuf,
}

/// What of an empty file system is not zero.
struct EmptyImage {
    pieces: Vec<(u64, Vec<u8>)>,
}

/// The kernel's `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    file: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// The kernel's `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl DiskPool {
    /// `workshop` is a folder in this process's own mount namespace. The error says why there can
    /// be no disks.
    pub fn new(folder: File, workshop: &Path) -> io::Result<Self> {
        let (mounts, nodes) = (workshop.join("disks"), workshop.join("nodes"));
        fs::create_dir(&mounts)?;
        fs::create_dir(&nodes)?;
        mounts::tmpfs_for_devices(&nodes)?;
        let mut disks = Self { folder, mounts, nodes, images: HashMap::new(), ready: HashMap::new(), count: 0 };
        let trial = disks.make(16 << 20)?;
        trial.release();
        Ok(disks)
    }

    /// One of that size, whose folders belong to that user.
    pub fn take(&mut self, size: u64, owner: (u32, u32)) -> io::Result<Disk> {
        let disk = match self.ready.remove(&size) {
            Some(disk) => disk,
            None => self.make(size)?,
        };
        match disk.chown_folders(owner) {
            Ok(()) => Ok(disk),
            Err(error) => {
                disk.release();
                Err(error)
            }
        }
    }

    pub fn has_ready(&self, size: u64) -> bool {
        self.ready.contains_key(&size)
    }

    /// Makes one ahead, of the size that was requested last: ready ones of other sizes would not be
    /// used.
    pub fn prepare(&mut self, size: u64) -> io::Result<()> {
        let disk = self.make(size)?;
        for (_, other) in self.ready.drain() {
            other.release();
        }
        self.ready.insert(size, disk);
        Ok(())
    }

    fn make(&mut self, size: u64) -> io::Result<Disk> {
        self.check_free_space(size)?;
        let file = self.unnamed_file(size)?;
        match self.images.entry(size) {
            Entry::Occupied(image) => image.get().copy_to(&file)?,
            Entry::Vacant(place) => {
                place.insert(EmptyImage::make(&file, size)?);
            }
        }
        self.count += 1;
        let at = self.mounts.join(self.count.to_string());
        fs::create_dir(&at)?;
        let mounted = self.attach_loop_device(&file).and_then(|(device, node)| {
            let mounted = mounts::ext4(&node, &at, MOUNT_OPTIONS);
            // Detaches by itself with its last user, which is the mount by now.
            drop(device);
            let _ = fs::remove_file(node);
            mounted
        });
        mounted.inspect_err(|_| drop(fs::remove_dir(&at)))?;
        let disk = Disk { at };
        match disk.create_folders() {
            Ok(()) => Ok(disk),
            Err(error) => {
                disk.release();
                Err(error)
            }
        }
    }

    fn check_free_space(&self, size: u64) -> io::Result<()> {
        // SAFETY: all zeros is a valid answer, which the call fills in; the descriptor is open.
        let free = unsafe {
            let mut answer: libc::statvfs = std::mem::zeroed();
            match libc::fstatvfs(self.folder.as_raw_fd(), &raw mut answer) {
                0 => answer.f_bavail * answer.f_frsize,
                _ => return Err(io::Error::last_os_error()),
            }
        };
        match free >= size / MIN_FREE_DIVISOR {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("the machine's disk has only {} MB left for sandboxes' disks of {} MB", free >> 20, size >> 20),
            )),
        }
    }

    /// A file that is gone with its last user.
    fn unnamed_file(&self, size: u64) -> io::Result<File> {
        let here = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        let mut options = File::options();
        let file = options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(here)?;
        file.set_len(size)?;
        Ok(file)
    }

    /// A device of our own for the file, and a node of our own for the device: none of the machine's is needed for it.
    fn attach_loop_device(&self, file: &File) -> io::Result<(OwnedFd, PathBuf)> {
        let control = File::options().read(true).write(true).open(LOOP_CONTROL)?;
        let mut tries = 0;
        loop {
            // SAFETY: takes no argument; the descriptor is open.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            let number = u32::try_from(number).map_err(|_| io::Error::last_os_error())?;
            let node = self.nodes.join(number.to_string());
            make_node(&node, libc::makedev(LOOP_MAJOR, number))?;
            let device = File::options().read(true).write(true).open(&node)?;
            match configure(&device, file, LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO)
                .or_else(|_| configure(&device, file, LO_FLAGS_AUTOCLEAR))
            {
                Ok(()) => return Ok((device.into(), node)),
                Err(error) => {
                    let _ = fs::remove_file(&node);
                    tries += 1;
                    if tries == MAX_ATTACH_TRIES || error.raw_os_error() != Some(libc::EBUSY) {
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn make_node(at: &Path, number: libc::dev_t) -> io::Result<()> {
    let path = mounts::c_path(at)?;
    // SAFETY: the path is a string that ends in a zero and lives to the end of the call.
    match unsafe { libc::mknod(path.as_ptr(), libc::S_IFBLK | 0o600, number) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn configure(device: &File, file: &File, flags: u32) -> io::Result<()> {
    // SAFETY: all zeros is a valid configuration: no offset, no limit, no name.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.file = u32::try_from(file.as_raw_fd()).map_err(io::Error::other)?;
    config.info.flags = flags;
    // SAFETY: the call reads one configuration, laid out as the kernel's, which lives to its end; both descriptors are open.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

// === impl Disk ===

impl Disk {
    /// What takes a while, because it is read from the machine's disk for the first time. Of what is beside these folders a
    /// sandbox sees nothing.
    fn create_folders(&self) -> io::Result<()> {
        FOLDERS.iter().try_for_each(|folder| fs::create_dir_all(self.at.join(folder)))?;
        fs::set_permissions(self.at.join("tmp"), PermissionsExt::from_mode(0o1777))
    }

    fn chown_folders(&self, (user, group): (u32, u32)) -> io::Result<()> {
        FOLDERS.iter().try_for_each(|folder| chown(self.at.join(folder), Some(user), Some(group)))
    }

    /// Lets go of it, and with it of all that is in it. May take a while where there is much.
    pub fn release(self) {
        if let Ok(root) = File::open(&self.at) {
            let how = SHUTDOWN_NO_FLUSH;
            // SAFETY: the call reads one number, which lives to its end; the descriptor is open.
            // Where it is refused, the unwritten data is written in vain.
            unsafe { libc::ioctl(root.as_raw_fd(), EXT4_IOC_SHUTDOWN as _, &raw const how) };
        }
        if mounts::unmount(&self.at).is_ok() {
            // A folder in memory of ours, which is empty now.
            let _ = fs::remove_dir(&self.at);
        }
    }
}

// === impl EmptyImage ===

impl EmptyImage {
    /// In that file, which is all zeros.
    fn make(file: &File, size: u64) -> io::Result<Self> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no mkfs.ext4 (Debian's package e2fsprogs)");
        let maker = MKFS_PATHS.iter().find(|maker| Path::new(maker).exists()).ok_or_else(missing)?;
        let mut command = Command::new(maker);
        command.args(MKFS_ARGS).env_clear().stdin(file.try_clone()?).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // Its end is the end of what it says: children of a spawner are reaped by the kernel.
        let mut said = String::new();
        if let Some(mut words) = child.stderr.take() {
            words.read_to_string(&mut said)?;
        }
        let mut magic = [0; 2];
        file.read_exact_at(&mut magic, EXT4_MAGIC.0)?;
        if magic != EXT4_MAGIC.1 {
            return Err(io::Error::other(format!("mkfs.ext4 failed: {}", said.trim())));
        }
        Self::read(file, size)
    }

    fn read(file: &File, size: u64) -> io::Result<Self> {
        let seek = |from: u64, whence| {
            // SAFETY: takes numbers; the descriptor is open.
            let at = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, whence) };
            u64::try_from(at).map_err(|_| io::Error::last_os_error())
        };
        let (mut pieces, mut at, mut total) = (Vec::new(), 0, 0);
        while at < size {
            let begin = match seek(at, libc::SEEK_DATA) {
                Ok(begin) => begin,
                // Nothing but a hole is left.
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => break,
                Err(error) => return Err(error),
            };
            let end = seek(begin, libc::SEEK_HOLE)?;
            let length = usize::try_from(end - begin).map_err(io::Error::other)?;
            total += length;
            if total > MAX_IMAGE_BYTES {
                return Err(io::Error::other("the data folder's file system makes no files with holes"));
            }
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, begin)?;
            pieces.push((begin, bytes));
            at = end;
        }
        Ok(Self { pieces })
    }

    fn copy_to(&self, file: &File) -> io::Result<()> {
        self.pieces.iter().try_for_each(|(at, bytes)| file.write_all_at(bytes, *at))
    }
}

/// The folder that a driver names, or the first above it that is there: nothing with a name is ever made in it.
pub fn open_folder(path: &Path) -> io::Result<File> {
    let absolute = std::path::absolute(path)?;
    let folder = absolute.ancestors().find(|folder| folder.is_dir()).ok_or(io::ErrorKind::NotFound)?;
    File::open(folder)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn an_empty_file_system_is_copied_by_what_is_not_zero() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let file = File::options().read(true).write(true).create_new(true).open(folder.path().join(name)).unwrap();
            file.set_len(64 << 20).unwrap();
            file
        };
        let (one, other) = (make("one"), make("other"));
        let image = match EmptyImage::make(&one, 64 << 20) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return eprintln!("{error}"),
            made => made.unwrap(),
        };
        image.copy_to(&other).unwrap();
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        assert!(read("one") == read("other"), "the copy differs");
        assert!(other.metadata().unwrap().blocks() * 512 < 4 << 20, "holes stay holes");
    }
}
