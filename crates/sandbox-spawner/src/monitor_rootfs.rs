//! The root file system of a jailed virtual machine monitor, which its guest might take over: the
//! system's libraries, the files that the monitor needs, its devices, and nothing else: no `/etc`,
//! no programs, no home folders.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::mounts::{self, MountRestriction, c_path};
use super::protocol::MonitorJail;
use super::rootfs::{RootfsBuilder, RootfsTemplate, bind, bind_char_device, bind_system_dirs, bind_to, new_file};
use super::{SpawnError, Step};

/// The one folder that it can write to, empty and in memory. Sockets that it listens on are reached through it.
pub const MONITOR_DIR: &str = "/run";

/// Where the system's libraries are.
pub const LIBRARIES: [&str; 4] = ["usr/lib", "usr/lib64", "lib", "lib64"];
/// Where libraries are found without looking for them.
const LD_CACHE: &str = "etc/ld.so.cache";
/// What every program may want.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/urandom", "/dev/zero"];

pub fn build(builder: &mut RootfsBuilder, jail: &MonitorJail) -> Result<RootfsTemplate, SpawnError> {
    let root = builder.new_root()?;
    bind_libraries(&root).step("the system's libraries")?;
    for file in &jail.files {
        bind_at_same_path(&root, file).step("the files of the enclosed program")?;
    }
    for folder in ["proc", "dev", MONITOR_DIR.trim_start_matches('/')] {
        fs::create_dir_all(root.join(folder)).step("the folders of the root file system")?;
    }
    for node in DEVICES {
        bind_device(Path::new(node), &root).step("the devices")?;
    }
    for node in &jail.devices {
        make_device_node(node, &root).or_else(|_| bind_device(node, &root)).step("the devices")?;
    }
    builder.finish(root)
}

fn bind_libraries(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root.join("usr"))?;
    bind_system_dirs(root, &LIBRARIES)?;
    fs::create_dir_all(root.join("etc"))?;
    match fs::copy(Path::new("/").join(LD_CACHE), root.join(LD_CACHE)) {
        // Not every system has one; libraries are found without it, only slower.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is at this place on the machine is at the same place in the root.
fn bind_at_same_path(root: &Path, file: &Path) -> io::Result<()> {
    let there = root.join(file.strip_prefix("/").map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?);
    if fs::metadata(file)?.is_dir() {
        return bind(file, &there, MountRestriction::ReadOnly);
    }
    create_empty_file(&there)?;
    bind_to(file, &there, MountRestriction::ReadOnly)
}

fn create_empty_file(at: &Path) -> io::Result<()> {
    fs::create_dir_all(at.parent().unwrap_or(Path::new("/")))?;
    match new_file(at) {
        // An attempt before this one made it, and bound nothing there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(at)?.is_file() => Ok(()),
        made => made,
    }
}

/// The machine's own node.
fn bind_device(node: &Path, root: &Path) -> io::Result<()> {
    let there = root.join(node.strip_prefix("/").unwrap_or(node));
    create_empty_file(&there)?;
    bind_char_device(node, None, &there)
}

/// A device node of the jail's own, usable by every user: that is one process here, whose user has
/// no account. Only root can make one; a server that is not root runs the monitor as its own user,
/// which may use the machine's device.
fn make_device_node(device: &Path, root: &Path) -> io::Result<()> {
    let there = root.join(device.strip_prefix("/").unwrap_or(device));
    let number = fs::metadata(device)?.rdev();
    create_empty_file(&there)?;
    // On a file system of its own, for that of the root refuses devices.
    let own = there.with_extension("node");
    fs::create_dir_all(&own)?;
    mounts::tmpfs_for_devices(&own)?;
    let node = own.join("node");
    let path = c_path(&node)?;
    // SAFETY: the path is a string that ends in a zero and lives to the end of the call.
    if unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o666, number) } != 0 {
        return Err(io::Error::last_os_error());
    }
    fs::set_permissions(&node, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
    mounts::bind(&node, &there)
}
