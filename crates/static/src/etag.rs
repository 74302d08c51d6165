//! The identity of a file's content, without reading it: a file that was written to or replaced has
//! another identity.
//!
//! Programs cannot set the change time, but it is coarse: two changes within one clock tick have
//! the same time. A file that changed just now is therefore not settled, and its content is not
//! cached.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// Longer than the clock tick of any file system.
const SETTLES_AFTER: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    pub size: u64,
    modified: Stamp,
    changed: Stamp,
}

/// Nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Stamp(i128);

/// A strong entity tag, in its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Etag(Box<str>);

// === impl FileIdentity ===

impl FileIdentity {
    pub fn from_stat(stat: &Stat) -> Self {
        // The field types differ between systems.
        let stamp = |seconds: i128, nanos: i128| Stamp(seconds * 1_000_000_000 + nanos);
        Self {
            device: stat.st_dev as i128 as u64,
            inode: stat.st_ino as i128 as u64,
            size: stat.st_size as i128 as u64,
            modified: stamp(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            changed: stamp(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
        }
    }

    pub fn etag(&self) -> Etag {
        Etag::hash(self)
    }

    /// Seconds since 1970; `None` for earlier times.
    pub fn modified(&self) -> Option<u64> {
        u64::try_from(self.modified.0 / 1_000_000_000).ok()
    }

    /// How much older the content is than that of `other`.
    pub fn older_by(&self, other: &Self) -> Duration {
        let nanos = (other.modified.0 - self.modified.0).max(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Whether any change after `now` is certain to give another identity.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
        now - self.changed.0 >= SETTLES_AFTER.as_nanos() as i128
    }
}

// === impl Etag ===

impl Etag {
    pub fn from_content(content: &[u8]) -> Self {
        Self::hash(content)
    }

    fn hash(what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(format!("\"{:016x}\"", hasher.finish()).into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    #[cfg(test)]
    pub fn literal(text: &str) -> Self {
        Self(text.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn identity() -> FileIdentity {
        let folder = tempfile::tempdir().unwrap();
        FileIdentity::from_stat(&rustix::fs::stat(folder.path()).unwrap())
    }

    #[test]
    fn every_field_is_part_of_the_identity() {
        let one = identity();
        let others = [
            FileIdentity { device: !one.device, ..one },
            FileIdentity { inode: !one.inode, ..one },
            FileIdentity { size: !one.size, ..one },
            FileIdentity { modified: Stamp(one.modified.0 + 1), ..one },
            FileIdentity { changed: Stamp(one.changed.0 + 1), ..one },
        ];
        assert!(others.iter().all(|other| other.etag() != one.etag()));
        assert_eq!(one.etag(), { one }.etag());
        assert!(one.etag().as_bytes().starts_with(b"\"") && one.etag().as_bytes().ends_with(b"\""));
    }

    #[test]
    fn files_settle() {
        let one = FileIdentity { changed: Stamp(10_000_000_000), ..identity() };
        assert!(!one.is_settled(UNIX_EPOCH + Duration::from_secs(9)));
        assert!(!one.is_settled(UNIX_EPOCH + Duration::from_secs(11)));
        assert!(one.is_settled(UNIX_EPOCH + Duration::from_secs(12)));
    }

    #[test]
    fn ages() {
        let old = FileIdentity { modified: Stamp(1_500_000_000), ..identity() };
        let new = FileIdentity { modified: Stamp(4_000_000_000), ..old };
        assert_eq!(old.older_by(&new), Duration::from_millis(2_500));
        assert_eq!(new.older_by(&old), Duration::ZERO);
        assert_eq!(old.modified(), Some(1));
        assert_eq!(FileIdentity { modified: Stamp(-5_000_000_000), ..old }.modified(), None);
    }
}
