//! Which content a file has, without reading it: a file that was written to, or put in its place, has another identity.
//!
//! The time of the last change cannot be set by programs, but it is coarse: two changes within one tick look alike. So a
//! file that changed just now is not settled, and what was read of it is not kept.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// Longer than a tick of any file system's clock.
const SETTLES_AFTER: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
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

// === impl Identity ===

impl Identity {
    pub fn of(stat: &Stat) -> Self {
        // Their types differ from system to system.
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

    /// Seconds since 1970; none for times before.
    pub fn modified(&self) -> Option<u64> {
        u64::try_from(self.modified.0 / 1_000_000_000).ok()
    }

    /// How much older its content is than that of `other`.
    pub fn older_by(&self, other: &Self) -> Duration {
        let nanos = (other.modified.0 - self.modified.0).max(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Whether a change after `now` is sure to give another identity.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
        now - self.changed.0 >= SETTLES_AFTER.as_nanos() as i128
    }
}

// === impl Etag ===

impl Etag {
    pub fn of_content(content: &[u8]) -> Self {
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

    fn identity() -> Identity {
        let folder = tempfile::tempdir().unwrap();
        Identity::of(&rustix::fs::stat(folder.path()).unwrap())
    }

    #[test]
    fn every_part_counts() {
        let one = identity();
        let others = [
            Identity { device: !one.device, ..one },
            Identity { inode: !one.inode, ..one },
            Identity { size: !one.size, ..one },
            Identity { modified: Stamp(one.modified.0 + 1), ..one },
            Identity { changed: Stamp(one.changed.0 + 1), ..one },
        ];
        assert!(others.iter().all(|other| other.etag() != one.etag()));
        assert_eq!(one.etag(), { one }.etag());
        assert!(one.etag().as_bytes().starts_with(b"\"") && one.etag().as_bytes().ends_with(b"\""));
    }

    #[test]
    fn files_settle() {
        let one = Identity { changed: Stamp(10_000_000_000), ..identity() };
        assert!(!one.is_settled(UNIX_EPOCH + Duration::from_secs(9)));
        assert!(!one.is_settled(UNIX_EPOCH + Duration::from_secs(11)));
        assert!(one.is_settled(UNIX_EPOCH + Duration::from_secs(12)));
    }

    #[test]
    fn ages() {
        let old = Identity { modified: Stamp(1_500_000_000), ..identity() };
        let new = Identity { modified: Stamp(4_000_000_000), ..old };
        assert_eq!(old.older_by(&new), Duration::from_millis(2_500));
        assert_eq!(new.older_by(&old), Duration::ZERO);
        assert_eq!(old.modified(), Some(1));
        assert_eq!(Identity { modified: Stamp(-5_000_000_000), ..old }.modified(), None);
    }
}
