//! One server per DATA folder. The system gives the lock back when the process ends, however it ends, so a lock file
//! that is left over stops nobody.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::StoreError;

pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(data: &Path) -> Result<Self, StoreError> {
        let path = data.join("lock");
        let failed = |error| StoreError::io("lock", &path)(error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                // The number is for people; a holder that has not written it yet is a holder all the same.
                let mut holder = String::new();
                let _ = file.take(20).read_to_string(&mut holder);
                return Err(StoreError::InUse { data: data.to_owned(), holder: holder.trim().parse().ok() });
            }
            Err(error) => return Err(failed(error.into())),
        }
        // On a full disk it cannot be written, and is held all the same.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
