//! The kernel's events, reduced to whether a relevant change happened.
//!
//! Subscribes to changes of a folder or a file in it, and to no event that reading causes: served
//! files are opened all the time.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::inotify::{add_watch, init, remove_watch};
use rustix::io::Errno;

use crate::ignore_rules::{is_hidden_folder, is_scratch};

/// The maximum of events per call, for fairness.
const BATCH: usize = 10_000;

/// Watched folders. Each scan is a round; folders that it did not meet are no longer watched.
pub(super) struct Watches {
    queue: Arc<OwnedFd>,
    /// Watch descriptors, and the last round in which each was met.
    met: HashMap<i32, u64>,
    round: u64,
}

/// The result of reading the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// No relevant event; the queue is empty.
    Nothing,
    Change,
    /// A change, and more events may be queued.
    More,
}

// === impl Watches ===

impl Watches {
    pub fn new() -> Result<Self, Errno> {
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { queue: Arc::new(queue), met: HashMap::new(), round: 0 })
    }

    pub fn queue(&self) -> Arc<OwnedFd> {
        self.queue.clone()
    }

    pub fn begin(&mut self) {
        self.round += 1;
    }

    /// Watches a folder, or keeps watching it. Must be called before the folder is read.
    pub fn meet(&mut self, folder: &Path) -> Result<(), Errno> {
        let changes = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        let writes = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
        let own = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
        let id = add_watch(&*self.queue, folder, changes | writes | own)?;
        self.met.insert(id, self.round);
        Ok(())
    }

    pub fn end(&mut self) {
        let (queue, round) = (&self.queue, self.round);
        self.met.retain(|id, met| {
            let stays = *met == round;
            if !stays {
                // Fails if the folder is gone, and its watch with it.
                let _ = remove_watch(&**queue, *id);
            }
            stays
        });
    }
}

/// Reads the queue.
pub(super) fn drain(queue: &OwnedFd) -> Result<Drained, Errno> {
    let mut buffer = [MaybeUninit::uninit(); 16 << 10];
    let mut reader = Reader::new(queue, &mut buffer);
    let mut drained = Drained::Nothing;
    for _ in 0..BATCH {
        match reader.next() {
            Ok(event) => {
                let name = event.file_name().map(|name| name.to_bytes()).unwrap_or_default();
                if matters(event.events(), name) {
                    drained = Drained::Change;
                }
            }
            Err(Errno::AGAIN) => return Ok(drained),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Drained::More)
}

/// Everything not known to be irrelevant: a lost event (`QUEUE_OVERFLOW`) matters most.
fn matters(events: ReadFlags, name: &[u8]) -> bool {
    let folder = events.contains(ReadFlags::ISDIR);
    let ignored = if folder { is_hidden_folder(name) } else { is_scratch(name) };
    // `IGNORED` reports the end of a watch, after the event that caused it.
    !ignored && !events.contains(ReadFlags::IGNORED)
}
