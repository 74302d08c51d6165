//! The bundle that `runsc` reads for a sandbox, in the format of the Open Container Initiative: a
//! folder with a specification, which names the files that the sandbox sees and its first process.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use hearth_sandbox_spawner::SandboxSpec;
use serde_json::{Value, json};

use crate::driver::RootImage;

/// Folders of `/etc` that the sandbox sees beside the files made here: trusted certificates, and
/// the alternatives system's links.
const ETC: [&str; 2] = ["/etc/ssl/certs", "/etc/alternatives"];

/// Packages installed in the sandbox belong to it alone, so pip may install system-wide.
const ENV: [&str; 3] = ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/work", "PIP_BREAK_SYSTEM_PACKAGES=1"];

/// Writes a bundle to `bundle`. `own` is the server's folder, for what all sandboxes share.
pub(super) fn write(own: &Path, bundle: &Path, image: &RootImage, plan: &SandboxSpec) -> io::Result<()> {
    let root = match image {
        RootImage::Host => shared_root(own)?,
        RootImage::Folder(folder) => folder.clone(),
    };
    let programs = own.join("programs");
    install(&programs)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(bundle)?;
    fs::write(bundle.join("config.json"), specification(image, &root, &programs, plan).to_string())
}

/// The root of all sandboxes that are made of the machine's own system: mount points.
fn shared_root(own: &Path) -> io::Result<PathBuf> {
    let root = own.join("root");
    if root.exists() {
        return Ok(root);
    }
    let made = own.join(format!("root-{:?}", std::thread::current().id()));
    let own = ["usr", "proc", "dev", "tmp", "work", "etc"].into_iter();
    for name in own.chain(ETC.map(|folder| folder.trim_start_matches('/'))) {
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
        // Another thread was faster.
        Err(_) if root.exists() => fs::remove_dir_all(&made).map(|()| root),
        renamed => renamed.map(|()| root),
    }
}

/// The agent and the TypeScript compiler, as files in a folder of their own.
fn install(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, bytes) in
        [("agent", hearth_sandbox_guest_binaries::AGENT), ("typescript", hearth_sandbox_guest_binaries::TYPESCRIPT)]
    {
        let program = folder.join(name);
        if program.exists() {
            continue;
        }
        let part = folder.join(format!("{name}-{:?}", std::thread::current().id()));
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&part)?;
        io::Write::write_all(&mut file, bytes)?;
        drop(file);
        fs::rename(part, program)?;
    }
    Ok(())
}

/// The specification of a sandbox, in the format of the Open Container Initiative.
fn specification(image: &RootImage, root: &Path, programs: &Path, plan: &SandboxSpec) -> Value {
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
    if *image == RootImage::Host {
        mounts.push(read_only(Path::new("/usr"), "/usr"));
        let there = ETC.into_iter().filter(|folder| Path::new(folder).is_dir());
        mounts.extend(there.map(|folder| read_only(Path::new(folder), folder)));
    }
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({ "type": kind }));
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "user": { "uid": 0, "gid": 0 },
            "args": ["/.hearth/agent"],
            "env": ENV,
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
