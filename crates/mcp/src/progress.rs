//! Progress notifications of a running command, for a client that asked for them (`progressToken`): the new output is the
//! message, the number of bytes so far the progress. They are sent a few times a second at most, and contain only the end of
//! what was written meanwhile if that is long; the result contains all of it.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::Instant;

use crate::output::without_partial_character;

const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// The default sends nothing.
#[derive(Default)]
pub struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    /// Written since the last notification.
    unsent: Vec<u8>,
    total: u64,
    last: Option<Instant>,
}

impl Progress {
    pub(crate) fn for_request(context: &RequestContext<RoleServer>) -> Self {
        let to = context.meta.get_progress_token().map(|token| (context.peer.clone(), token));
        Self { to, ..Self::default() }
    }

    pub(crate) fn record(&mut self, bytes: &[u8]) {
        if self.to.is_none() {
            return;
        }
        self.total += bytes.len() as u64;
        self.unsent.extend_from_slice(bytes);
        if self.unsent.len() > 2 * MAX_MESSAGE_BYTES {
            self.unsent.drain(..self.unsent.len() - MAX_MESSAGE_BYTES);
        }
    }

    /// When the next notification is due; `None` if there is no new output.
    pub(crate) fn due(&self) -> Option<Instant> {
        let has_unsent = self.to.is_some() && !self.unsent.is_empty();
        has_unsent.then(|| self.last.map_or_else(Instant::now, |last| last + MIN_INTERVAL))
    }

    pub(crate) async fn send(&mut self) {
        let Some((peer, token)) = &self.to else { return };
        let shown = without_partial_character(&self.unsent).len();
        let message =
            String::from_utf8_lossy(&self.unsent[shown.saturating_sub(MAX_MESSAGE_BYTES)..shown]).into_owned();
        self.unsent.drain(..shown);
        self.last = Some(Instant::now());
        #[allow(clippy::cast_precision_loss)]
        let progress = self.total as f64;
        let notification = ProgressNotificationParam::new(token.clone(), progress).with_message(message);
        if peer.notify_progress(notification).await.is_err() {
            // The client is gone.
            self.to = None;
        }
    }
}
