//! Mounting, in the calling process's own mount namespace.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a mount refuses, whatever the files in it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountRestriction {
    /// Set-user-id bits and devices.
    NoDevices,
    /// Writing, too.
    ReadOnly,
    /// Writing and set-user-id bits; devices are what is mounted.
    ReadOnlyWithDevices,
}

pub fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn checked(done: libc::c_long) -> io::Result<()> {
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Changes here are not seen elsewhere; those elsewhere are seen here.
pub fn make_slave() -> io::Result<()> {
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_SLAVE, None)
}

/// Whether no mount of this process is one of a group with others, which would see what is mounted here.
pub fn is_unshared() -> io::Result<bool> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    // 36 35 98:0 / /mnt rw shared:1 - ext3 /dev/root rw
    let shares = |line: &str| line.split(" - ").next().is_some_and(|own| own.contains(" shared:"));
    Ok(!mounts.lines().any(shares))
}

/// Nothing is seen in either direction.
pub fn make_private() -> io::Result<()> {
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE, None)
}

/// What is at `from`, with all that is mounted in it, is also at `to`.
pub fn bind(from: &Path, to: &Path) -> io::Result<()> {
    mount(Some(from), to, None, libc::MS_BIND | libc::MS_REC, None)
}

pub fn tmpfs(at: &Path, options: &str) -> io::Result<()> {
    mount(None, at, Some("tmpfs"), libc::MS_NOSUID | libc::MS_NODEV, Some(options))
}

/// What is on a device, without set-user-id bits and devices in it.
pub fn ext4(device: &Path, at: &Path, options: &str) -> io::Result<()> {
    mount(Some(device), at, Some("ext4"), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME, Some(options))
}

/// Unmounts what is mounted at `at`, now or when it is no longer in use.
pub fn unmount(at: &Path) -> io::Result<()> {
    let path = c_path(at)?;
    // SAFETY: both are given a string that ends in a zero and lives to the end of the call.
    let done = unsafe { libc::umount2(path.as_ptr(), libc::UMOUNT_NOFOLLOW) };
    checked(done.into()).or_else(|_| {
        // SAFETY: as above.
        checked(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) }.into())
    })
}

/// A file system for device nodes.
pub fn tmpfs_for_devices(at: &Path) -> io::Result<()> {
    mount(None, at, Some("tmpfs"), libc::MS_NOSUID | libc::MS_NOEXEC, Some("mode=755,size=4k"))
}

pub fn proc(at: &Path) -> io::Result<()> {
    mount(None, at, Some("proc"), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC, None)
}

/// Makes what is mounted at `at`, and all in it, refuse things.
pub fn restrict(at: &Path, what: MountRestriction) -> io::Result<()> {
    let (attributes, flags) = match what {
        MountRestriction::NoDevices => {
            (libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV, libc::MS_NOSUID | libc::MS_NODEV)
        }
        MountRestriction::ReadOnly => (
            libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV,
        ),
        MountRestriction::ReadOnlyWithDevices => {
            (libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID, libc::MS_RDONLY | libc::MS_NOSUID)
        }
    };
    let attributes = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let path = c_path(at)?;
    // SAFETY: the path ends in a zero, the attributes are as long as is said, and both live to the end of the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match checked(done) {
        // Before Linux 5.12: of the mount itself, at least.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            mount(None, at, None, libc::MS_BIND | libc::MS_REMOUNT | flags, None)
        }
        done => done,
    }
}

/// Makes `root`, a mount, the root of this process, and lets go of everything else.
pub fn pivot(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // SAFETY: both are strings that end in a zero. The old root comes to lie over the new one, from where it is let go.
    checked(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    // SAFETY: a string that ends in a zero.
    checked(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) }.into())?;
    std::env::set_current_dir("/")
}

fn mount(
    from: Option<&Path>,
    at: &Path,
    kind: Option<&str>,
    flags: libc::c_ulong,
    options: Option<&str>,
) -> io::Result<()> {
    let from = c_path(from.unwrap_or(Path::new("none")))?;
    let (at, kind) = (c_path(at)?, c_path(Path::new(kind.unwrap_or("")))?);
    let options = c_path(Path::new(options.unwrap_or("")))?;
    // SAFETY: four strings that end in a zero and live to the end of the call.
    let done = unsafe {
        libc::mount(from.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast::<libc::c_void>())
    };
    checked(done.into())
}
