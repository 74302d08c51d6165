//! Compiled code, so that the next cold start of the same source does not compile it again. It is
//! stored when the source is first known ([`Worker::compile`](crate::Worker::compile)), and once
//! more after its first request, with all functions that the request used.
//!
//! An entry is named by the SHA-256 of its source: V8 itself compares only the source's length, and
//! all apps of the process share the entries, so a name that could be forged would let one app's
//! code run in another. Entries have a header that is checked when they are used; V8 checks its
//! version and flags again, and what it rejects is removed. The total size is bounded; the least
//! recently used entries are evicted first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"HRTHCC01";
const HEADER: usize = 8 + 4 + 8;

/// The name of a source in the cache, for one way of compiling it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

/// How a source is compiled: the same text gives different code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SourceKind {
    Module,
    Script,
    Function,
}

pub struct CodeCache {
    entries: Mutex<Entries>,
    capacity: u64,
}

#[derive(Default)]
struct Entries {
    table: HashMap<CacheKey, Entry>,
    by_age: BTreeMap<u64, CacheKey>,
    clock: u64,
    bytes: u64,
    statistics: CodeCacheStatistics,
}

struct Entry {
    code: CachedCode,
    used: u64,
}

/// An entry's code.
#[derive(Clone)]
pub(crate) struct CachedCode {
    packed: Arc<[u8]>,
    pub(crate) exercised: Exercised,
}

/// Whether the code has served a request. V8 compiles most functions when they are first called, so
/// code that has not lacks some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exercised {
    No,
    Yes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeCacheStatistics {
    pub entries: u64,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
    pub rejected: u64,
    pub evicted: u64,
}

/// Why packed code was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    #[error("too short")]
    Short,
    #[error("not code of this cache")]
    Magic,
    #[error("made by another V8, or with other flags")]
    Version,
    #[error("damaged")]
    Checksum,
}

impl CacheKey {
    pub(crate) fn new(kind: SourceKind, source: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update([kind as u8]);
        hash.update(source.as_bytes());
        Self(hash.finalize().into())
    }
}

// === impl CodeCache ===

impl CodeCache {
    pub fn new(capacity: ByteSize) -> Self {
        Self { entries: Mutex::default(), capacity: capacity.bytes() }
    }

    pub(crate) fn has(&self, key: CacheKey) -> bool {
        self.lock().table.contains_key(&key)
    }

    pub(crate) fn get(&self, key: CacheKey) -> Option<CachedCode> {
        let mut entries = self.lock();
        let found = entries.touch(key);
        match &found {
            Some(_) => entries.statistics.hits += 1,
            None => entries.statistics.misses += 1,
        }
        found
    }

    pub(crate) fn put(&self, key: CacheKey, code: &[u8], exercised: Exercised) {
        let packed: Arc<[u8]> = pack(code).into();
        let size = packed.len() as u64;
        if size > self.capacity {
            return;
        }
        let mut entries = self.lock();
        entries.remove(key);
        while entries.bytes + size > self.capacity {
            let Some((_, &oldest)) = entries.by_age.first_key_value() else { break };
            entries.remove(oldest);
            entries.statistics.evicted += 1;
        }
        entries.insert(key, CachedCode { packed, exercised });
    }

    /// Removes code that V8 rejected.
    pub(crate) fn reject(&self, key: CacheKey) {
        let mut entries = self.lock();
        entries.remove(key);
        entries.statistics.rejected += 1;
    }

    pub fn statistics(&self) -> CodeCacheStatistics {
        let entries = self.lock();
        CodeCacheStatistics { entries: entries.table.len() as u64, bytes: entries.bytes, ..entries.statistics }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        // Nothing that can panic runs under this lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Entries ===

impl Entries {
    fn touch(&mut self, key: CacheKey) -> Option<CachedCode> {
        let entry = self.table.get_mut(&key)?;
        self.by_age.remove(&entry.used);
        self.clock += 1;
        entry.used = self.clock;
        self.by_age.insert(self.clock, key);
        Some(entry.code.clone())
    }

    fn insert(&mut self, key: CacheKey, code: CachedCode) {
        self.clock += 1;
        self.bytes += code.packed.len() as u64;
        self.by_age.insert(self.clock, key);
        self.table.insert(key, Entry { code, used: self.clock });
    }

    fn remove(&mut self, key: CacheKey) {
        if let Some(entry) = self.table.remove(&key) {
            self.by_age.remove(&entry.used);
            self.bytes -= entry.code.packed.len() as u64;
        }
    }
}

// === impl Kept ===

impl CachedCode {
    /// The code for V8, unless it was damaged.
    pub(crate) fn code(&self) -> Option<&[u8]> {
        unpack(&self.packed).ok()
    }
}

/// magic, V8's version tag, checksum, code.
pub fn pack(code: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(HEADER + code.len());
    packed.extend_from_slice(MAGIC);
    packed.extend_from_slice(&v8::script_compiler::cached_data_version_tag().to_le_bytes());
    packed.extend_from_slice(&checksum(code).to_le_bytes());
    packed.extend_from_slice(code);
    packed
}

pub fn unpack(packed: &[u8]) -> Result<&[u8], UnpackError> {
    let (header, code) = packed.split_at_checked(HEADER).ok_or(UnpackError::Short)?;
    if &header[..8] != MAGIC {
        return Err(UnpackError::Magic);
    }
    if header[8..12] != v8::script_compiler::cached_data_version_tag().to_le_bytes() {
        return Err(UnpackError::Version);
    }
    if header[12..20] != checksum(code).to_le_bytes() {
        return Err(UnpackError::Checksum);
    }
    Ok(code)
}

/// Against damage, not against forgery: entries never leave the process.
fn checksum(code: &[u8]) -> u64 {
    let mut words = code.chunks_exact(8);
    let mut sum = code.len() as u64;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn packed_code_comes_back_and_damage_is_seen() {
        let packed = pack(b"some code that is long enough");
        assert_eq!(unpack(&packed), Ok(&b"some code that is long enough"[..]));
        assert_eq!(unpack(&packed[..10]), Err(UnpackError::Short));
        let mut other = packed.clone();
        other[0] ^= 1;
        assert_eq!(unpack(&other), Err(UnpackError::Magic));
        let mut other = packed.clone();
        other[9] ^= 1;
        assert_eq!(unpack(&other), Err(UnpackError::Version));
        let mut other = packed;
        other[25] ^= 1;
        assert_eq!(unpack(&other), Err(UnpackError::Checksum));
    }

    #[test]
    fn the_least_recently_used_code_goes_first() {
        let cache = CodeCache::new(ByteSize(400));
        let key = |n: u32| CacheKey::new(SourceKind::Module, &n.to_string());
        for n in 0..3 {
            cache.put(key(n), &[0; 100], Exercised::Yes);
        }
        assert!(cache.get(key(0)).is_some());
        cache.put(key(3), &[0; 100], Exercised::Yes);
        assert!(cache.get(key(1)).is_none());
        assert!(cache.get(key(0)).is_some());
        cache.put(key(4), &[0; 1000], Exercised::Yes);
        let statistics = cache.statistics();
        assert_eq!((statistics.entries, statistics.evicted), (3, 1));
        assert!(statistics.bytes <= 400);
    }

    #[test]
    fn the_same_text_compiled_another_way_has_another_name() {
        assert!(CacheKey::new(SourceKind::Module, "x") != CacheKey::new(SourceKind::Script, "x"));
    }
}
