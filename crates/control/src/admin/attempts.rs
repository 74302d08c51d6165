//! Wrong tokens by client. After many of them the check of a client's next token, right or wrong, is delayed, so that
//! guessing is slow. Wrong tokens are logged once per client and minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Delay of a suspect's check. Connections are limited, so this bounds the guesses of all clients together.
pub(super) const DELAY: Duration = Duration::from_secs(1);
/// Wrong tokens within a minute that make a client a suspect.
const SUSPECT_THRESHOLD: u64 = 10;
/// Time over which wrong tokens are counted, and minimum time between two log lines about a client.
const MINUTE: Duration = Duration::from_secs(60);
/// Clients that are counted; the one whose minute began first is dropped.
const MAX_CLIENTS: usize = 1_000;

/// Each client's wrong tokens of this minute.
#[derive(Default)]
pub(super) struct Attempts {
    clients: Mutex<HashMap<Option<IpAddr>, Wrong>>,
}

struct Wrong {
    began: Instant,
    count: u64,
}

impl Attempts {
    pub(super) fn is_suspect(&self, client: Option<IpAddr>, now: Instant) -> bool {
        let is_many = |wrong: &Wrong| wrong.count >= SUSPECT_THRESHOLD && !wrong.has_expired(now);
        self.lock().get(&client).is_some_and(is_many)
    }

    /// Counts a wrong token. If it begins a new minute, returns the number in the last one.
    pub(super) fn record(&self, client: Option<IpAddr>, now: Instant) -> Option<u64> {
        let mut clients = self.lock();
        if let Some(wrong) = clients.get_mut(&client).filter(|wrong| !wrong.has_expired(now)) {
            wrong.count += 1;
            return None;
        }
        if clients.len() == MAX_CLIENTS && !clients.contains_key(&client) {
            let oldest = clients.iter().min_by_key(|(_, wrong)| wrong.began).map(|(client, _)| *client);
            oldest.map(|client| clients.remove(&client));
        }
        Some(clients.insert(client, Wrong { began: now, count: 1 }).map_or(0, |before| before.count))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Wrong>> {
        // Nothing that can panic runs under this lock.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wrong {
    fn has_expired(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) >= MINUTE
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_client_is_suspect_for_a_minute_and_logged_once() {
        let (attempts, begin) = (Attempts::default(), Instant::now());
        let client = |last| Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        assert_eq!(attempts.record(client(1), begin), Some(0));
        for _ in 1..SUSPECT_THRESHOLD {
            assert!(!attempts.is_suspect(client(1), begin));
            assert_eq!(attempts.record(client(1), begin + MINUTE / 2), None);
        }
        assert!(attempts.is_suspect(client(1), begin + MINUTE / 2));
        assert!(!attempts.is_suspect(client(2), begin + MINUTE / 2), "another client");
        assert!(!attempts.is_suspect(client(1), begin + MINUTE));
        assert_eq!(attempts.record(client(1), begin + MINUTE), Some(SUSPECT_THRESHOLD));
    }

    #[test]
    fn memory_is_bounded_for_many_clients() {
        let (attempts, begin) = (Attempts::default(), Instant::now());
        for client in 0..5_000_u32 {
            attempts.record(Some(IpAddr::V4(Ipv4Addr::from(client))), begin + Duration::from_millis(client.into()));
        }
        assert_eq!(attempts.lock().len(), MAX_CLIENTS);
    }
}
