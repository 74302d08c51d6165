//! The kernel's events, boiled down to whether anything happened that matters.
//!
//! Asked for is what changes a folder or a file in it, and nothing that happens by reading: files that are served are opened
//! all the time.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::inotify::{add_watch, init, remove_watch};
use rustix::io::Errno;

use crate::content::{is_hidden_folder, is_scratch};

/// At most this many events in one go; then others get their turn.
const BATCH: usize = 10_000;

/// Folders that are watched. Each survey is a round; what it did not meet is not watched any longer.
pub(super) struct Watches {
    queue: Arc<OwnedFd>,
    /// Watch descriptors, and the round in which each was met.
    met: HashMap<i32, u64>,
    round: u64,
}

/// What came out of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// Nothing, or nothing that matters; the queue is empty.
    Nothing,
    Change,
    /// A change, and more may be waiting.
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

    /// Watches a folder, or goes on watching it. To be done before the folder is read.
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
                // Fails where the folder is gone, and its watch with it.
                let _ = remove_watch(&**queue, *id);
            }
            stays
        });
    }
}

/// Takes what is in the queue.
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

/// All that is not known to be of no interest: a lost event (`QUEUE_OVERFLOW`) matters most.
fn matters(events: ReadFlags, name: &[u8]) -> bool {
    let folder = events.contains(ReadFlags::ISDIR);
    let ignored = if folder { is_hidden_folder(name) } else { is_scratch(name) };
    // `IGNORED` says that a watch ended, after the event that tells why.
    !ignored && !events.contains(ReadFlags::IGNORED)
}
