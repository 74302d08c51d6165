//! The Unix sockets of cordon cells, to which the main cells proxy requests. Their folder is accessible to the server's user
//! only. The name of a socket is a hash of the owner, the same in every program on this data folder, so a socket that an
//! older cell knows never leads to another owner.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use hearth_core::Owner;
use hearth_ipc::CellPlan;

/// The kernel limits the whole path of a socket to 107 bytes.
const MAX_FOLDER_BYTES: usize = 80;

pub(super) struct CordonSockets {
    folder: PathBuf,
}

impl CordonSockets {
    /// Uses the data folder, or a folder in the temporary directory if the path is too long for a socket.
    pub(super) fn new(data: &Path) -> Self {
        let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
        let folder = data.join("hops");
        if folder.as_os_str().len() <= MAX_FOLDER_BYTES && folder.to_str().is_some() {
            return Self { folder };
        }
        Self { folder: std::env::temp_dir().join(format!("hearth-{:016x}", hash(&data))) }
    }

    /// Allows cells that are started with this plan to connect to the sockets.
    pub(super) fn allow(&self, plan: &mut CellPlan) {
        if let Err(error) = self.create_folder() {
            tracing::error!(%error, folder = %self.folder.display(), "folder for cell sockets not created");
        }
        if !plan.jail.writable.contains(&self.folder) {
            plan.jail.writable.push(self.folder.clone());
        }
    }

    fn create_folder(&self) -> io::Result<()> {
        DirBuilder::new().mode(0o700).recursive(true).create(&self.folder)
    }

    /// Binds the socket of an owner's cells. A file that an earlier program left there is replaced.
    pub(super) fn bind(&self, owner: &Owner) -> io::Result<(PathBuf, UnixListener)> {
        self.create_folder()?;
        let path = self.path(owner);
        // The file need not exist.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        Ok((path, listener))
    }

    pub(super) fn remove(&self, owner: &Owner) {
        // A file that cannot be removed is a socket without a listener, which does no harm.
        let _ = fs::remove_file(self.path(owner));
    }

    fn path(&self, owner: &Owner) -> PathBuf {
        self.folder.join(format!("{:016x}", hash(owner)))
    }
}

/// Not randomly seeded, so it is the same in all processes.
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
    fn each_owner_has_a_socket_in_a_private_folder() {
        let data = std::env::temp_dir().join(format!("hearth-sockets-{}", std::process::id()));
        fs::create_dir_all(&data).unwrap();
        let sockets = CordonSockets::new(&data);
        let (ann, bob) = (Owner::new("ann"), Owner::new("../bob"));
        let (path, _first) = sockets.bind(&ann).unwrap();
        let (again, second) = sockets.bind(&ann).unwrap();
        let (other, _third) = sockets.bind(&bob).unwrap();
        assert!(path == again && path != other && other.starts_with(&sockets.folder));
        let _client = UnixStream::connect(&path).unwrap();
        second.accept().unwrap();
        assert_eq!(fs::metadata(&sockets.folder).unwrap().permissions().mode() & 0o777, 0o700);
        sockets.remove(&ann);
        assert!(!path.exists());
        let long = CordonSockets::new(&data.join("x".repeat(200)));
        assert!(long.bind(&ann).is_ok(), "a long path to the data folder is no obstacle");
        fs::remove_dir_all(&long.folder).unwrap();
        fs::remove_dir_all(&data).unwrap();
    }
}
