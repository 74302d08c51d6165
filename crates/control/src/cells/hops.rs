//! The folder of sockets at which main cells find owners that have a cell of their own. Nobody but the server's user can
//! reach into it. A socket's name says whose it is, and is the same for each program that serves from the same folder: so
//! who finds one from before an upgrade never reaches somebody else.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use hearth_core::Owner;
use hearth_ipc::CellPlan;

/// The kernel's limit is 107 bytes for the whole path.
const LONGEST_FOLDER: usize = 80;

pub(super) struct Hops {
    folder: PathBuf,
}

impl Hops {
    /// In the data folder, or in a folder of its own where the path to that is too long for a socket.
    pub(super) fn new(data: &Path) -> Self {
        let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
        let folder = data.join("hops");
        if folder.as_os_str().len() <= LONGEST_FOLDER && folder.to_str().is_some() {
            return Self { folder };
        }
        Self { folder: std::env::temp_dir().join(format!("hearth-{:016x}", hash(&data))) }
    }

    /// Cells that are started with this plan may connect to what is in the folder.
    pub(super) fn allow(&self, plan: &mut CellPlan) {
        if let Err(error) = self.make() {
            tracing::error!(%error, folder = %self.folder.display(), "There is no folder for sockets between cells");
        }
        if !plan.jail.writable.contains(&self.folder) {
            plan.jail.writable.push(self.folder.clone());
        }
    }

    fn make(&self) -> io::Result<()> {
        DirBuilder::new().mode(0o700).recursive(true).create(&self.folder)
    }

    /// A socket that this owner's cells listen at. What was there before is gone: a program that ended left it.
    pub(super) fn open(&self, owner: &Owner) -> io::Result<(PathBuf, UnixListener)> {
        self.make()?;
        let path = self.path(owner);
        // There may be none.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        Ok((path, listener))
    }

    pub(super) fn close(&self, owner: &Owner) {
        // Who cannot remove it leaves a file that nobody listens at.
        let _ = fs::remove_file(self.path(owner));
    }

    fn path(&self, owner: &Owner) -> PathBuf {
        self.folder.join(format!("{:016x}", hash(owner)))
    }
}

/// The same in each process.
fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn each_owner_has_a_socket_and_nobody_else_can_reach_it() {
        let data = std::env::temp_dir().join(format!("hearth-hops-{}", std::process::id()));
        fs::create_dir_all(&data).unwrap();
        let hops = Hops::new(&data);
        let (ann, bob) = (Owner::new("ann"), Owner::new("../bob"));
        let (path, _first) = hops.open(&ann).unwrap();
        let (again, second) = hops.open(&ann).unwrap();
        let (other, _third) = hops.open(&bob).unwrap();
        assert!(path == again && path != other && other.starts_with(&hops.folder));
        let _client = UnixStream::connect(&path).unwrap();
        second.accept().unwrap();
        assert_eq!(fs::metadata(&hops.folder).unwrap().permissions().mode() & 0o777, 0o700);
        hops.close(&ann);
        assert!(!path.exists());
        let long = Hops::new(&data.join("x".repeat(200)));
        assert!(long.open(&ann).is_ok(), "however long the path to the data folder is");
        fs::remove_dir_all(&long.folder).unwrap();
        fs::remove_dir_all(&data).unwrap();
    }
}
