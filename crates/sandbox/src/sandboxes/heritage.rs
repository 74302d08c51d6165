//! All sandboxes, left to the next program and taken over there, each with its owner, and the links to their files.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Sandboxes;
use crate::heritage::{Bequest, KeptAll, KeptSandbox, VERSION};
use crate::id::Caller;
use crate::registry::Held;

/// No program takes longer to begin; a clock may be set meanwhile.
const MEANWHILE: Duration = Duration::from_secs(60);

impl Sandboxes {
    /// Whoever waits for news of a job is told at once from now on that there are none: something is about to change.
    pub fn hurry(&self) {
        for held in self.shared.registry.list(&Caller::Admin) {
            held.sandbox.hurry();
        }
    }

    /// All sandboxes that can go on in the program that takes our place; the others are destroyed. Calls under way have
    /// `patience`, and end with an error then. From now on nothing can be done with any of them here.
    pub async fn hand_over(&self, patience: Duration) -> Bequest {
        let deadline = Instant::now() + patience;
        let mut leaving = JoinSet::new();
        for Held { owner, sandbox } in self.shared.registry.close() {
            leaving.spawn(async move {
                match sandbox.leave(deadline).await {
                    Some((kept, left)) => Some((owned(kept, owner), left)),
                    None => {
                        tracing::warn!(sandbox = %sandbox.id(), "A sandbox does not survive the upgrade");
                        sandbox.destroy().await;
                        None
                    }
                }
            });
        }
        let (mut sandboxes, mut all) = (Vec::new(), Bequest::default());
        while let Some(left) = leaving.join_next().await {
            // A task that panicked has destroyed its sandbox.
            let Ok(Some((kept, left))) = left else { continue };
            sandboxes.push(kept);
            all.descriptors.extend(left.descriptors);
            all.children.extend(left.children);
        }
        all.children.sort_unstable();
        all.children.dedup();
        let counts = self.shared.pool.leave(sandboxes.len()).await;
        tracing::info!(count = sandboxes.len(), "Sandboxes are left to the next program");
        let (at, links) = (hearth_core::time::unix_millis(), self.shared.links.leave());
        let kept = KeptAll { version: VERSION, at, counts, sandboxes, links };
        all.note = serde_json::to_value(kept).expect("names, numbers and texts can be written");
        all
    }

    /// Goes on with what the program before left. What cannot go on ends, and that is told. On the current runtime.
    pub fn take_over(&self, left: Bequest) {
        let Bequest { note, descriptors, children } = left;
        let kept: KeptAll = match serde_json::from_value(note) {
            Ok(KeptAll { version, .. }) if version != VERSION => {
                return give_up(&format!("it is told in version {version}, not {VERSION}"), descriptors, &children);
            }
            Ok(kept) => kept,
            Err(error) => return give_up(&error.to_string(), descriptors, &children),
        };
        self.shared.pool.count_on(&kept.counts);
        let meanwhile = Duration::from_millis(hearth_core::time::unix_millis().saturating_sub(kept.at)).min(MEANWHILE);
        let mut descriptors = descriptors.into_iter();
        let (mut count, mut taken, mut given_up) = (0, BTreeSet::new(), BTreeSet::new());
        for mut one in kept.sandboxes {
            (one.age, one.idle) = (one.age + meanwhile, one.idle + meanwhile);
            let own = descriptors.by_ref().take(one.descriptors).collect();
            let (id, children) = (one.id.clone(), one.children.clone());
            match self.shared.pool.adopt(one, own) {
                Ok((owner, sandbox)) => {
                    self.shared.registry.adopt(owner, Arc::new(sandbox));
                    taken.extend(children);
                    count += 1;
                }
                Err(error) => {
                    tracing::warn!(sandbox = id, %error, "A sandbox did not survive the upgrade");
                    given_up.extend(children);
                }
            }
        }
        given_up.difference(&taken).for_each(|child| end(*child));
        self.shared.links.resume(kept.links);
        tracing::info!(count, "Sandboxes of the program before go on");
    }
}

impl Bequest {
    /// Nobody goes on with any of it: all of it ends.
    pub fn give_up(self, reason: &str) {
        give_up(reason, self.descriptors, &self.children);
    }
}

fn owned(mut kept: KeptSandbox, owner: Caller) -> KeptSandbox {
    kept.session = match owner {
        Caller::Session(session) => Some(session.as_str().to_owned()),
        Caller::Admin => None,
    };
    kept
}

/// Nobody can go on with any of it.
fn give_up(reason: &str, descriptors: Vec<OwnedFd>, children: &[u32]) {
    tracing::warn!(reason, "The sandboxes of the program before cannot go on, and end");
    drop(descriptors);
    children.iter().for_each(|child| end(*child));
}

/// Ends a child of ours, unless it has ended and somebody was told.
fn end(child: u32) {
    let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) else { return };
    if let Ok(None) = waitpid(Some(child), WaitOptions::NOHANG) {
        // It runs, and is our child: the number is still its own.
        let _ = kill_process(child, Signal::KILL);
        let _ = waitpid(Some(child), WaitOptions::empty());
    }
}
