//! Connections of each client, counted where that is limited.
//! Invariant: a count is as high as its client has [`Place`]s, and a client without any has no entry.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::peer::client_group;

#[derive(Debug)]
pub struct Crowd {
    /// Zero: no limit.
    limit: usize,
    by_client: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection's place.
#[derive(Debug)]
pub struct Place {
    /// Nothing to be given back where nothing is counted.
    counted: Option<(Arc<Crowd>, IpAddr)>,
}

impl Crowd {
    pub fn new(limit: usize) -> Self {
        Self { limit, by_client: Mutex::default() }
    }

    /// A place for one more connection of that client, unless it has as many as it may.
    pub fn enter(self: &Arc<Self>, client: IpAddr) -> Option<Place> {
        if self.limit == 0 {
            return Some(Place::uncounted());
        }
        let client = client_group(client);
        let mut by_client = self.lock();
        let count = by_client.entry(client).or_insert(0);
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(Place { counted: Some((self.clone(), client)) })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// For those that no limit concerns.
    pub fn uncounted() -> Self {
        Self { counted: None }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((crowd, client)) = self.counted.take() else { return };
        let mut by_client = crowd.lock();
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
    fn places_are_limited_and_given_back() {
        let crowd = Arc::new(Crowd::new(2));
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let (first, _second) = (crowd.enter(a).unwrap(), crowd.enter(a).unwrap());
        assert!(crowd.enter(a).is_none());
        assert!(crowd.enter(b).is_some());
        drop(first);
        assert!(crowd.enter(a).is_some());
        assert_eq!(crowd.lock().len(), 1);
        let unlimited = Arc::new(Crowd::new(0));
        assert!((0..1000).all(|_| unlimited.enter(a).is_some()) && unlimited.lock().is_empty());
    }
}
