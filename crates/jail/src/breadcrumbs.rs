//! Breadcrumbs: a shared page that says at any moment which app and request each thread is running, so that a crash can
//! be traced to its app by whoever holds the page too (another process, or the next one).
//!
//! Layout, one record of 512 bytes per thread behind a head of the same size, all fields native-endian:
//!
//! ```text
//!   0   magic "HRTHCRM2"      8   number of records (u64)
//!  16   the thread that crashed (its number in the kernel, u64, atomic); 0: none
//!  24   whose doing the crash is (u64, atomic); 0: whoever ran on that thread, 1: who is named here, 2: nobody's
//!  32   what who is named holds, in bytes (u64)
//!  40   lengths: app, version, owner (three times u16)
//!  48   the three of them, one after the other
//! 512 * (1 + n)               record n:
//!       0   request id + 1 (u64, atomic); 0: the thread runs nothing
//!       8   the thread's number in the kernel (u64, atomic); 0: the record is nobody's
//!      16   what it is doing (u64)
//!      24   lengths: app, version, owner, client's id of the request (four times u16)
//!      32   the four of them, one after the other
//! ```
//!
//! A record has one writer, its thread. The names are written before the request id (release), and the id is set to 0
//! before they change, so a reader that sees an id sees the names that go with it. After a crash nothing changes any more,
//! and the page is exact.

mod trail;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::trail::{Blamed, Crashed, Running, Trail, parse, read};

const MAGIC: &[u8; 8] = b"HRTHCRM2";
const RECORD: usize = 512;
const CRASHED: usize = 16;
const BLAME: usize = 24;
const HELD: usize = 32;
/// Where the lengths of names are, with the names behind them: of who is to blame, and of who runs, within a record.
const HOLDER: usize = 40;
const RUNNER: usize = 24;
/// The longest of each; what is longer is cut, at a character boundary.
const LONGEST: [usize; 4] = [160, 64, 160, 64];
/// What the word at `BLAME` says.
const HOLDER_DID_IT: u64 = 1;
const NOBODY_DID_IT: u64 = 2;

/// The page, mapped.
pub struct Breadcrumbs {
    base: NonNull<u8>,
    records: usize,
}

/// One thread's record, until it is dropped. Writing to it costs a few nanoseconds.
pub struct Crumb {
    page: Arc<Breadcrumbs>,
    index: usize,
    /// Whose names are there.
    subject: u64,
}

/// Whose code runs.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    pub app: &'a str,
    pub version: &'a str,
    pub owner: &'a str,
}

/// What a thread does for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Doing {
    /// Evaluating modules.
    Loading = 1,
    /// What module evaluation left running.
    Outside,
    Handling,
    /// After the response's head.
    Streaming,
    /// What was given to `waitUntil`.
    Draining,
}

/// Whose doing a crash is, as the process itself sees it.
#[derive(Clone, Copy, Debug)]
pub enum Blame<'a> {
    /// Who runs on the thread that crashed.
    Runner,
    /// Who holds so much of what all share that there was none left, whoever asked for it.
    Holder { who: Who<'a>, bytes: u64 },
    /// The thread did nobody's work.
    Nobody,
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

/// A page that belongs to no file system: whoever has the descriptor has the page.
pub fn nameless_page() -> io::Result<File> {
    // SAFETY: demands a text that ends with a zero, which it is; the result is checked.
    let fd = unsafe { libc::memfd_create(c"hearth-breadcrumbs".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: demands a descriptor that nobody else owns: it was made just now.
    Ok(unsafe { File::from_raw_fd(fd) })
}

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
        let page = Self { base, records: threads };
        // SAFETY: the mapping is `length` bytes, at least one record, and nobody else has it yet.
        unsafe { base.copy_from_nonoverlapping(NonNull::from(MAGIC).cast(), MAGIC.len()) };
        page.word(8).store(threads as u64, Ordering::Release);
        Ok(Arc::new(page))
    }

    /// A free record, for the calling thread; none when there are more threads than the page was made for.
    pub fn claim(self: &Arc<Self>) -> Option<Crumb> {
        let index = (0..self.records).find(|index| {
            let thread = self.word(RECORD * (index + 1) + 8);
            thread.compare_exchange(0, this_thread(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })?;
        Some(Crumb { page: self.clone(), index, subject: 0 })
    }

    /// The calling thread has crashed; the first that says so is the one. Safe in a signal handler.
    pub(crate) fn mark_crash(&self) {
        let _ = self.word(CRASHED).compare_exchange(0, this_thread(), Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The client's name for what the calling thread runs. Safe in a signal handler.
    pub(crate) fn note_request(&self, text: &[u8]) {
        let (thread, records) = (this_thread(), (1..=self.records).map(|n| RECORD * n));
        let Some(record) = records.into_iter().find(|at| self.word(at + 8).load(Ordering::Relaxed) == thread) else {
            return;
        };
        let lengths = self.word(record + RUNNER).load(Ordering::Relaxed);
        let before: usize = (0..3).map(|n| (lengths >> (16 * n)) as usize & 0xffff).sum();
        let length = text.len().min(LONGEST[3]);
        if RUNNER + 8 + before + length > RECORD {
            return;
        }
        // SAFETY: it ends within the record (checked above), whose only writer is the calling thread.
        unsafe {
            let to = self.base.as_ptr().add(record + RUNNER + 8 + before);
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, length);
        }
        self.word(record + RUNNER).store((lengths & 0xffff_ffff_ffff) | (length as u64) << 48, Ordering::Release);
    }

    /// Whose doing the crash of the calling thread is. Says nothing where another thread crashed first: each waits for
    /// nobody, and the page has one writer. Safe in a signal handler.
    pub(crate) fn note_blame(&self, blame: Blame<'_>) {
        if self.word(CRASHED).load(Ordering::Acquire) != this_thread() {
            return;
        }
        let word = match blame {
            Blame::Runner => return,
            Blame::Holder { who: Who { app, version, owner }, bytes } => {
                self.word(HELD).store(bytes, Ordering::Relaxed);
                self.write(HOLDER, [app, version, owner, ""]);
                HOLDER_DID_IT
            }
            Blame::Nobody => NOBODY_DID_IT,
        };
        self.word(BLAME).store(word, Ordering::Release);
    }

    /// The lengths of the names, and the names behind them. `at` is a place of the calling thread's own: its record, or the
    /// head where it is the thread that crashed.
    fn write(&self, at: usize, names: [&str; 4]) {
        let (mut lengths, mut end) = (0_u64, at + 8);
        for (n, (name, longest)) in names.into_iter().zip(LONGEST).enumerate() {
            let mut length = name.len().min(longest);
            while !name.is_char_boundary(length) {
                length -= 1;
            }
            // SAFETY: the longest names together fit behind both places within 512 bytes, none is longer than its share, and
            // the calling thread is the place's only writer (see above).
            unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), self.base.as_ptr().add(end), length) };
            lengths |= (length as u64) << (16 * n);
            end += length;
        }
        self.word(at).store(lengths, Ordering::Release);
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

/// The calling thread's number in the kernel.
fn this_thread() -> u64 {
    // SAFETY: demands nothing.
    u64::from(unsafe { libc::gettid() }.unsigned_abs())
}

// === impl Crumb ===

impl Crumb {
    /// This thread now runs `request`, of whom `subject` stands for: the names are asked for when it is another than
    /// before. Never 0, and never given to anybody else.
    pub fn set<'a>(&mut self, subject: u64, who: impl FnOnce() -> Who<'a>, request: u64, doing: Doing) {
        let record = RECORD * (self.index + 1);
        if self.subject != subject {
            self.page.word(record).store(0, Ordering::Release);
            let Who { app, version, owner } = who();
            self.page.write(record + RUNNER, [app, version, owner, ""]);
            self.subject = subject;
        }
        self.page.word(record + 16).store(doing as u64, Ordering::Relaxed);
        self.page.word(record).store(request.wrapping_add(1), Ordering::Release);
    }

    /// This thread runs nothing.
    pub fn clear(&mut self) {
        self.page.word(RECORD * (self.index + 1)).store(0, Ordering::Release);
    }
}

impl Drop for Crumb {
    /// The record is free for another thread.
    fn drop(&mut self) {
        self.clear();
        self.page.word(RECORD * (self.index + 1) + 8).store(0, Ordering::Release);
    }
}

// === impl Doing ===

impl Doing {
    fn of(word: u64) -> Option<Self> {
        [Self::Loading, Self::Outside, Self::Handling, Self::Streaming, Self::Draining]
            .into_iter()
            .find(|doing| *doing as u64 == word)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Outside => "outside",
            Self::Handling => "handling",
            Self::Streaming => "streaming",
            Self::Draining => "wait_until",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn who(app: &str) -> Who<'_> {
        Who { app, version: "1.0.0", owner: "somebody" }
    }

    #[test]
    fn what_a_thread_runs_can_be_read_from_the_file() {
        let path = std::env::temp_dir().join(format!("hearth-crumbs-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let page = Breadcrumbs::in_file(2, &file).unwrap();
        let mut first = page.claim().unwrap();
        let long = "é".repeat(100);
        let mut second = std::thread::scope(|scope| scope.spawn(|| page.claim().unwrap()).join().unwrap());
        assert!(page.claim().is_none());
        first.set(1, || who("shop"), 7, Doing::Handling);
        second.set(2, || who(&long), 8, Doing::Draining);
        page.mark_crash();
        page.note_request(b"the-clients-own");
        let trail = read(&path).unwrap();
        let shop = &trail.running[0];
        assert_eq!((&*shop.app, &*shop.version, &*shop.owner, shop.request), ("shop", "1.0.0", "somebody", 7));
        assert_eq!((shop.doing, shop.crashed), (Some(Doing::Handling), Crashed::Yes));
        assert_eq!(shop.request_text.as_deref(), Some("the-clients-own"));
        let other = &trail.running[1];
        assert_eq!((&*other.app, &*other.owner, other.crashed), (&*"é".repeat(80), "somebody", Crashed::No));
        first.set(1, || panic!("the names are there"), 9, Doing::Streaming);
        second.clear();
        let running = read(&path).unwrap().running;
        assert_eq!((running.len(), &*running[0].app, running[0].request), (1, "shop", 9));
        first.clear();
        let trail = read(&path).unwrap();
        assert_eq!((trail.running, trail.blamed), (vec![], Blamed::Runner));
        page.note_blame(Blame::Holder { who: who(&long), bytes: 3 << 30 });
        let Blamed::Holder { app, version, owner, bytes } = read(&path).unwrap().blamed else { panic!("a holder") };
        assert_eq!((&*app, &*version, &*owner, bytes), (&*"é".repeat(80), "1.0.0", "somebody", 3 << 30));
        std::thread::scope(|scope| scope.spawn(|| page.note_blame(Blame::Nobody)).join().unwrap());
        assert_ne!(read(&path).unwrap().blamed, Blamed::Nobody, "that thread did not crash");
        page.note_blame(Blame::Nobody);
        assert_eq!(read(&path).unwrap().blamed, Blamed::Nobody);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_thread_that_ends_leaves_its_record_to_another() {
        let page = Breadcrumbs::private(2).unwrap();
        let mut stays = page.claim().unwrap();
        for request in 0..10 {
            let mut goes = page.claim().expect("the one before has ended");
            goes.set(request + 1, || who("shop"), request, Doing::Handling);
            stays.set(100, || who("blog"), request, Doing::Handling);
            assert!(page.claim().is_none());
        }
    }

    #[test]
    fn garbage_is_refused() {
        assert!(parse(b"").is_err());
        assert!(parse(&[0; 1024]).is_err());
        let mut page = vec![0xff; 1100];
        page[..8].copy_from_slice(MAGIC);
        assert_eq!(parse(&page).unwrap().running.len(), 1);
    }
}
