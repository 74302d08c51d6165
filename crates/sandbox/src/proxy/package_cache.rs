//! Package files that one sandbox fetched, cached for the next: in a folder, under their paths at
//! the registry, up to a total size; the least recently used file goes first. A file is fetched
//! once: while it is being written, all readers read along.
//!
//! ```text
//! (absent) -> Writing(bytes so far) -> Complete
//!                                   -> Failed: its readers get an error, the next request fetches it anew
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

/// The folder of incomplete files.
const PARTIAL_DIR: &str = "parts";
/// Between two pieces of a body.
const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes that are read at once.
const READ_SIZE: usize = 64 << 10;

pub(super) struct PackageCache {
    folder: PathBuf,
    max_size: ByteSize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    writing: HashMap<String, CachedFile>,
    kept: HashMap<String, Kept>,
    parts: u64,
}

struct Kept {
    size: u64,
    last_used: SystemTime,
}

/// A cached file, complete or being written.
#[derive(Clone)]
pub(super) struct CachedFile {
    file: Arc<File>,
    /// Size of the complete file, where that is known.
    pub(super) size: Option<u64>,
    progress: watch::Receiver<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Writing(u64),
    Complete(u64),
    Failed,
}

/// Writes one file. Dropping it before the file is complete makes the file `Failed`.
pub(super) struct CacheWriter {
    cache: Arc<PackageCache>,
    path: String,
    part: PathBuf,
    file: Arc<File>,
    progress: watch::Sender<Progress>,
}

// === impl PackageCache ===

impl PackageCache {
    /// Loads what an earlier server cached.
    pub(super) fn open(folder: PathBuf, max_size: ByteSize) -> io::Result<Arc<Self>> {
        let parts = folder.join(PARTIAL_DIR);
        // Incomplete files are of no use.
        let _ = fs::remove_dir_all(&parts);
        fs::create_dir_all(&parts)?;
        let mut kept = HashMap::new();
        walk(&folder, &folder, &mut kept)?;
        let cache = Arc::new(Self { folder, max_size, state: Mutex::new(State { kept, ..State::default() }) });
        cache.evict(&mut cache.lock());
        Ok(cache)
    }

    /// The file with this path, if it is cached or being written.
    pub(super) fn find(&self, path: &str) -> Option<CachedFile> {
        let mut state = self.lock();
        if let Some(cached) = state.writing.get(path) {
            return Some(cached.clone());
        }
        let kept = state.kept.get_mut(path)?;
        let now = SystemTime::now();
        kept.last_used = now;
        let size = kept.size;
        // The file may have been deleted from outside.
        let Ok(file) = File::open(self.folder.join(path)) else {
            state.kept.remove(path);
            return None;
        };
        // The next server reads the order of use from the modification times.
        let _ = file.set_modified(now);
        let (_, progress) = watch::channel(Progress::Complete(size));
        Some(CachedFile { file: Arc::new(file), size: Some(size), progress })
    }

    /// Begins to write a file; if it is being written already, the writer is `None`.
    pub(super) fn insert(
        self: &Arc<Self>,
        path: &str,
        size: Option<u64>,
    ) -> io::Result<(CachedFile, Option<CacheWriter>)> {
        let mut state = self.lock();
        if let Some(cached) = state.writing.get(path) {
            return Ok((cached.clone(), None));
        }
        state.parts += 1;
        // The process id is part of the name: the previous program may still write files during an
        // upgrade.
        let part = self.folder.join(PARTIAL_DIR).join(format!("{}-{}", std::process::id(), state.parts));
        let file = Arc::new(File::options().read(true).write(true).create_new(true).open(&part)?);
        let (sender, progress) = watch::channel(Progress::Writing(0));
        let cached = CachedFile { file: file.clone(), size, progress };
        state.writing.insert(path.to_owned(), cached.clone());
        let writer = CacheWriter { cache: self.clone(), path: path.to_owned(), part, file, progress: sender };
        Ok((cached, Some(writer)))
    }

    /// Removes the least recently used files until the rest fits.
    fn evict(&self, state: &mut State) {
        while state.kept.values().map(|kept| kept.size).sum::<u64>() > self.max_size.bytes() {
            let oldest = state.kept.iter().min_by_key(|(_, kept)| kept.last_used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { return };
            state.kept.remove(&oldest);
            // Its readers have it open.
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
            if path != root.join(PARTIAL_DIR) {
                walk(root, &path, kept)?;
            }
        } else if let Some(relative) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            kept.insert(relative.to_owned(), Kept { size: meta.len(), last_used: meta.modified()? });
        }
    }
    Ok(())
}

// === impl CacheWriter ===

impl CacheWriter {
    /// Writes the body to its end. Any failure reaches the readers.
    pub(super) async fn write(self, mut body: Body, max_size: ByteSize) {
        let mut written = 0;
        // A registry that stops sending is treated as one that breaks off.
        while let Some(piece) = timeout(BODY_IDLE_TIMEOUT, body.next()).await.unwrap_or(Some(Err(BodyError::TimedOut)))
        {
            let Ok(piece) = piece else { return };
            let fits = written + piece.len() as u64 <= max_size.bytes();
            if !fits || self.file.write_all_at(&piece, written).is_err() {
                return;
            }
            written += piece.len() as u64;
            self.progress.send_replace(Progress::Writing(written));
        }
        let to = self.cache.folder.join(&self.path);
        // A file larger than the cache would evict all others.
        let fits = written <= self.cache.max_size.bytes();
        let made = || to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(&self.part, &to));
        if fits && made().is_ok() {
            let mut state = self.cache.lock();
            state.kept.insert(self.path.clone(), Kept { size: written, last_used: SystemTime::now() });
            self.cache.evict(&mut state);
        } else {
            // Its readers have it open.
            let _ = fs::remove_file(&self.part);
        }
        self.progress.send_replace(Progress::Complete(written));
    }
}

impl Drop for CacheWriter {
    fn drop(&mut self) {
        self.cache.lock().writing.remove(&self.path);
        let is_complete = matches!(*self.progress.borrow(), Progress::Complete(_));
        if !is_complete {
            let _ = fs::remove_file(&self.part);
            self.progress.send_replace(Progress::Failed);
        }
    }
}

// === impl CachedFile ===

impl CachedFile {
    /// The next piece from `at` on, as soon as it is written; `None` at the end.
    pub(super) async fn read(&mut self, at: u64) -> io::Result<Option<Vec<u8>>> {
        let seen =
            self.progress.wait_for(|progress| !matches!(progress, Progress::Writing(so_far) if *so_far <= at)).await;
        let available = match seen.map(|progress| *progress) {
            Ok(Progress::Writing(so_far) | Progress::Complete(so_far)) => so_far,
            Ok(Progress::Failed) | Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        if at >= available {
            return Ok(None);
        }
        let mut piece = vec![0; usize::try_from(available - at).unwrap_or(READ_SIZE).min(READ_SIZE)];
        self.file.read_exact_at(&mut piece, at)?;
        Ok(Some(piece))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "package_cache/tests.rs"]
mod tests;
