#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use super::*;
use crate::privileges::forbid_new_privileges;

/// Runs on a thread of its own, which is all that the ruleset holds.
fn inside(ruleset: Ruleset, what: impl FnOnce() + Send + 'static) {
    let confined = move || {
        forbid_new_privileges().unwrap();
        ruleset.enter().unwrap();
        what();
    };
    std::thread::spawn(confined).join().unwrap();
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hearth-landlock-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn only_what_was_allowed_is_reached() {
    let folder = folder("files");
    for name in ["read", "write", "other"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("file"), name).unwrap();
    }
    let mut ruleset = Ruleset::new(TcpAccess::Unrestricted).unwrap();
    ruleset.allow(&folder.join("read"), PathAccess::Read).unwrap();
    ruleset.allow(&folder.join("write"), PathAccess::ReadWrite).unwrap();
    let at = folder.clone();
    inside(ruleset, move || {
        let denied = |result: io::Result<()>| assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(at.join("read/file")).unwrap(), "read");
        denied(fs::write(at.join("read/file"), "x"));
        denied(fs::write(at.join("read/new"), "x"));
        denied(fs::remove_file(at.join("read/file")));
        fs::write(at.join("write/new"), "x").unwrap();
        fs::rename(at.join("write/new"), at.join("write/newer")).unwrap();
        fs::remove_file(at.join("write/newer")).unwrap();
        denied(fs::read(at.join("other/file")).map(drop));
        denied(fs::read_dir(&at).map(drop));
        denied(fs::read("/etc/passwd").map(drop));
    });
    assert_eq!(fs::read_to_string(folder.join("other/file")).unwrap(), "other", "the other threads are free");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_appears_in_a_folder_later_is_covered_and_a_link_to_elsewhere_is_not() {
    let folder = folder("later");
    fs::create_dir_all(folder.join("apps")).unwrap();
    fs::write(folder.join("secret"), "secret").unwrap();
    let mut ruleset = Ruleset::new(TcpAccess::Unrestricted).unwrap();
    ruleset.allow(&folder.join("apps"), PathAccess::Read).unwrap();
    fs::create_dir_all(folder.join("apps/new")).unwrap();
    fs::write(folder.join("apps/new/file"), "new").unwrap();
    std::os::unix::fs::symlink(folder.join("secret"), folder.join("apps/link")).unwrap();
    let at = folder.clone();
    inside(ruleset, move || {
        assert_eq!(fs::read_to_string(at.join("apps/new/file")).unwrap(), "new");
        assert_eq!(fs::read(at.join("apps/link")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    });
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn ports_and_abstract_sockets_are_held_where_the_kernel_can() {
    let name = SocketAddr::from_abstract_name(format!("hearth-landlock-{}", std::process::id())).unwrap();
    let listener = UnixListener::bind_addr(&name).unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let ruleset = Ruleset::new(TcpAccess::NoBind).unwrap();
    let abi = ruleset.abi();
    inside(ruleset, move || {
        assert_eq!(std::net::TcpListener::bind("127.0.0.1:0").is_err(), abi.supports_tcp());
        assert!(std::net::TcpStream::connect(address).is_ok(), "connecting is free");
        assert_eq!(UnixStream::connect_addr(&name).is_err(), abi.supports_scopes());
    });
    drop(listener);
}

#[test]
fn what_is_not_there_cannot_be_allowed() {
    let error = Ruleset::new(TcpAccess::Unrestricted)
        .unwrap()
        .allow(Path::new("/no/such/folder"), PathAccess::Read)
        .unwrap_err();
    assert!(error.to_string().starts_with("/no/such/folder cannot be allowed: "), "{error}");
}
