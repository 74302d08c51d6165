//! Scans the roots: which folders to watch, which roots to poll, and whether they differ from the
//! last scan.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::inotify::Watches;
use super::walk::{Depth, walk};

/// The time before refused watches are requested from the kernel again.
const RETRY: Duration = Duration::from_secs(30);

/// File systems on which changes by other hosts cause no events: NFS, SMB, CIFS, SMB2, 9p, FUSE,
/// Ceph, AFS, Coda, VirtualBox.
const REMOTE: [u32; 10] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x6573_5546,
    0x00c3_6400,
    0x5346_414f,
    0x7375_7245,
    0x786f_4256,
];

pub(super) struct Scan {
    roots: Vec<Root>,
    watches: Option<Watches>,
}

struct Root {
    path: PathBuf,
    state: State,
    /// No watches are requested before this time.
    refused_until: Option<Instant>,
}

/// The result of the last scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    cover: Cover,
    /// Device and inode; `None` if there is no such folder.
    identity: Option<(u64, u64)>,
    sum: u64,
}

/// How changes of a root are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cover {
    Unknown,
    Watched,
    Polled,
}

/// Which roots to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    /// Roots that are polled, and roots that became another folder.
    Doubtful,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    Changed,
}

// === impl Scan ===

impl Scan {
    pub fn new(roots: Vec<PathBuf>, watches: Option<Watches>) -> Self {
        let state = State { cover: Cover::Unknown, identity: None, sum: 0 };
        let roots = roots.into_iter().map(|path| Root { path, state, refused_until: None }).collect();
        Self { roots, watches }
    }

    /// From now on, all roots are polled.
    pub fn without_events(&mut self) {
        self.watches = None;
    }

    pub fn scan(&mut self, scope: Scope) -> Verdict {
        // A round must meet all folders, since it ends the watches of the others.
        let round = scope == Scope::All || self.roots.iter().any(Root::is_another);
        let mut watches = self.watches.as_mut();
        if let Some(watches) = watches.as_deref_mut().filter(|_| round) {
            watches.begin();
        }
        let mut verdict = Verdict::Same;
        for root in self.roots.iter_mut().filter(|root| round || root.state.cover != Cover::Watched) {
            let state = root.examine(watches.as_deref_mut());
            if root.state != state {
                verdict = Verdict::Changed;
            }
            root.state = state;
        }
        if let Some(watches) = watches.filter(|_| round) {
            watches.end();
        }
        verdict
    }
}

// === impl Root ===

impl Root {
    /// Watched, but no longer the folder that is watched.
    fn is_another(&self) -> bool {
        self.state.cover == Cover::Watched && self.state.identity != identity(&self.path)
    }

    fn examine(&mut self, watches: Option<&mut Watches>) -> State {
        let identity = identity(&self.path);
        if identity.is_none() {
            // Every poll checks its existence, so it counts as watched.
            return State { cover: Cover::Watched, identity, sum: 0 };
        }
        match watches.and_then(|watches| self.watch(watches)) {
            Some(sum) => State { cover: Cover::Watched, identity, sum },
            None => {
                let Ok(sum) = walk(&self.path, Depth::Files, |_| Ok::<(), Infallible>(()));
                State { cover: Cover::Polled, identity, sum }
            }
        }
    }

    /// `None` if events are not available, or not for all of it.
    fn watch(&mut self, watches: &mut Watches) -> Option<u64> {
        if self.refused_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let result = walk(&self.path, Depth::Folders, |folder| {
            if is_remote(folder) {
                return Err(Errno::OPNOTSUPP);
            }
            match watches.meet(folder) {
                // Removed in the meantime or not readable: an event of the parent folder reports a
                // change.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
                other => other,
            }
        });
        let error = match result {
            Ok(sum) => return Some(sum),
            Err(error) => error,
        };
        self.refused_until = Some(Instant::now() + RETRY);
        if self.state.cover != Cover::Polled {
            let root = self.path.display();
            match error {
                Errno::OPNOTSUPP => tracing::info!(%root, "A folder on a network file system is polled"),
                _ => tracing::warn!(%root, %error, "A folder is polled; see fs.inotify.max_user_watches"),
            }
        }
        None
    }
}

fn identity(root: &Path) -> Option<(u64, u64)> {
    let facts = fs::metadata(root).ok()?;
    facts.is_dir().then(|| (facts.dev(), facts.ino()))
}

fn is_remote(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|facts| REMOTE.contains(&(facts.f_type as u32)))
}
