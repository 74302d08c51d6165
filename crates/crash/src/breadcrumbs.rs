//! Breadcrumbs: a shared page that says at any moment which app and request each thread is running, so that another process
//! that has the page (the supervisor, or the next process) can trace a crash to its app.
//!
//! Layout: one record of 512 bytes per thread, behind a head of the same size; all fields native-endian:
//!
//! ```text
//!   0   magic "HRTHCRM2"      8   number of records (u64)
//!  16   kernel id of the thread that crashed (u64, atomic); 0: none
//!  24   attribution (u64, atomic); 0: the app that ran on that thread, 1: the app named here, 2: no app
//!  32   bytes that the app named here holds (u64)
//!  40   lengths of app, version, owner (three times u16)
//!  48   the three of them, one after the other
//! 512 * (1 + n)               record n:
//!       0   request id + 1 (u64, atomic); 0: the thread runs nothing
//!       8   kernel id of the thread (u64, atomic); 0: the record is free
//!      16   phase of its turn (u64)
//!      24   lengths of app, version, owner, client's id of the request (four times u16)
//!      32   the four of them, one after the other
//! ```
//!
//! Invariants: a record has one writer, its thread. The names are written before the request id (release), and the id is set
//! to 0 before they change, so a reader that sees an id sees the names that go with it. After a crash nothing changes any
//! more, and the page is exact.

mod reader;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::reader::{AttributionRecord, CrashTrail, Crashed, Running, parse, read};

const MAGIC: &[u8; 8] = b"HRTHCRM2";
const RECORD_BYTES: usize = 512;
const CRASHED_THREAD: usize = 16;
const ATTRIBUTION: usize = 24;
const HELD_BYTES: usize = 32;
/// Offsets of the lengths of names, which the names follow: in the head, of the app that holds too much; in a record, of the
/// app that runs.
const HOLDER_NAMES: usize = 40;
const RUNNER_NAMES: usize = 24;
/// Longest app, version, owner and client's id; longer ones are cut at a character boundary.
const MAX_NAME_BYTES: [usize; 4] = [160, 64, 160, 64];
/// Values of the word at `ATTRIBUTION`.
const ATTRIBUTED_TO_HOLDER: u64 = 1;
const ATTRIBUTED_TO_NO_APP: u64 = 2;

/// The page, mapped.
pub struct Breadcrumbs {
    base: NonNull<u8>,
    records: usize,
}

/// One thread's record, until it is dropped. Writing to it costs a few nanoseconds.
pub struct BreadcrumbWriter {
    page: Arc<Breadcrumbs>,
    index: usize,
    /// Key of the app whose names are in the record.
    app_key: u64,
}

/// The app whose code runs.
#[derive(Clone, Copy, Debug)]
pub struct AppRef<'a> {
    pub app: &'a str,
    pub version: &'a str,
    pub owner: &'a str,
}

/// What a thread is doing for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum TurnPhase {
    /// Evaluating modules.
    Loading = 1,
    /// What module evaluation left running.
    OutsideRequests,
    Handling,
    /// After the response's head.
    Streaming,
    /// What was given to `waitUntil`.
    Draining,
}

/// The app that caused a crash, as the process itself sees it.
#[derive(Clone, Copy, Debug)]
pub enum Attribution<'a> {
    /// The one that runs on the thread that crashed.
    Runner,
    /// The one that holds so much of the shared memory that an allocation of any app would have failed.
    Holder { app: AppRef<'a>, bytes: u64 },
    /// None: the thread ran no app's code.
    NoApp,
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
// `BreadcrumbWriter`, of which there is one per record.
unsafe impl Send for Breadcrumbs {}
// SAFETY: as above.
unsafe impl Sync for Breadcrumbs {}

/// A page in memory without a file (memfd). It is shared by passing its descriptor.
pub fn anonymous_page() -> io::Result<File> {
    // SAFETY: demands a text that ends with a zero, which it is; the result is checked.
    let fd = unsafe { libc::memfd_create(c"hearth-breadcrumbs".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: demands a descriptor without another owner: it was created just now.
    Ok(unsafe { File::from_raw_fd(fd) })
}

impl Breadcrumbs {
    /// A page that only this process sees.
    pub fn private(threads: usize) -> Result<Arc<Self>, BreadcrumbError> {
        Self::map(threads, None)
    }

    /// A page in `file`, which is grown as needed. Every process that maps or reads the file sees the same page.
    pub fn in_file(threads: usize, file: &File) -> Result<Arc<Self>, BreadcrumbError> {
        let length = (RECORD_BYTES * (threads + 1)) as u64;
        file.set_len(length).map_err(BreadcrumbError::Map)?;
        Self::map(threads, Some(file))
    }

    fn map(threads: usize, file: Option<&File>) -> Result<Arc<Self>, BreadcrumbError> {
        let length = RECORD_BYTES * (threads + 1);
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
        // SAFETY: the mapping is `length` bytes, at least one record, and no other code has it yet.
        unsafe { base.copy_from_nonoverlapping(NonNull::from(MAGIC).cast(), MAGIC.len()) };
        page.word(8).store(threads as u64, Ordering::Release);
        Ok(Arc::new(page))
    }

    /// Claims a free record for the calling thread; `None` when there are more threads than the page was made for.
    pub fn claim(self: &Arc<Self>) -> Option<BreadcrumbWriter> {
        let index = (0..self.records).find(|index| {
            let thread = self.word(RECORD_BYTES * (index + 1) + 8);
            thread.compare_exchange(0, this_thread(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })?;
        Some(BreadcrumbWriter { page: self.clone(), index, app_key: 0 })
    }

    /// Marks the calling thread as the one that crashed, unless another one is marked. Safe in a signal handler.
    pub(crate) fn mark_crash(&self) {
        let _ = self.word(CRASHED_THREAD).compare_exchange(0, this_thread(), Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Records the client's id of the request that the calling thread runs. Safe in a signal handler.
    pub(crate) fn record_request_id(&self, text: &[u8]) {
        let (thread, records) = (this_thread(), (1..=self.records).map(|n| RECORD_BYTES * n));
        let Some(record) = records.into_iter().find(|at| self.word(at + 8).load(Ordering::Relaxed) == thread) else {
            return;
        };
        let lengths = self.word(record + RUNNER_NAMES).load(Ordering::Relaxed);
        let before: usize = (0..3).map(|n| (lengths >> (16 * n)) as usize & 0xffff).sum();
        let length = text.len().min(MAX_NAME_BYTES[3]);
        if RUNNER_NAMES + 8 + before + length > RECORD_BYTES {
            return;
        }
        // SAFETY: it ends within the record (checked above), whose only writer is the calling thread.
        unsafe {
            let to = self.base.as_ptr().add(record + RUNNER_NAMES + 8 + before);
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, length);
        }
        self.word(record + RUNNER_NAMES).store((lengths & 0xffff_ffff_ffff) | (length as u64) << 48, Ordering::Release);
    }

    /// Records the app that caused the crash of the calling thread. Does nothing where another thread crashed first, so the
    /// head has one writer and no thread waits for another. Safe in a signal handler.
    pub(crate) fn record_attribution(&self, attribution: Attribution<'_>) {
        if self.word(CRASHED_THREAD).load(Ordering::Acquire) != this_thread() {
            return;
        }
        let word = match attribution {
            Attribution::Runner => return,
            Attribution::Holder { app: AppRef { app, version, owner }, bytes } => {
                self.word(HELD_BYTES).store(bytes, Ordering::Relaxed);
                self.write(HOLDER_NAMES, [app, version, owner, ""]);
                ATTRIBUTED_TO_HOLDER
            }
            Attribution::NoApp => ATTRIBUTED_TO_NO_APP,
        };
        self.word(ATTRIBUTION).store(word, Ordering::Release);
    }

    /// Writes the lengths of the names, and the names behind them. `at` is an offset that only the calling thread writes to:
    /// in its record, or in the head if it is the thread that crashed.
    fn write(&self, at: usize, names: [&str; 4]) {
        let (mut lengths, mut end) = (0_u64, at + 8);
        for (n, (name, longest)) in names.into_iter().zip(MAX_NAME_BYTES).enumerate() {
            let mut length = name.len().min(longest);
            while !name.is_char_boundary(length) {
                length -= 1;
            }
            // SAFETY: the longest names together fit behind both offsets within 512 bytes, none is longer than its share, and
            // the calling thread is the only writer there (see above).
            unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), self.base.as_ptr().add(end), length) };
            lengths |= (length as u64) << (16 * n);
            end += length;
        }
        self.word(at).store(lengths, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= RECORD_BYTES * (self.records + 1));
        // SAFETY: the offset lies in the mapping (asserted above), which is page-aligned and lives as long as `self`;
        // the word is only ever accessed as an atomic.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Breadcrumbs {
    fn drop(&mut self) {
        // SAFETY: the address and length are those of the mapping made in `map`; no `BreadcrumbWriter` is left, since each
        // holds an Arc.
        unsafe { libc::munmap(self.base.as_ptr().cast(), RECORD_BYTES * (self.records + 1)) };
    }
}

/// The calling thread's id in the kernel.
fn this_thread() -> u64 {
    // SAFETY: demands nothing.
    u64::from(unsafe { libc::gettid() }.unsigned_abs())
}

// === impl BreadcrumbWriter ===

impl BreadcrumbWriter {
    /// Records that this thread now runs `request` of the app that `app_key` stands for. `app` is called for its names only
    /// when the key differs from that of the call before. A key is never 0, and never stands for two apps.
    pub fn set<'a>(&mut self, app_key: u64, app: impl FnOnce() -> AppRef<'a>, request: u64, phase: TurnPhase) {
        let record = RECORD_BYTES * (self.index + 1);
        if self.app_key != app_key {
            self.page.word(record).store(0, Ordering::Release);
            let AppRef { app, version, owner } = app();
            self.page.write(record + RUNNER_NAMES, [app, version, owner, ""]);
            self.app_key = app_key;
        }
        self.page.word(record + 16).store(phase as u64, Ordering::Relaxed);
        self.page.word(record).store(request.wrapping_add(1), Ordering::Release);
    }

    /// Records that this thread runs nothing.
    pub fn clear(&mut self) {
        self.page.word(RECORD_BYTES * (self.index + 1)).store(0, Ordering::Release);
    }
}

impl Drop for BreadcrumbWriter {
    /// Frees the record for another thread.
    fn drop(&mut self) {
        self.clear();
        self.page.word(RECORD_BYTES * (self.index + 1) + 8).store(0, Ordering::Release);
    }
}

// === impl TurnPhase ===

impl TurnPhase {
    fn from_word(word: u64) -> Option<Self> {
        [Self::Loading, Self::OutsideRequests, Self::Handling, Self::Streaming, Self::Draining]
            .into_iter()
            .find(|phase| *phase as u64 == word)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::OutsideRequests => "outside",
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

    fn app_ref(app: &str) -> AppRef<'_> {
        AppRef { app, version: "1.0.0", owner: "ann" }
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
        first.set(1, || app_ref("shop"), 7, TurnPhase::Handling);
        second.set(2, || app_ref(&long), 8, TurnPhase::Draining);
        page.mark_crash();
        page.record_request_id(b"the-clients-own");
        let trail = read(&path).unwrap();
        let shop = &trail.running[0];
        assert_eq!((&*shop.app, &*shop.version, &*shop.owner, shop.request), ("shop", "1.0.0", "ann", 7));
        assert_eq!((shop.phase, shop.crashed), (Some(TurnPhase::Handling), Crashed::Yes));
        assert_eq!(shop.request_text.as_deref(), Some("the-clients-own"));
        let other = &trail.running[1];
        assert_eq!((&*other.app, &*other.owner, other.crashed), (&*"é".repeat(80), "ann", Crashed::No));
        first.set(1, || panic!("the names are there"), 9, TurnPhase::Streaming);
        second.clear();
        let running = read(&path).unwrap().running;
        assert_eq!((running.len(), &*running[0].app, running[0].request), (1, "shop", 9));
        first.clear();
        let trail = read(&path).unwrap();
        assert_eq!((trail.running, trail.attribution), (vec![], AttributionRecord::Runner));
        page.record_attribution(Attribution::Holder { app: app_ref(&long), bytes: 3 << 30 });
        let AttributionRecord::Holder { app, version, owner, bytes } = read(&path).unwrap().attribution else {
            panic!("a holder")
        };
        assert_eq!((&*app, &*version, &*owner, bytes), (&*"é".repeat(80), "1.0.0", "ann", 3 << 30));
        std::thread::scope(|scope| scope.spawn(|| page.record_attribution(Attribution::NoApp)).join().unwrap());
        assert_ne!(read(&path).unwrap().attribution, AttributionRecord::NoApp, "that thread did not crash");
        page.record_attribution(Attribution::NoApp);
        assert_eq!(read(&path).unwrap().attribution, AttributionRecord::NoApp);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_record_of_a_thread_that_ends_is_claimed_by_another() {
        let page = Breadcrumbs::private(2).unwrap();
        let mut stays = page.claim().unwrap();
        for request in 0..10 {
            let mut goes = page.claim().expect("the one before has ended");
            goes.set(request + 1, || app_ref("shop"), request, TurnPhase::Handling);
            stays.set(100, || app_ref("blog"), request, TurnPhase::Handling);
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
