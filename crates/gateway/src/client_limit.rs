//! Limits the connections of each client.
//! Invariant: a client's count is the number of its [`ConnectionPermit`]s, and a client without any has no entry.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::peer::client_group;

#[derive(Debug)]
pub struct ClientConnectionLimit {
    /// Zero: no limit.
    limit: usize,
    by_client: Mutex<HashMap<IpAddr, usize>>,
}

/// The right to one connection; returned when it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    /// None where connections are not counted.
    counted: Option<(Arc<ClientConnectionLimit>, IpAddr)>,
}

impl ClientConnectionLimit {
    pub fn new(limit: usize) -> Self {
        Self { limit, by_client: Mutex::default() }
    }

    /// A permit for one more connection of that client, unless the client is at its limit.
    pub fn acquire(self: &Arc<Self>, client: IpAddr) -> Option<ConnectionPermit> {
        if self.limit == 0 {
            return Some(ConnectionPermit::uncounted());
        }
        let client = client_group(client);
        let mut by_client = self.lock();
        let count = by_client.entry(client).or_insert(0);
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(ConnectionPermit { counted: Some((self.clone(), client)) })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// For connections that have no limit.
    pub fn uncounted() -> Self {
        Self { counted: None }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some((client_limit, client)) = self.counted.take() else { return };
        let mut by_client = client_limit.lock();
        if let Some(count) = by_client.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                by_client.remove(&client);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_and_returned() {
        let client_limit = Arc::new(ClientConnectionLimit::new(2));
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let (first, _second) = (client_limit.acquire(a).unwrap(), client_limit.acquire(a).unwrap());
        assert!(client_limit.acquire(a).is_none());
        assert!(client_limit.acquire(b).is_some());
        drop(first);
        assert!(client_limit.acquire(a).is_some());
        assert_eq!(client_limit.lock().len(), 1);
        let unlimited = Arc::new(ClientConnectionLimit::new(0));
        assert!((0..1000).all(|_| unlimited.acquire(a).is_some()) && unlimited.lock().is_empty());
    }
}
