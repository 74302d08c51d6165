//! The last act of a process that crashes: the thread that did it is marked in the page of breadcrumbs, and whoever
//! supervises the process is told at once. Freeing gigabytes takes the kernel a while, and only then would anybody notice.
//!
//! Everything here happens in a signal handler: atomics and system calls, nothing else. What handled the signal before
//! (nobody, or the standard library's watch over stack overflows) gets it afterwards.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::breadcrumbs::{Blame, Breadcrumbs};

/// How a process ends that did not want to: V8 aborts or traps, a fault faults.
const SIGNALS: [libc::c_int; 7] =
    [libc::SIGABRT, libc::SIGTRAP, libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGSYS];

/// What a process that crashes knows of itself. Asked in a signal handler, on the thread that crashed.
#[derive(Clone, Copy, Debug)]
pub struct Testimony {
    /// Writes the client's name for what the calling thread runs, and says how long it is.
    pub request: fn(&mut [u8]) -> usize,
    /// Says whose doing it is, once or not at all.
    pub blame: fn(Tell<'_>),
}

/// Where it is said.
pub type Tell<'a> = &'a mut dyn FnMut(Blame<'_>);

struct Stage {
    page: Arc<Breadcrumbs>,
    alarm: OwnedFd,
    testimony: Testimony,
    /// Who had each of the signals before, in their order.
    before: [libc::sigaction; SIGNALS.len()],
}

static STAGE: OnceLock<Stage> = OnceLock::new();
/// Whether somebody has been asked.
static ASKED: AtomicBool = AtomicBool::new(false);
/// What is told to who reads the other end.
const ALARM: [u8; 1] = [b'!'];

/// From now on a crash of this process is marked in `page`, with what the `testimony` says, and `alarm` gets a byte. The
/// first call counts.
pub fn rehearse(page: Arc<Breadcrumbs>, alarm: OwnedFd, testimony: Testimony) -> io::Result<()> {
    // SAFETY: a sigaction of zeros is the default action, with an empty mask.
    let mut before = [unsafe { std::mem::zeroed::<libc::sigaction>() }; SIGNALS.len()];
    for (signal, old) in SIGNALS.iter().zip(&mut before) {
        // SAFETY: demands room for the old action: a local. A null new action changes nothing.
        if unsafe { libc::sigaction(*signal, std::ptr::null(), old) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if STAGE.set(Stage { page, alarm, testimony, before }).is_err() {
        return Ok(());
    }
    for signal in SIGNALS {
        // SAFETY: as above.
        let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
        action.sa_sigaction = last_act as extern "C" fn(_, _, _) as usize;
        // On the thread's other stack, where it has one: the first may be what has run out.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: demands a handler of the kind that the flags say, which lives for ever and does only what may be done in one.
        if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn last_act(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(stage) = STAGE.get() else { return };
    stage.page.mark_crash();
    // Should that fault in its turn, it is left out when the fault is handled.
    if !ASKED.swap(true, Ordering::Relaxed) {
        let mut text = [0; 64];
        let length = (stage.testimony.request)(&mut text).min(text.len());
        stage.page.note_request(&text[..length]);
        (stage.testimony.blame)(&mut |blame| stage.page.note_blame(blame));
    }
    let alarm: RawFd = stage.alarm.as_raw_fd();
    // SAFETY: demands a readable byte; a descriptor that is closed is an error, which nobody is there to hear of.
    unsafe { libc::write(alarm, ALARM.as_ptr().cast(), ALARM.len()) };
    let Some(at) = SIGNALS.iter().position(|one| *one == signal) else { return };
    // SAFETY: demands an action that was valid before: it was read when this one was set.
    unsafe { libc::sigaction(signal, &raw const stage.before[at], std::ptr::null_mut()) };
    // SAFETY: SA_SIGINFO promises that it points to the signal's description.
    let cause = unsafe { (*info).si_code };
    let repeats = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE) && cause > 0;
    // A fault comes again by itself, with all that can be known about it, as soon as this returns. Others are sent again, to
    // be delivered when this returns.
    if !repeats {
        // SAFETY: demands nothing.
        unsafe { libc::raise(signal) };
    }
}
