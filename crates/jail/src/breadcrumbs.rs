//! Breadcrumbs: a shared page that says at any moment which app and request each thread is running, so that a crash can
//! be traced to its app by whoever holds the page too (another process, or the next one).
//!
//! Layout, 4 KiB per 31 threads, all fields native-endian:
//!
//! ```text
//!   0   magic "HRTHCRM1"      8   number of records (u64)     16..128 reserved
//! 128 * (1 + n)               record n:
//!       0   request id (u64, atomic); 0: the thread runs nothing
//!       8   length of the name (u64, atomic)
//!      16   the app's name, at most 112 bytes, cut at a character boundary
//! ```
//!
//! A record has one writer, its thread. The name is written before the request id (release), and the id is set to 0
//! before the name changes, so a reader that sees an id sees the name that goes with it. After a crash nothing changes
//! any more, and the page is exact.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const MAGIC: &[u8; 8] = b"HRTHCRM1";
const RECORD: usize = 128;
const NAME: usize = 112;

/// The page, mapped. Records are handed out once each and never taken back: threads that run JavaScript are few.
pub struct Breadcrumbs {
    base: NonNull<u8>,
    records: usize,
    taken: AtomicUsize,
}

/// One thread's record. Writing to it costs a few nanoseconds.
pub struct Crumb {
    page: Arc<Breadcrumbs>,
    index: usize,
}

/// What a thread was running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub thread: usize,
    pub app: String,
    pub request: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum BreadcrumbError {
    #[error("cannot map the breadcrumbs: {0}")]
    Map(#[source] io::Error),
    #[error("cannot read the breadcrumbs: {0}")]
    Read(#[source] io::Error),
    #[error("not a breadcrumb file")]
    NotBreadcrumbs,
}

// SAFETY: the mapping is plain shared memory that lives as long as the value; all access goes through atomics or through
// `Crumb`, of which there is one per record.
unsafe impl Send for Breadcrumbs {}
// SAFETY: as above.
unsafe impl Sync for Breadcrumbs {}

impl Breadcrumbs {
    /// A page of this process's own.
    pub fn private(threads: usize) -> Result<Arc<Self>, BreadcrumbError> {
        Self::map(threads, None)
    }

    /// A page in `file`, which is grown as needed: whoever maps or reads the file later sees the same.
    pub fn in_file(threads: usize, file: &File) -> Result<Arc<Self>, BreadcrumbError> {
        let length = (RECORD * (threads + 1)) as u64;
        file.set_len(length).map_err(BreadcrumbError::Map)?;
        Self::map(threads, Some(file))
    }

    fn map(threads: usize, file: Option<&File>) -> Result<Arc<Self>, BreadcrumbError> {
        let length = RECORD * (threads + 1);
        let (flags, fd) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: mmap demands nothing of a null hint; the descriptor, if any, is open for the length of the call, and the
        // result is checked below.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(BreadcrumbError::Map(io::Error::last_os_error()));
        }
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never returns null without MAP_FIXED");
        let page = Self { base, records: threads, taken: AtomicUsize::new(0) };
        // SAFETY: the mapping is `length` bytes, at least one record, and nobody else has it yet.
        unsafe { base.copy_from_nonoverlapping(NonNull::from(MAGIC).cast(), MAGIC.len()) };
        page.word(8).store(threads as u64, Ordering::Release);
        Ok(Arc::new(page))
    }

    /// The next free record; none when there are more threads than the page was made for.
    pub fn claim(self: &Arc<Self>) -> Option<Crumb> {
        let index = self.taken.fetch_add(1, Ordering::Relaxed);
        (index < self.records).then(|| Crumb { page: self.clone(), index })
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset % 8 == 0 && offset + 8 <= RECORD * (self.records + 1));
        // SAFETY: the offset lies in the mapping (asserted above), which is page-aligned and lives as long as `self`;
        // the word is only ever accessed as an atomic.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Breadcrumbs {
    fn drop(&mut self) {
        // SAFETY: the address and length are those of the mapping made in `map`; no `Crumb` is left, for each holds an Arc.
        unsafe { libc::munmap(self.base.as_ptr().cast(), RECORD * (self.records + 1)) };
    }
}

// === impl Crumb ===

impl Crumb {
    /// This thread now runs `request` of `app`.
    pub fn set(&mut self, app: &str, request: u64) {
        let record = RECORD * (self.index + 1);
        self.page.word(record).store(0, Ordering::Release);
        let mut length = app.len().min(NAME);
        while !app.is_char_boundary(length) {
            length -= 1;
        }
        self.page.word(record + 8).store(length as u64, Ordering::Release);
        // SAFETY: the record has NAME bytes for the name behind its two words, `length` is at most that, and this is the
        // record's only writer (`&mut self`, one Crumb per record).
        unsafe {
            std::ptr::copy_nonoverlapping(app.as_ptr(), self.page.base.as_ptr().add(record + 16), length);
        }
        self.page.word(record).store(request.wrapping_add(1), Ordering::Release);
    }

    /// This thread runs nothing.
    pub fn clear(&mut self) {
        self.page.word(RECORD * (self.index + 1)).store(0, Ordering::Release);
    }
}

/// Reads a page that another process left in a file: what each of its threads was running.
pub fn read(path: &Path) -> Result<Vec<Running>, BreadcrumbError> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(BreadcrumbError::Read)?;
    parse(&bytes)
}

/// The same, of bytes that may be anything.
pub fn parse(bytes: &[u8]) -> Result<Vec<Running>, BreadcrumbError> {
    if bytes.len() < RECORD || &bytes[..8] != MAGIC {
        return Err(BreadcrumbError::NotBreadcrumbs);
    }
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let mut running = Vec::new();
    for (thread, record) in bytes.chunks_exact(RECORD).skip(1).enumerate() {
        let at = RECORD * (thread + 1);
        let request = word(at);
        if request != 0 {
            let length = (word(at + 8) as usize).min(NAME);
            let app = String::from_utf8_lossy(&record[16..16 + length]).into_owned();
            running.push(Running { thread, app, request: request - 1 });
        }
    }
    Ok(running)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_runs_can_be_read_from_the_file() {
        let path = std::env::temp_dir().join(format!("hearth-crumbs-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let page = Breadcrumbs::in_file(2, &file).unwrap();
        let mut first = page.claim().unwrap();
        let mut second = page.claim().unwrap();
        assert!(page.claim().is_none());
        first.set("shop", 7);
        second.set(&"é".repeat(100), 8);
        let running = read(&path).unwrap();
        assert_eq!(running[0], Running { thread: 0, app: "shop".into(), request: 7 });
        assert_eq!(running[1].app, "é".repeat(56));
        first.clear();
        second.clear();
        assert_eq!(read(&path).unwrap(), []);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn garbage_is_refused() {
        assert!(parse(b"").is_err());
        assert!(parse(&[0; 256]).is_err());
        let mut page = vec![0xff; 300];
        page[..8].copy_from_slice(MAGIC);
        assert_eq!(parse(&page).unwrap().len(), 1);
    }
}
