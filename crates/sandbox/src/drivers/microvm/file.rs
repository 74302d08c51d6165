//! Files in memory, without a name: what goes into machines and what comes out of them. Gone when nobody has them open.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags};

/// Longer words are cut.
const WORDS: u64 = 4_000;

pub(super) fn nameless(name: &str) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(rustix::fs::memfd_create(format!("hearth-{name}"), flags)?.into())
}

/// A copy of one that has a name: who is given it need not be let see where it came from.
pub(super) fn copy(path: &Path, name: &str) -> io::Result<File> {
    let mut copy = nameless(name)?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    seal(&copy)?;
    Ok(copy)
}

/// Nobody can change it any more, whoever has it open: many machines begin with it, and one of them may be hostile. Fails
/// while somebody has it mapped to write to.
pub(super) fn seal(file: &File) -> io::Result<()> {
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    Ok(rustix::fs::fcntl_add_seals(file, all)?)
}

/// Where a process finds the file that is its descriptor of this number.
pub(super) fn inside(descriptor: usize) -> String {
    format!("/proc/self/fd/{descriptor}")
}

/// What somebody wrote there as complaints, as the end of a sentence.
pub(super) fn words(file: &mut File) -> String {
    let mut words = Vec::new();
    // Nothing can be said of why it cannot be read.
    let _ = file.rewind().and_then(|()| file.take(WORDS).read_to_end(&mut words));
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
        let mut file = nameless("test").unwrap();
        file.write_all(b"  words\n").unwrap();
        seal(&file).unwrap();
        assert!(file.write_all(b"more").is_err());
        assert!(file.set_len(0).is_err());
        let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert!(File::options().write(true).open(&again).unwrap().write_all(b"more").is_err(), "opened anew, too");
        assert_eq!(words(&mut file), "; it said: words");
    }
}
