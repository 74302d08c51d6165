//! Handler of fatal signals: marks the thread that crashed in the page of breadcrumbs and writes a byte to the supervisor's
//! alarm pipe. Without the alarm the supervisor would notice only after the kernel has freed the process's memory, which
//! takes a while for gigabytes.
//!
//! What must stay true: the handler uses atomics and system calls only, since it runs in a signal handler. The action that the
//! signal had before (the default, or the standard library's detection of stack overflows) is restored and gets the signal
//! afterwards.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::breadcrumbs::{Attribution, Breadcrumbs};

/// Signals of a crash: V8 aborts or traps, the processor faults.
const SIGNALS: [libc::c_int; 7] =
    [libc::SIGABRT, libc::SIGTRAP, libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGSYS];

/// What the process knows of its own crash. Called in a signal handler, on the thread that crashed.
#[derive(Clone, Copy, Debug)]
pub struct CrashHooks {
    /// Writes the client's id of the request that the calling thread runs, and returns its length.
    pub write_request_id: fn(&mut [u8]) -> usize,
    /// Calls the sink with the app that caused the crash, once or not at all.
    pub attribute: fn(AttributionSink<'_>),
}

/// Takes the attribution of a crash.
pub type AttributionSink<'a> = &'a mut dyn FnMut(Attribution<'_>);

struct HandlerState {
    page: Arc<Breadcrumbs>,
    alarm: OwnedFd,
    hooks: CrashHooks,
    /// The action that each of [`SIGNALS`] had before, in the same order.
    before: [libc::sigaction; SIGNALS.len()],
}

static HANDLER: OnceLock<HandlerState> = OnceLock::new();
/// Whether the hooks have been called.
static HOOKS_CALLED: AtomicBool = AtomicBool::new(false);
/// What the supervisor reads from the other end of the alarm pipe.
const ALARM: [u8; 1] = [b'!'];

/// Installs the handler: from now on a crash of this process is marked in `page`, with what the `hooks` say, and `alarm` gets
/// a byte. Only the first call has an effect.
pub fn install(page: Arc<Breadcrumbs>, alarm: OwnedFd, hooks: CrashHooks) -> io::Result<()> {
    // SAFETY: a sigaction of zeros is the default action, with an empty mask.
    let mut before = [unsafe { std::mem::zeroed::<libc::sigaction>() }; SIGNALS.len()];
    for (signal, old) in SIGNALS.iter().zip(&mut before) {
        // SAFETY: demands room for the old action: a local. A null new action changes nothing.
        if unsafe { libc::sigaction(*signal, std::ptr::null(), old) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if HANDLER.set(HandlerState { page, alarm, hooks, before }).is_err() {
        return Ok(());
    }
    for signal in SIGNALS {
        // SAFETY: as above.
        let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
        action.sa_sigaction = handle_crash as extern "C" fn(_, _, _) as usize;
        // On the thread's alternate stack, where it has one: the crash may be an overflow of the first.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: demands a handler of the kind that the flags say, which lives for ever and does only what may be done in one.
        if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn handle_crash(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(state) = HANDLER.get() else { return };
    state.page.mark_crash();
    // If the hooks fault themselves, the handler runs again and leaves them out.
    if !HOOKS_CALLED.swap(true, Ordering::Relaxed) {
        let mut text = [0; 64];
        let length = (state.hooks.write_request_id)(&mut text).min(text.len());
        state.page.record_request_id(&text[..length]);
        (state.hooks.attribute)(&mut |attribution| state.page.record_attribution(attribution));
    }
    let alarm: RawFd = state.alarm.as_raw_fd();
    // SAFETY: demands a readable byte; writing to a closed descriptor is an error, which a crashing process can ignore.
    unsafe { libc::write(alarm, ALARM.as_ptr().cast(), ALARM.len()) };
    let Some(at) = SIGNALS.iter().position(|one| *one == signal) else { return };
    // SAFETY: demands an action that was valid before: it was read when this one was set.
    unsafe { libc::sigaction(signal, &raw const state.before[at], std::ptr::null_mut()) };
    // SAFETY: SA_SIGINFO promises that it points to the signal's description.
    let cause = unsafe { (*info).si_code };
    let repeats = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE) && cause > 0;
    // A fault of the processor comes again by itself, with its full description, as soon as this returns. Other signals are
    // raised again, to be delivered when this returns.
    if !repeats {
        // SAFETY: demands nothing.
        unsafe { libc::raise(signal) };
    }
}
