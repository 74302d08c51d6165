//! Export and import of all sandboxes, each with its owner, and of the links to their files.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{SavedAll, SavedSandbox, UpgradePayload, VERSION};
use crate::id::Caller;
use crate::registry::Owned;
use crate::sandboxes::Sandboxes;

/// Upper bound of the time between export and import that is added to ages and idle times: the wall
/// clock may be set meanwhile, and no program takes longer to start.
const MAX_GAP: Duration = Duration::from_secs(60);

impl Sandboxes {
    /// Calls that wait for news of a job return at once from now on, with what there is: the export
    /// waits for calls under way.
    pub fn wake_pollers(&self) {
        for owned in self.shared.registry.list(&Caller::Admin) {
            owned.sandbox.wake_pollers();
        }
    }

    /// Exports all sandboxes that can go on in the next program; the others are destroyed. Calls
    /// under way have until `timeout`, and end with an error then. From now on every sandbox refuses
    /// all calls here.
    pub async fn export(&self, timeout: Duration) -> UpgradePayload {
        let deadline = Instant::now() + timeout;
        let mut exports = JoinSet::new();
        for Owned { owner, sandbox } in self.shared.registry.close() {
            exports.spawn(async move {
                match sandbox.export(deadline).await {
                    Some((saved, payload)) => Some((with_owner(saved, owner), payload)),
                    None => {
                        tracing::warn!(sandbox = %sandbox.id(), "sandbox not exported, destroying it");
                        sandbox.destroy().await;
                        None
                    }
                }
            });
        }
        let (mut sandboxes, mut all) = (Vec::new(), UpgradePayload::default());
        while let Some(exported) = exports.join_next().await {
            // A task that panicked has dropped its sandbox, which destroys it.
            let Ok(Some((saved, payload))) = exported else { continue };
            sandboxes.push(saved);
            all.descriptors.extend(payload.descriptors);
            all.children.extend(payload.children);
        }
        all.children.sort_unstable();
        all.children.dedup();
        let counts = self.shared.pool.export(sandboxes.len()).await;
        tracing::info!(count = sandboxes.len(), "sandboxes exported");
        let (at, links) = (hearth_core::time::unix_millis(), self.shared.links.export());
        let saved = SavedAll { version: VERSION, at, counts, sandboxes, links };
        all.note = serde_json::to_value(saved).expect("names, numbers and texts can be written");
        all
    }

    /// Goes on with what [`export`](Self::export) gave in the program before. A sandbox that cannot
    /// go on ends, with a warning in the log. On the current runtime.
    pub fn import(&self, payload: UpgradePayload) {
        let UpgradePayload { note, descriptors, children } = payload;
        let saved: SavedAll = match serde_json::from_value(note) {
            Ok(SavedAll { version, .. }) if version != VERSION => {
                return discard(&format!("the payload has version {version}, not {VERSION}"), descriptors, &children);
            }
            Ok(saved) => saved,
            Err(error) => return discard(&error.to_string(), descriptors, &children),
        };
        self.shared.pool.merge_counts(&saved.counts);
        let gap = Duration::from_millis(hearth_core::time::unix_millis().saturating_sub(saved.at)).min(MAX_GAP);
        let mut descriptors = descriptors.into_iter();
        let (mut count, mut in_use, mut unused) = (0, BTreeSet::new(), BTreeSet::new());
        for mut one in saved.sandboxes {
            (one.age, one.idle) = (one.age + gap, one.idle + gap);
            let own = descriptors.by_ref().take(one.descriptors).collect();
            let (id, children) = (one.id.clone(), one.children.clone());
            match self.shared.pool.import(one, own) {
                Ok((owner, sandbox)) => {
                    self.shared.registry.import(owner, Arc::new(sandbox));
                    in_use.extend(children);
                    count += 1;
                }
                Err(error) => {
                    tracing::warn!(sandbox = id, %error, "sandbox not imported, it ends");
                    unused.extend(children);
                }
            }
        }
        unused.difference(&in_use).for_each(|child| end_child(*child));
        self.shared.links.import(saved.links);
        tracing::info!(count, "sandboxes imported");
    }
}

impl UpgradePayload {
    /// Ends all that is in it.
    pub fn discard(self, reason: &str) {
        discard(reason, self.descriptors, &self.children);
    }
}

fn with_owner(mut saved: SavedSandbox, owner: Caller) -> SavedSandbox {
    saved.session = match owner {
        Caller::Session(session) => Some(session.as_str().to_owned()),
        Caller::Admin => None,
    };
    saved
}

fn discard(reason: &str, descriptors: Vec<OwnedFd>, children: &[u32]) {
    tracing::warn!(reason, "sandboxes of the previous program not imported, they end");
    drop(descriptors);
    children.iter().for_each(|child| end_child(*child));
}

/// Kills and reaps a child of this process, unless it has ended and was reaped already.
fn end_child(child: u32) {
    let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) else { return };
    if let Ok(None) = waitpid(Some(child), WaitOptions::NOHANG) {
        // It is a running child of this process, so its process id cannot have been reused.
        let _ = kill_process(child, Signal::KILL);
        let _ = waitpid(Some(child), WaitOptions::empty());
    }
}
