//! Reseeds the kernel's random number generator. A copy of a virtual machine would otherwise produce the same numbers as its
//! original, and writing to `/dev/urandom` alone changes nothing for up to a minute.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The kernel's pool holds no more entropy than this.
const MAX_SEED_BYTES: usize = 256;

/// The kernel's `rand_pool_info`, which `RNDADDENTROPY` takes.
#[repr(C)]
struct RandPoolInfo {
    bits: libc::c_int,
    length: libc::c_int,
    bytes: [u8; MAX_SEED_BYTES],
}

/// `_IOW('R', 3, int[2])` and `_IO('R', 7)`.
const ADD_ENTROPY: libc::c_ulong = 0x4008_5203;
const RESEED: libc::c_ulong = 0x5207;

/// Reseeds with at most 256 bytes of `seed`. Needs `CAP_SYS_ADMIN`.
pub fn reseed(seed: &[u8]) -> io::Result<()> {
    let urandom = File::options().write(true).open("/dev/urandom")?;
    let mut pool = RandPoolInfo { bits: 0, length: 0, bytes: [0; MAX_SEED_BYTES] };
    let length = seed.len().min(MAX_SEED_BYTES);
    pool.bytes[..length].copy_from_slice(&seed[..length]);
    pool.length = length as libc::c_int;
    pool.bits = pool.length * 8;
    // SAFETY: the kernel reads two numbers and as many bytes as the second says, which is no more than `bytes` has; `pool`
    // has the layout that it expects and lives until the call is over.
    if unsafe { libc::ioctl(urandom.as_raw_fd(), ADD_ENTROPY as _, &raw const pool) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: this one takes nothing.
    if unsafe { libc::ioctl(urandom.as_raw_fd(), RESEED as _) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
