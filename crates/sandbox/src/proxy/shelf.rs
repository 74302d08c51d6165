//! Files of packages that one sandbox asked for, kept for the next: in a folder, under the paths that they have at their
//! registry, up to a size in all; what was not asked for the longest goes first. A file that is on its way is read by all who
//! want it while it comes, and is fetched once.
//!
//! ```text
//! (nothing) -> Coming(bytes so far) -> Whole, on the shelf
//!                                   -> Failed: whoever reads it is cut off, and the next one tries again
//! ```

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hearth_core::{Body, BodyError, ByteSize};
use tokio::sync::watch;
use tokio::time::timeout;

/// Files that are not whole yet.
const PARTS: &str = "parts";
/// Between two pieces of a file that comes.
const SILENCE: Duration = Duration::from_secs(60);
/// Of a file, at once.
const PIECE: usize = 64 << 10;

pub(super) struct Shelf {
    folder: PathBuf,
    most: ByteSize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    coming: HashMap<String, Parcel>,
    kept: HashMap<String, Kept>,
    parts: u64,
}

struct Kept {
    size: u64,
    asked: SystemTime,
}

/// A file, whole or on its way.
#[derive(Clone)]
pub(super) struct Parcel {
    file: Arc<File>,
    /// Of the whole file, where that is known.
    pub(super) size: Option<u64>,
    progress: watch::Receiver<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Coming(u64),
    Whole(u64),
    Failed,
}

/// Takes in one file. Dropping it before the file is whole is its failure.
pub(super) struct Delivery {
    shelf: Arc<Shelf>,
    place: String,
    part: PathBuf,
    file: Arc<File>,
    progress: watch::Sender<Progress>,
}

// === impl Shelf ===

impl Shelf {
    /// Finds what an earlier server kept.
    pub(super) fn open(folder: PathBuf, most: ByteSize) -> io::Result<Arc<Self>> {
        let parts = folder.join(PARTS);
        // Nobody reads what was never whole.
        let _ = fs::remove_dir_all(&parts);
        fs::create_dir_all(&parts)?;
        let mut kept = HashMap::new();
        walk(&folder, &folder, &mut kept)?;
        let shelf = Arc::new(Self { folder, most, state: Mutex::new(State { kept, ..State::default() }) });
        shelf.tidy(&mut shelf.lock());
        Ok(shelf)
    }

    /// The file at this place, if it is there or on its way.
    pub(super) fn find(&self, place: &str) -> Option<Parcel> {
        let mut state = self.lock();
        if let Some(parcel) = state.coming.get(place) {
            return Some(parcel.clone());
        }
        let kept = state.kept.get_mut(place)?;
        let now = SystemTime::now();
        kept.asked = now;
        let size = kept.size;
        // Somebody may have cleaned up.
        let Ok(file) = File::open(self.folder.join(place)) else {
            state.kept.remove(place);
            return None;
        };
        // For the next server; the order of these alone counts.
        let _ = file.set_modified(now);
        let (_, progress) = watch::channel(Progress::Whole(size));
        Some(Parcel { file: Arc::new(file), size: Some(size), progress })
    }

    /// Begins to take in a file, unless somebody does already: then that is the parcel.
    pub(super) fn expect(self: &Arc<Self>, place: &str, size: Option<u64>) -> io::Result<(Parcel, Option<Delivery>)> {
        let mut state = self.lock();
        if let Some(parcel) = state.coming.get(place) {
            return Ok((parcel.clone(), None));
        }
        state.parts += 1;
        // The program before this one may still take something in.
        let part = self.folder.join(PARTS).join(format!("{}-{}", std::process::id(), state.parts));
        let file = Arc::new(File::options().read(true).write(true).create_new(true).open(&part)?);
        let (sender, progress) = watch::channel(Progress::Coming(0));
        let parcel = Parcel { file: file.clone(), size, progress };
        state.coming.insert(place.to_owned(), parcel.clone());
        let delivery = Delivery { shelf: self.clone(), place: place.to_owned(), part, file, progress: sender };
        Ok((parcel, Some(delivery)))
    }

    /// Makes room.
    fn tidy(&self, state: &mut State) {
        while state.kept.values().map(|kept| kept.size).sum::<u64>() > self.most.bytes() {
            let oldest = state.kept.iter().min_by_key(|(_, kept)| kept.asked).map(|(place, _)| place.clone());
            let Some(oldest) = oldest else { return };
            state.kept.remove(&oldest);
            // Who reads it has it open.
            let _ = fs::remove_file(self.folder.join(oldest));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn walk(root: &Path, folder: &Path, kept: &mut HashMap<String, Kept>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        let path = entry.path();
        if meta.is_dir() {
            if path != root.join(PARTS) {
                walk(root, &path, kept)?;
            }
        } else if let Some(place) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            kept.insert(place.to_owned(), Kept { size: meta.len(), asked: meta.modified()? });
        }
    }
    Ok(())
}

// === impl Delivery ===

impl Delivery {
    /// Until the body's end. Whatever goes wrong is told to those who read.
    pub(super) async fn take(self, mut body: Body, most: ByteSize) {
        let mut taken = 0;
        // A registry that has fallen silent is no better than one that breaks off.
        while let Some(piece) = timeout(SILENCE, body.next()).await.unwrap_or(Some(Err(BodyError::TimedOut))) {
            let Ok(piece) = piece else { return };
            let fits = taken + piece.len() as u64 <= most.bytes();
            if !fits || self.file.write_all_at(&piece, taken).is_err() {
                return;
            }
            taken += piece.len() as u64;
            self.progress.send_replace(Progress::Coming(taken));
        }
        let to = self.shelf.folder.join(&self.place);
        // What there is no room for would take everybody else's.
        let fits = taken <= self.shelf.most.bytes();
        let made = || to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(&self.part, &to));
        if fits && made().is_ok() {
            let mut state = self.shelf.lock();
            state.kept.insert(self.place.clone(), Kept { size: taken, asked: SystemTime::now() });
            self.shelf.tidy(&mut state);
        } else {
            // Who reads it has it open.
            let _ = fs::remove_file(&self.part);
        }
        self.progress.send_replace(Progress::Whole(taken));
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.shelf.lock().coming.remove(&self.place);
        let is_whole = matches!(*self.progress.borrow(), Progress::Whole(_));
        if !is_whole {
            let _ = fs::remove_file(&self.part);
            self.progress.send_replace(Progress::Failed);
        }
    }
}

// === impl Parcel ===

impl Parcel {
    /// The next piece from `at` on, when it is there; `None` at the end.
    pub(super) async fn read(&mut self, at: u64) -> io::Result<Option<Vec<u8>>> {
        let seen =
            self.progress.wait_for(|progress| !matches!(progress, Progress::Coming(so_far) if *so_far <= at)).await;
        let there = match seen.map(|progress| *progress) {
            Ok(Progress::Coming(so_far) | Progress::Whole(so_far)) => so_far,
            Ok(Progress::Failed) | Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        if at >= there {
            return Ok(None);
        }
        let mut piece = vec![0; usize::try_from(there - at).unwrap_or(PIECE).min(PIECE)];
        self.file.read_exact_at(&mut piece, at)?;
        Ok(Some(piece))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "shelf/tests.rs"]
mod tests;
