//! What a command writes while it runs, told to a client that asked for it (`progressToken`): the new output as the message,
//! the bytes so far as the progress. At most a few times a second, and only the end of what came meanwhile where that is
//! much; the result has everything.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::Instant;

use crate::output::whole_characters;

const PAUSE: Duration = Duration::from_millis(100);
/// Of a message.
const LONGEST: usize = 4 * 1024;

/// The default tells nobody.
#[derive(Default)]
pub(crate) struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    /// Written since the last word.
    fresh: Vec<u8>,
    total: u64,
    last: Option<Instant>,
}

impl Progress {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let to = context.meta.get_progress_token().map(|token| (context.peer.clone(), token));
        Self { to, ..Self::default() }
    }

    pub(crate) fn wrote(&mut self, bytes: &[u8]) {
        if self.to.is_none() {
            return;
        }
        self.total += bytes.len() as u64;
        self.fresh.extend_from_slice(bytes);
        if self.fresh.len() > 2 * LONGEST {
            self.fresh.drain(..self.fresh.len() - LONGEST);
        }
    }

    /// When there is something to say, if there is.
    pub(crate) fn due(&self) -> Option<Instant> {
        let is_fresh = self.to.is_some() && !self.fresh.is_empty();
        is_fresh.then(|| self.last.map_or_else(Instant::now, |last| last + PAUSE))
    }

    pub(crate) async fn speak(&mut self) {
        let Some((peer, token)) = &self.to else { return };
        let shown = whole_characters(&self.fresh).len();
        let message = String::from_utf8_lossy(&self.fresh[shown.saturating_sub(LONGEST)..shown]).into_owned();
        self.fresh.drain(..shown);
        self.last = Some(Instant::now());
        #[allow(clippy::cast_precision_loss)]
        let progress = self.total as f64;
        let word = ProgressNotificationParam::new(token.clone(), progress).with_message(message);
        if peer.notify_progress(word).await.is_err() {
            // Nobody listens any more.
            self.to = None;
        }
    }
}
