//! Limits that the kernel holds for each process. Soft and hard are the same: what was lowered stays so.

use std::io;

/// What is limited.
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
    /// Processes and threads of the user as a whole; not held for those who have the capability to ignore it.
    Processes,
    /// Bytes of locked memory.
    LockedMemory,
    /// Bytes in message queues.
    MessageQueues,
    /// Signals that wait.
    PendingSignals,
    /// Bytes of the main thread's stack.
    Stack,
}

/// Neither this process nor what it starts gets more than `most`. Allocates nothing.
pub fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let limits = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: setrlimit reads one `rlimit`, which lives to the end of the call.
    let done = unsafe { libc::setrlimit(resource.number(), &raw const limits) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What this process may have of it (soft) and may ask for (hard); `u64::MAX`: no limit.
pub fn limits(resource: Resource) -> io::Result<(u64, u64)> {
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
    fn a_limit_is_held_from_then_on() {
        // Of no consequence for the other tests of this process.
        limit(Resource::MessageQueues, 1_000).unwrap();
        assert_eq!(limits(Resource::MessageQueues).unwrap(), (1_000, 1_000));
    }
}
