//! The lock that permits one server per DATA folder. The kernel releases it when the process ends,
//! so a leftover lock file has no effect.

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
    pub(super) fn acquire(data: &Path) -> Result<Self, StoreError> {
        let path = data.join("lock");
        let failed = |error| StoreError::io("lock", &path)(error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                // The number is informative; a holder that has not written it yet holds the lock
                // all the same.
                let mut holder = String::new();
                let _ = file.take(20).read_to_string(&mut holder);
                return Err(StoreError::InUse { data: data.to_owned(), holder: holder.trim().parse().ok() });
            }
            Err(error) => return Err(failed(error.into())),
        }
        // On a full disk the number cannot be written; the lock is held all the same.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
