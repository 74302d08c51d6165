//! The tunnel to the proxy, for sandboxes whose driver has no uplink: the agent listens inside, and
//! connections of programs to the proxy are carried over the agent's stream, many beside the calls.
//! The messages are in `hearth_sandbox_agent`'s `protocol/passage.rs`.
//!
//! The agent is untrusted: connection ids only rise, there are never more connections than agreed,
//! and each keeps to its windows. Anything else is a [`ProtocolViolation`], which ends the stream
//! to the agent. Outgoing messages wait in the connections until there is room to send them. So a
//! sandbox takes at most `MAX_TUNNEL_CONNS` windows of memory here in each direction.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_sandbox_agent::{AgentReply, AgentRequest, FromGuest, MAX_TUNNEL_CONNS, TunnelConnId};
use hearth_sandbox_spawner::PROXY_ADDR;
use tokio::sync::mpsc;

use super::calls::ProtocolViolation;
use super::tunnel_stream::{TunnelConn, TunnelStream};
use super::{Agent, AgentConnection};
use crate::driver::{BidiStream, Uplink};
use crate::error::SandboxError;

#[derive(Default)]
pub(super) struct Tunnel {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sender: Option<mpsc::Sender<Box<dyn BidiStream>>>,
    conns: BTreeMap<TunnelConnId, Arc<TunnelConn>>,
    /// The highest id so far.
    last: Option<TunnelConnId>,
    /// The connection whose message was sent last; the next turn is another's.
    last_served: Option<TunnelConnId>,
}

impl Agent {
    /// Has the agent listen for connections to the proxy. Called once.
    pub(crate) async fn open_tunnel(&self) -> Result<Uplink, SandboxError> {
        let (sender, connections) = mpsc::channel(MAX_TUNNEL_CONNS);
        // Before the request: a connection may come as soon as its answer.
        self.connection.tunnel.open(sender);
        let listen = |id| AgentRequest::Listen { id, port: PROXY_ADDR.port() };
        match self.ask_with_timeout("opening the tunnel to the proxy", listen).await? {
            AgentReply::Listening { port, .. } if port == PROXY_ADDR.port() => {
                Ok(Uplink { inside: PROXY_ADDR, connections, listener: None })
            }
            AgentReply::Failed { failure, .. } => {
                Err(SandboxError::Boot { reason: format!("there is no way to the proxy: {}", failure.message) })
            }
            other => Err(self.protocol_error(&other)),
        }
    }
}

impl Tunnel {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, sender: mpsc::Sender<Box<dyn BidiStream>>) {
        self.lock().sender = Some(sender);
    }

    /// Breaks all connections; none is accepted any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        let conns = std::mem::take(&mut state.conns);
        let sender = state.sender.take();
        drop(state);
        conns.values().for_each(|conn| conn.gone());
        // Dropping it drops the connections that wait in it; not under the lock.
        drop(sender);
    }

    /// Handles a message of the agent about a connection.
    pub(super) fn receive(
        &self,
        connection: &Arc<AgentConnection>,
        id: TunnelConnId,
        word: FromGuest,
    ) -> Result<(), ProtocolViolation> {
        if word == (FromGuest::Opened {}) {
            return self.accept(connection, id);
        }
        let mut state = self.lock();
        let conn = state.conns.get(&id).ok_or(ProtocolViolation)?.clone();
        if word == (FromGuest::Gone {}) {
            state.conns.remove(&id);
        }
        drop(state);
        match word {
            FromGuest::Opened {} => Err(ProtocolViolation),
            FromGuest::Data { bytes } => conn.data(&bytes.0),
            FromGuest::End {} => conn.end(),
            FromGuest::Taken { bytes } => conn.acknowledged(bytes),
            FromGuest::Gone {} => {
                conn.gone();
                Ok(())
            }
        }
    }

    fn accept(&self, connection: &Arc<AgentConnection>, id: TunnelConnId) -> Result<(), ProtocolViolation> {
        let mut state = self.lock();
        let Some(sender) = &state.sender else { return Err(ProtocolViolation) };
        let sender = sender.clone();
        if state.last.is_some_and(|last| last >= id) || state.conns.len() >= MAX_TUNNEL_CONNS {
            return Err(ProtocolViolation);
        }
        state.last = Some(id);
        let conn = Arc::new(TunnelConn::new());
        state.conns.insert(id, conn.clone());
        drop(state);
        let stream = TunnelStream::new(connection.clone(), conn);
        // Where the proxy is gone, or too many connections wait, dropping the stream closes it
        // again.
        let _refused = sender.try_send(Box::new(stream));
        Ok(())
    }

    /// The next message to send, if any: one of each connection in turn.
    pub(super) fn next_message(&self) -> Option<AgentRequest> {
        let mut state = self.lock();
        let after = state.last_served.map_or(Unbounded, Excluded);
        let all = state.conns.range((after, Unbounded)).chain(&state.conns);
        let (conn, word) = all.take(state.conns.len()).find_map(|(id, conn)| Some((*id, conn.next_message()?)))?;
        state.last_served = Some(conn);
        Some(AgentRequest::Tunnel { conn, message: word })
    }

    /// The most bytes that any connection buffers in one direction.
    #[cfg(test)]
    fn max_buffered(&self) -> usize {
        self.lock().conns.values().map(|conn| conn.buffered()).max().unwrap_or(0)
    }
}
