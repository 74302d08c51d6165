//! The kernel's random numbers, made different. A copy of a virtual machine would otherwise say the same as its original, and
//! writing to `/dev/urandom` alone changes nothing for up to a minute.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// As much as anybody needs.
const MOST: usize = 256;

/// What `RNDADDENTROPY` takes.
#[repr(C)]
struct Pool {
    bits: libc::c_int,
    length: libc::c_int,
    bytes: [u8; MOST],
}

/// `_IOW('R', 3, int[2])` and `_IO('R', 7)`.
const ADD_ENTROPY: libc::c_ulong = 0x4008_5203;
const RESEED: libc::c_ulong = 0x5207;

/// Begins anew with `seed`, at most 256 bytes of it. Needs the right to administer the system.
pub fn reseed(seed: &[u8]) -> io::Result<()> {
    let urandom = File::options().write(true).open("/dev/urandom")?;
    let mut pool = Pool { bits: 0, length: 0, bytes: [0; MOST] };
    let length = seed.len().min(MOST);
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
