//! Links to files: secrets that allow reading or writing one file of one sandbox over HTTP for a
//! while, so that files need not pass through a model. A link is bound to its sandbox, path and
//! direction, and ends with its time or its sandbox. Links live in memory only, for minutes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_core::hex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::SandboxError;
use crate::id::SandboxId;
use crate::upgrade::SavedLink;

/// Lifetime of a link where none is given.
pub const LINK_TTL: Duration = Duration::from_secs(5 * 60);

/// Longest lifetime of a link.
pub const MAX_LINK_TTL: Duration = Duration::from_secs(60 * 60);

/// Links at once.
const MAX_LINKS: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Download,
    Upload,
}

/// What a link refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFile {
    pub sandbox: SandboxId,
    pub path: String,
    pub direction: Direction,
}

/// The secret part of a link. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LinkToken(String);

pub(crate) struct Links {
    all: Mutex<HashMap<LinkToken, (LinkedFile, Instant)>>,
}

impl Links {
    pub(crate) fn new() -> Self {
        Self { all: Mutex::new(HashMap::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LinkToken, (LinkedFile, Instant)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn issue(&self, file: LinkedFile, ttl: Duration) -> Result<LinkToken, SandboxError> {
        if ttl.is_zero() || ttl > MAX_LINK_TTL {
            let reason = format!("{ttl:?} is not above nothing and at most {MAX_LINK_TTL:?}");
            return Err(SandboxError::invalid("ttl", reason));
        }
        self.remove_expired();
        let token = LinkToken::random();
        let mut all = self.lock();
        if all.len() >= MAX_LINKS {
            return Err(SandboxError::TooMany { what: "links", limit: MAX_LINKS });
        }
        all.insert(token.clone(), (file, Instant::now() + ttl));
        Ok(token)
    }

    pub(crate) fn find(&self, token: &str, direction: Direction) -> Result<LinkedFile, SandboxError> {
        let all = self.lock();
        match all.get(&LinkToken(token.to_owned())) {
            Some((file, end)) if *end > Instant::now() && file.direction == direction => Ok(file.clone()),
            _ => Err(SandboxError::NoLink),
        }
    }

    /// For the next program.
    pub(crate) fn export(&self) -> Vec<SavedLink> {
        let now = Instant::now();
        let save = |(token, (file, end)): (&LinkToken, &(LinkedFile, Instant))| SavedLink {
            token: token.reveal().to_owned(),
            sandbox: file.sandbox.to_string(),
            path: file.path.clone(),
            direction: file.direction,
            left: end.saturating_duration_since(now),
        };
        self.lock().iter().map(save).collect()
    }

    /// Imports the links of the previous program. A link with an invalid sandbox id is dropped.
    pub(crate) fn import(&self, saved: Vec<SavedLink>) {
        let now = Instant::now();
        let mut all = self.lock();
        for SavedLink { token, sandbox, path, direction, left } in saved {
            if let Ok(sandbox) = sandbox.parse() {
                all.insert(LinkToken(token), (LinkedFile { sandbox, path, direction }, now + left.min(MAX_LINK_TTL)));
            }
        }
    }

    /// Removes expired links.
    pub(crate) fn remove_expired(&self) {
        let now = Instant::now();
        self.lock().retain(|_, (_, end)| *end > now);
    }
}

// === impl LinkToken ===

impl LinkToken {
    fn random() -> Self {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).expect("the system has random bytes");
        Self(hex::encode(&bytes))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_link_is_good_for_one_file_one_direction_and_a_while() {
        let links = Links::new();
        let file =
            LinkedFile { sandbox: SandboxId::random(), path: "/work/a".to_owned(), direction: Direction::Upload };
        let token = links.issue(file.clone(), MINUTE).unwrap();
        assert_eq!(token.reveal().len(), 64);
        assert_eq!(links.find(token.reveal(), Direction::Upload), Ok(file.clone()));
        assert_eq!(links.find(token.reveal(), Direction::Download), Err(SandboxError::NoLink));
        assert_eq!(links.find("", Direction::Upload), Err(SandboxError::NoLink));
        tokio::time::advance(MINUTE).await;
        assert_eq!(links.find(token.reveal(), Direction::Upload), Err(SandboxError::NoLink));
        links.remove_expired();
        assert!(links.lock().is_empty());
        for ttl in [Duration::ZERO, MAX_LINK_TTL + MINUTE] {
            assert!(matches!(links.issue(file.clone(), ttl), Err(SandboxError::InvalidArgument { field: "ttl", .. })));
        }
    }
}
