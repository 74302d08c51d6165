//! The operator's part: the configuration, the data folder, the ports.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hearth_config::{AdminListen, OperatorConfig};
use hearth_core::ByteSize;

use super::finding::DoctorFinding;
use crate::configuration::FILE;
use crate::serve::{ADMIN, LISTEN};

/// Files of the data folder with keys, or with records that are as sensitive.
const PRIVATE: &[&str] = &["hearth.db", "secret.key", "admin.token"];

/// The configuration, if it can be read, and the finding about it.
pub(super) fn configuration(file: Option<&Path>) -> (OperatorConfig, DoctorFinding) {
    const CHECK: &str = "configuration";
    let path = file.unwrap_or(Path::new(FILE));
    let bad = |found: String, fix: &str| DoctorFinding::bad(CHECK, found, "`hearth serve` does not start", fix);
    let finding = match fs::read_to_string(path) {
        Ok(text) => match OperatorConfig::parse(&text, path) {
            Ok(operator) => return (operator, DoctorFinding::good(CHECK, path.display().to_string())),
            Err(errors) => {
                let lines: Vec<String> = errors.to_string().lines().map(|line| line.trim().to_owned()).collect();
                bad(lines.join("; "), "mend what is named; docs/guide/operations.md has all keys")
            }
        },
        Err(error) if file.is_none() && error.kind() == io::ErrorKind::NotFound => {
            DoctorFinding::good(CHECK, "none: defaults")
        }
        Err(error) => bad(format!("{}: {error}", path.display()), "name a file that can be read"),
    };
    (OperatorConfig::default(), finding)
}

pub fn examine(data: &Path, operator: &OperatorConfig) -> Vec<DoctorFinding> {
    let mut findings = vec![data_folder(data)];
    findings.extend(room(data));
    findings.extend(addresses(operator).into_iter().map(|(check, address)| port(check, address)));
    findings
}

fn data_folder(data: &Path) -> DoctorFinding {
    const CHECK: &str = "data folder";
    let name = data.display();
    let facts = match fs::metadata(data) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return DoctorFinding::good(CHECK, format!("{name}: made at the first start"));
        }
        Err(error) => {
            let fix = format!("make {name} readable, or choose another with --data");
            return DoctorFinding::bad(CHECK, format!("{name}: {error}"), "`hearth serve` does not start", fix);
        }
    };
    if !facts.is_dir() {
        let fix = "choose a folder with --data";
        return DoctorFinding::bad(CHECK, format!("{name} is no folder"), "`hearth serve` does not start", fix);
    }
    let user = rustix::process::geteuid().as_raw();
    if facts.uid() != user && user != 0 {
        let fix = format!("run Hearth as its owner, or: chown -R $(id -un) {name}");
        return DoctorFinding::bad(CHECK, format!("{name} belongs to another user"), "it may not be writable", fix);
    }
    let open = exposed(data);
    if !open.is_empty() {
        let names: Vec<String> = open.iter().map(|path| path.display().to_string()).collect();
        let fix = format!("chmod go-rwx {}", names.join(" "));
        return DoctorFinding::weak(CHECK, "open to others", "other users can read secrets or the admin token", fix);
    }
    DoctorFinding::good(CHECK, name.to_string())
}

/// With less free space uploads, logs and secrets begin to fail.
const LITTLE_ROOM: ByteSize = ByteSize::mb(64);
/// Room for the largest upload, unpacked, beside its archive.
const AMPLE_ROOM: ByteSize = ByteSize::mb(1024);

/// `None` if the system does not report the free space.
fn room(data: &Path) -> Option<DoctorFinding> {
    const CHECK: &str = "disk";
    let absolute = std::path::absolute(data).ok()?;
    let there = absolute.ancestors().find(|folder| folder.is_dir())?;
    let facts = rustix::fs::statvfs(there).ok()?;
    let free = ByteSize(facts.f_bavail.saturating_mul(facts.f_frsize));
    let found = format!("{free} free at {}", there.display());
    let fix = "remove what is not needed there, or choose another folder with --data";
    Some(match free {
        free if free < LITTLE_ROOM => DoctorFinding::bad(CHECK, found, "deploys and secrets cannot be kept", fix),
        free if free < AMPLE_ROOM => DoctorFinding::weak(CHECK, found, "large deploys may not fit", fix),
        _ => DoctorFinding::good(CHECK, found),
    })
}

/// The private files that other users can read.
fn exposed(data: &Path) -> Vec<PathBuf> {
    let is_open = |path: &Path| fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o077 != 0);
    // A folder that other users cannot enter protects all files in it.
    if !is_open(data) {
        return Vec::new();
    }
    PRIVATE.iter().map(|name| data.join(name)).filter(|path| is_open(path)).collect()
}

fn addresses(operator: &OperatorConfig) -> Vec<(&'static str, SocketAddr)> {
    let default = || vec![LISTEN.parse().expect("a constant")];
    let tls = operator.listen_tls.clone().unwrap_or_default();
    let plain = operator.listen.clone().unwrap_or_else(|| if tls.is_empty() { default() } else { Vec::new() });
    let admin = match operator.admin {
        Some(AdminListen::Off) => None,
        Some(AdminListen::At(address)) => Some(address),
        None => Some(ADMIN.parse().expect("a constant")),
    };
    let all = plain.into_iter().chain(tls).map(|address| ("listen", address));
    all.chain(admin.map(|address| ("admin", address))).collect()
}

/// Binds the address and closes it again.
fn port(check: &'static str, address: SocketAddr) -> DoctorFinding {
    match TcpListener::bind(address) {
        Ok(_) => DoctorFinding::good(check, format!("{address} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => DoctorFinding::weak(
            check,
            format!("{address} is taken"),
            "a Hearth that runs already has it, or another program",
            "if it is another program: stop that, or choose another address in hearth.yaml",
        ),
        Err(error) => {
            let fix = match error.kind() {
                io::ErrorKind::PermissionDenied => "choose a port above 1023, or have systemd open it (hearth.socket)",
                _ => "choose an address of this machine",
            };
            DoctorFinding::bad(check, format!("{address}: {error}"), "`hearth serve` does not start", fix)
        }
    }
}
