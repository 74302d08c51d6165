//! Resource limits of a process (`setrlimit`). Soft and hard limit are always set together, so a lowered limit stays so.

use std::io;

/// The limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Bytes of a core file.
    Core,
    /// Seconds of CPU time, of the process as a whole.
    Cpu,
    /// Bytes of data: heap and private mappings.
    Data,
    /// Bytes of address space.
    AddressSpace,
    /// Bytes of any one file.
    FileSize,
    /// One more than the highest descriptor.
    Descriptors,
    /// Processes and threads of the user as a whole; not enforced for processes with `CAP_SYS_RESOURCE` or `CAP_SYS_ADMIN`.
    Processes,
    /// Bytes of locked memory.
    LockedMemory,
    /// Bytes in message queues.
    MessageQueues,
    /// Queued signals.
    PendingSignals,
    /// Bytes of the main thread's stack.
    Stack,
}

/// Limits this process, and what it starts, to `max`. Allocates nothing.
pub fn set(resource: Resource, max: u64) -> io::Result<()> {
    let limits = libc::rlimit { rlim_cur: max, rlim_max: max };
    // SAFETY: setrlimit reads one `rlimit`, which lives to the end of the call.
    let done = unsafe { libc::setrlimit(resource.number(), &raw const limits) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The soft and the hard limit of this process; `u64::MAX`: no limit.
pub fn get(resource: Resource) -> io::Result<(u64, u64)> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes one `rlimit`, which lives to the end of the call.
    let done = unsafe { libc::getrlimit(resource.number(), &raw mut limits) };
    if done == 0 { Ok((limits.rlim_cur, limits.rlim_max)) } else { Err(io::Error::last_os_error()) }
}

// === impl Resource ===

impl Resource {
    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Resource::Core => libc::RLIMIT_CORE,
            Resource::Cpu => libc::RLIMIT_CPU,
            Resource::Data => libc::RLIMIT_DATA,
            Resource::AddressSpace => libc::RLIMIT_AS,
            Resource::FileSize => libc::RLIMIT_FSIZE,
            Resource::Descriptors => libc::RLIMIT_NOFILE,
            Resource::Processes => libc::RLIMIT_NPROC,
            Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
            Resource::MessageQueues => libc::RLIMIT_MSGQUEUE,
            Resource::PendingSignals => libc::RLIMIT_SIGPENDING,
            Resource::Stack => libc::RLIMIT_STACK,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_set_is_read_back() {
        // Of no consequence for the other tests of this process.
        set(Resource::MessageQueues, 1_000).unwrap();
        assert_eq!(get(Resource::MessageQueues).unwrap(), (1_000, 1_000));
    }
}
