//! The way out of a sandbox whose driver has none: the agent listens inside, and what programs say to the proxy goes over the
//! agent's own stream, many connections beside the calls. `hearth_agent`'s `protocol/passage.rs` has the words.
//!
//! The agent is taken for hostile: ids only rise, there are never more passages than were agreed on, and each keeps to its windows.
//! What it may not say is an [`Overrun`], after which it is not listened to any more. What is to be said waits in the passages until
//! there is room to send it. So a sandbox takes at most `PASSAGES` windows of memory here in each direction.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_agent::{Answer, Outward, PASSAGES, PassageId, Request};
use hearth_jail::sandbox::PROXY_ADDR;
use tokio::sync::mpsc;

use super::calls::Overrun;
use super::passage::{Passage, PassageStream};
use super::{Agent, Line};
use crate::driver::{ByteStream, Uplink};
use crate::error::SandboxError;

#[derive(Default)]
pub(super) struct Tunnel {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    door: Door,
    passages: BTreeMap<PassageId, Arc<Passage>>,
    /// The newest that there ever was.
    last: Option<PassageId>,
    /// Whose word was the last that was sent: the next is another's.
    spoke: Option<PassageId>,
}

#[derive(Default)]
enum Door {
    #[default]
    Shut,
    Open(mpsc::Sender<Box<dyn ByteStream>>),
}

impl Agent {
    /// Has the agent listen for programs that want to the proxy. Once.
    pub(crate) async fn open_tunnel(&self) -> Result<Uplink, SandboxError> {
        let (sender, connections) = mpsc::channel(PASSAGES);
        // Before it is asked: a program may be as quick as the answer.
        self.line.tunnel.open(sender);
        let listen = |id| Request::Listen { id, port: PROXY_ADDR.port() };
        match self.ask_in_time("opening the way to the proxy", listen).await? {
            Answer::Listening { port, .. } if port == PROXY_ADDR.port() => {
                Ok(Uplink { inside: PROXY_ADDR, connections, door: None })
            }
            Answer::Failed { failure, .. } => {
                Err(SandboxError::Boot { reason: format!("there is no way to the proxy: {}", failure.message) })
            }
            other => Err(self.nonsense(&other)),
        }
    }
}

impl Tunnel {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, sender: mpsc::Sender<Box<dyn ByteStream>>) {
        self.lock().door = Door::Open(sender);
    }

    /// All passages break, and none is opened any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        let passages = std::mem::take(&mut state.passages);
        let door = std::mem::take(&mut state.door);
        drop(state);
        passages.values().for_each(|passage| passage.gone());
        // What waits at the door goes with it; not under the lock.
        drop(door);
    }

    /// What the agent says of a passage.
    pub(super) fn hear(&self, line: &Arc<Line>, id: PassageId, word: Outward) -> Result<(), Overrun> {
        if word == (Outward::Opened {}) {
            return self.admit(line, id);
        }
        let mut state = self.lock();
        let passage = state.passages.get(&id).ok_or(Overrun)?.clone();
        if word == (Outward::Gone {}) {
            state.passages.remove(&id);
        }
        drop(state);
        match word {
            Outward::Opened {} => Err(Overrun),
            Outward::Data { bytes } => passage.data(&bytes.0),
            Outward::End {} => passage.end(),
            Outward::Taken { bytes } => passage.taken(bytes),
            Outward::Gone {} => {
                passage.gone();
                Ok(())
            }
        }
    }

    fn admit(&self, line: &Arc<Line>, id: PassageId) -> Result<(), Overrun> {
        let mut state = self.lock();
        let Door::Open(door) = &state.door else { return Err(Overrun) };
        let door = door.clone();
        if state.last.is_some_and(|last| last >= id) || state.passages.len() >= PASSAGES {
            return Err(Overrun);
        }
        state.last = Some(id);
        let passage = Arc::new(Passage::new());
        state.passages.insert(id, passage.clone());
        drop(state);
        let stream = PassageStream::new(line.clone(), passage);
        // Where nobody takes it, or too many wait that are gone already, it is closed again by being dropped.
        let _refused = door.try_send(Box::new(stream));
        Ok(())
    }

    /// What is to be sent next, if anything: one word of each passage in turn.
    pub(super) fn word(&self) -> Option<Request> {
        let mut state = self.lock();
        let after = state.spoke.map_or(Unbounded, Excluded);
        let all = state.passages.range((after, Unbounded)).chain(&state.passages);
        let (passage, word) = all.take(state.passages.len()).find_map(|(id, passage)| Some((*id, passage.word()?)))?;
        state.spoke = Some(passage);
        Some(Request::Passage { passage, word })
    }

    /// The most bytes of one passage and direction that are kept.
    #[cfg(test)]
    fn most_kept(&self) -> usize {
        self.lock().passages.values().map(|passage| passage.kept()).max().unwrap_or(0)
    }
}
