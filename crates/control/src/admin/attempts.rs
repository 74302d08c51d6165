//! Wrong tokens. A client that gave many waits before its next one is looked at, right or wrong, so that guessing is slow; each
//! client's are logged, but not each of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Before a token of a suspect is looked at. Connections are few, so this bounds the guesses of all clients together.
pub(super) const DELAY: Duration = Duration::from_secs(1);
/// A slip is no attack: so many wrong tokens within a minute are.
const SUSPICIOUS: u64 = 10;
/// Wrong tokens are counted for so long; between two lines about one client lies as much.
const MINUTE: Duration = Duration::from_secs(60);
/// Clients that are remembered; the one whose minute began first makes way.
const MOST_CLIENTS: usize = 1_000;

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
        let is_many = |wrong: &Wrong| wrong.count >= SUSPICIOUS && !wrong.is_over(now);
        self.lock().get(&client).is_some_and(is_many)
    }

    /// Notes a wrong token. Says how many it were in the minute before this one, where this one has just begun.
    pub(super) fn note(&self, client: Option<IpAddr>, now: Instant) -> Option<u64> {
        let mut clients = self.lock();
        if let Some(wrong) = clients.get_mut(&client).filter(|wrong| !wrong.is_over(now)) {
            wrong.count += 1;
            return None;
        }
        if clients.len() == MOST_CLIENTS && !clients.contains_key(&client) {
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
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) >= MINUTE
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn many_wrong_tokens_are_suspicious_for_a_minute_and_logged_once_in_it() {
        let (attempts, begin) = (Attempts::default(), Instant::now());
        let client = |last| Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        assert_eq!(attempts.note(client(1), begin), Some(0));
        for _ in 1..SUSPICIOUS {
            assert!(!attempts.is_suspect(client(1), begin));
            assert_eq!(attempts.note(client(1), begin + MINUTE / 2), None);
        }
        assert!(attempts.is_suspect(client(1), begin + MINUTE / 2));
        assert!(!attempts.is_suspect(client(2), begin + MINUTE / 2), "another one");
        assert!(!attempts.is_suspect(client(1), begin + MINUTE));
        assert_eq!(attempts.note(client(1), begin + MINUTE), Some(SUSPICIOUS));
    }

    #[test]
    fn many_clients_take_no_more_memory_than_some() {
        let (attempts, begin) = (Attempts::default(), Instant::now());
        for client in 0..5_000_u32 {
            attempts.note(Some(IpAddr::V4(Ipv4Addr::from(client))), begin + Duration::from_millis(client.into()));
        }
        assert_eq!(attempts.lock().len(), MOST_CLIENTS);
    }
}
