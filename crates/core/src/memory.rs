//! Memory that an app uses outside of its isolates: bodies that clients have not read yet, pipes, messages in flight.
//! It counts against one limit for each version of an app in a process, whichever worker it came from: what a worker has sent
//! may outlive it.
//!
//! Invariant: `held` is the sum of all [`Charge`]s of the account; a charge returns its bytes when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::units::ByteSize;

/// Smaller pieces are not charged: what waits of them is bounded elsewhere, and charging would cost more than they do.
const MIN_CHARGED: usize = 4 * 1024;

/// What all accounts of the process hold.
static ALL: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub struct MemoryAccount {
    held: AtomicU64,
    /// 0: none.
    limit: ByteSize,
}

/// A part of an account.
#[derive(Debug)]
pub struct Charge {
    account: Arc<MemoryAccount>,
    bytes: u64,
}

/// The account has no room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{held} of {limit} for bodies and messages on their way are in use")]
pub struct AccountFull {
    /// What would be held.
    pub held: ByteSize,
    pub limit: ByteSize,
}

struct Charged {
    bytes: Bytes,
    _charge: Charge,
}

// === impl MemoryAccount ===

impl MemoryAccount {
    pub fn new(limit: ByteSize) -> Arc<Self> {
        Arc::new(Self { held: AtomicU64::new(0), limit })
    }

    pub fn held(&self) -> ByteSize {
        ByteSize(self.held.load(Ordering::Relaxed))
    }

    /// Of all accounts of the process.
    pub fn held_by_all() -> ByteSize {
        ByteSize(ALL.load(Ordering::Relaxed))
    }

    /// A charge of nothing, to be set later.
    pub fn open(self: &Arc<Self>) -> Charge {
        Charge { account: self.clone(), bytes: 0 }
    }

    /// The same bytes, charged until the last handle to them is dropped.
    pub fn charge(self: &Arc<Self>, bytes: Bytes) -> Result<Bytes, AccountFull> {
        if bytes.len() < MIN_CHARGED {
            return Ok(bytes);
        }
        let mut charge = self.open();
        charge.try_set(bytes.len() as u64)?;
        Ok(Bytes::from_owner(Charged { bytes, _charge: charge }))
    }

    fn add(&self, more: u64) -> Result<(), AccountFull> {
        let held = self.held.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        if self.limit.bytes() > 0 && held > self.limit.bytes() {
            self.held.fetch_sub(more, Ordering::Relaxed);
            return Err(AccountFull { held: ByteSize(held), limit: self.limit });
        }
        ALL.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }

    fn sub(&self, less: u64) {
        self.held.fetch_sub(less, Ordering::Relaxed);
        ALL.fetch_sub(less, Ordering::Relaxed);
    }
}

// === impl Charge ===

impl Charge {
    /// Makes it `bytes` in all. Less is always possible.
    pub fn try_set(&mut self, bytes: u64) -> Result<(), AccountFull> {
        if bytes > self.bytes {
            self.account.add(bytes - self.bytes)?;
        } else {
            self.account.sub(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.sub(self.bytes);
    }
}

// === impl Charged ===

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_charged_until_their_last_handle_is_gone() {
        let account = MemoryAccount::new(ByteSize(10_000));
        let piece = |size| Bytes::from(vec![7; size]);
        let first = account.charge(piece(6_000)).ok();
        let part = first.as_ref().map(|first| first.slice(..10));
        assert_eq!(account.held(), ByteSize(6_000));
        let full = AccountFull { held: ByteSize(12_000), limit: ByteSize(10_000) };
        assert_eq!(account.charge(piece(6_000)), Err(full));
        drop(first);
        assert_eq!(account.held(), ByteSize(6_000), "a part keeps all of it");
        drop(part);
        assert_eq!(account.held(), ByteSize(0));
    }

    #[test]
    fn a_charge_can_grow_and_shrink() {
        let account = MemoryAccount::new(ByteSize(100));
        let mut charge = account.open();
        assert_eq!(charge.try_set(90), Ok(()));
        assert!(charge.try_set(101).is_err());
        assert_eq!(account.held(), ByteSize(90), "what could not be had changes nothing");
        assert_eq!(charge.try_set(10), Ok(()));
        drop(charge);
        assert_eq!(account.held(), ByteSize(0));
        let unlimited = MemoryAccount::new(ByteSize(0));
        assert_eq!(unlimited.open().try_set(u64::MAX / 2), Ok(()));
    }
}
