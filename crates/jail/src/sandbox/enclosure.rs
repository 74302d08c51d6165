//! The root file system of a program of somebody else's between walls: a virtual machine's monitor, which its guest might
//! take over. The system's libraries, the files that the program was promised, the devices that it needs, and nothing else:
//! no `/etc`, no programs, nobody's home.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::mounts::{self, Refuses, text};
use super::plan::Enclosure;
use super::template::{Template, Workshop, bind, bind_to, device, new_file, system};
use super::{Failed, Step};

/// The one folder that it can write to, empty and in memory. Sockets that it listens on are reached through it.
pub const FOLDER: &str = "/run";

/// Where the system's libraries are.
pub const LIBRARIES: [&str; 4] = ["usr/lib", "usr/lib64", "lib", "lib64"];
/// Where libraries are found without looking for them.
const CACHE: &str = "etc/ld.so.cache";
/// What every program may want.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/urandom", "/dev/zero"];

pub fn root(workshop: &mut Workshop, enclosure: &Enclosure) -> Result<Template, Failed> {
    let root = workshop.empty()?;
    libraries(&root).step("the system's libraries")?;
    for file in &enclosure.files {
        within(&root, file).step("the files of the enclosed program")?;
    }
    for folder in ["proc", "dev", FOLDER.trim_start_matches('/')] {
        fs::create_dir_all(root.join(folder)).step("the folders of the root file system")?;
    }
    for node in DEVICES {
        share(Path::new(node), &root).step("the devices")?;
    }
    for node in &enclosure.devices {
        open_to_all(node, &root).or_else(|_| share(node, &root)).step("the devices")?;
    }
    workshop.finish(root)
}

fn libraries(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root.join("usr"))?;
    system(root, &LIBRARIES)?;
    fs::create_dir_all(root.join("etc"))?;
    match fs::copy(Path::new("/").join(CACHE), root.join(CACHE)) {
        // Not every system has one; libraries are found without it, only slower.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is at this place on the machine is at the same place in the root.
fn within(root: &Path, file: &Path) -> io::Result<()> {
    let there = root.join(file.strip_prefix("/").map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?);
    if fs::metadata(file)?.is_dir() {
        return bind(file, &there, Refuses::Writing);
    }
    empty_file(&there)?;
    bind_to(file, &there, Refuses::Writing)
}

fn empty_file(at: &Path) -> io::Result<()> {
    fs::create_dir_all(at.parent().unwrap_or(Path::new("/")))?;
    match new_file(at) {
        // An attempt before this one made it, and bound nothing there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(at)?.is_file() => Ok(()),
        made => made,
    }
}

/// The machine's own node.
fn share(node: &Path, root: &Path) -> io::Result<()> {
    let there = root.join(node.strip_prefix("/").unwrap_or(node));
    empty_file(&there)?;
    device(node, None, &there)
}

/// A node of our own for the same device, which everybody may use: here that is one process, whose user nobody knows. Only
/// root can make one; who is not root is the user that may use the machine's.
fn open_to_all(device: &Path, root: &Path) -> io::Result<()> {
    let there = root.join(device.strip_prefix("/").unwrap_or(device));
    let number = fs::metadata(device)?.rdev();
    empty_file(&there)?;
    // On a file system of its own, for that of the root refuses devices.
    let own = there.with_extension("node");
    fs::create_dir_all(&own)?;
    mounts::device_folder(&own)?;
    let node = own.join("node");
    let path = text(&node)?;
    // SAFETY: the path is a string that ends in a zero and lives to the end of the call.
    if unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o666, number) } != 0 {
        return Err(io::Error::last_os_error());
    }
    fs::set_permissions(&node, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
    mounts::bind(&node, &there)
}
