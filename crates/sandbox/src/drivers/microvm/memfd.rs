//! Memfds: files in memory without a name, for the input and output of machines. Gone when closed
//! everywhere.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags};

/// Longer output is cut.
const MAX_STDERR_BYTES: u64 = 4_000;

pub(super) fn create(name: &str) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(rustix::fs::memfd_create(format!("hearth-{name}"), flags)?.into())
}

/// A sealed copy of a named file: the process that gets it need not see the original's path.
pub(super) fn copy(path: &Path, name: &str) -> io::Result<File> {
    let mut copy = create(name)?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    seal(&copy)?;
    Ok(copy)
}

/// Makes the content immutable for every holder: many machines start from it, and one of them may
/// be hostile. Fails while it is mapped writable.
pub(super) fn seal(file: &File) -> io::Result<()> {
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    Ok(rustix::fs::fcntl_add_seals(file, all)?)
}

/// The path by which a process opens its own descriptor of this number.
pub(super) fn fd_path(descriptor: usize) -> String {
    format!("/proc/self/fd/{descriptor}")
}

/// What a program wrote there, as the end of a sentence.
pub(super) fn stderr_text(file: &mut File) -> String {
    let mut words = Vec::new();
    // A read error leaves the text empty.
    let _ = file.rewind().and_then(|()| file.take(MAX_STDERR_BYTES).read_to_end(&mut words));
    match String::from_utf8_lossy(&words).trim() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_sealed_stays_as_it_is() {
        let mut file = create("test").unwrap();
        file.write_all(b"  words\n").unwrap();
        seal(&file).unwrap();
        assert!(file.write_all(b"more").is_err());
        assert!(file.set_len(0).is_err());
        let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert!(File::options().write(true).open(&again).unwrap().write_all(b"more").is_err(), "opened anew, too");
        assert_eq!(stderr_text(&mut file), "; it said: words");
    }
}
