//! The tunnel to the proxy outside, for sandboxes without another way out: a listener on the
//! loopback, and a stream for each connection that programs make to it.
//!
//! Tunnel data never delays replies: programs are read from only while little waits to be sent, and
//! the client has room for it. A descriptor that is not waited for is not registered, so that a
//! socket whose other end is closed does not wake the loop in vain.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hearth_sandbox_agent::{AgentCallId, AgentReply, CallFailure, FromGuest, MAX_TUNNEL_CONNS, ToGuest, TunnelConnId};

use super::Agent;
use super::exec::invalid;
use crate::files;
use crate::poll::{Interest, PollToken};
use crate::tunnel_stream::{QueueLoad, TunnelBroken, TunnelStream};

/// Bytes that are read from a program at once.
const READ_SIZE: usize = 16 << 10;
/// After a failed accept: too many descriptors, for example.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

pub(super) struct Tunnel {
    listener: TcpListener,
    /// What the loop waits for on the listener.
    watched: Interest,
    paused_until: Option<Instant>,
    conns: HashMap<TunnelConnId, TunnelStream>,
    last: TunnelConnId,
}

impl Agent {
    pub(super) fn listen(&mut self, id: AgentCallId, port: u16) {
        let opened = self.listen_tunnel(port).map(|port| AgentReply::Listening { id, port });
        self.reply(id, opened);
    }

    fn listen_tunnel(&mut self, port: u16) -> Result<u16, CallFailure> {
        if self.tunnel.is_some() {
            return Err(invalid("there is a tunnel to the proxy already"));
        }
        let failed = |error: std::io::Error| files::failure(&format!("port {port} of the loopback"), &error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let (conns, last) = (HashMap::new(), TunnelConnId(0));
        self.tunnel = Some(Tunnel { listener, watched: Interest::Nothing, paused_until: None, conns, last });
        Ok(port)
    }

    /// Accepts connections of programs.
    pub(super) fn accept_tunnel(&mut self) {
        let Some(tunnel) = &mut self.tunnel else { return };
        while let Some(id) = tunnel.next_id() {
            match tunnel.listener.accept().and_then(|(socket, _)| TunnelStream::new(socket)) {
                Ok(conn) => {
                    tunnel.last = id;
                    tunnel.conns.insert(id, conn);
                    self.connection.send(&AgentReply::Tunnel { conn: id, message: FromGuest::Opened {} });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The program has given up meanwhile.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    tunnel.paused_until = Some(Instant::now() + ACCEPT_RETRY_DELAY);
                    return;
                }
            }
        }
    }

    /// A connection's socket is readable or writable.
    pub(super) fn serve_tunnel_conn(&mut self, id: TunnelConnId) {
        let load = self.connection.queue_load();
        let Some(conn) = self.tunnel.as_mut().and_then(|tunnel| tunnel.conns.get_mut(&id)) else { return };
        let written = conn.write();
        let read = match (&written, load) {
            (Ok(_), QueueLoad::Light) => conn.read(&mut self.read_buffer[..READ_SIZE]),
            _ => Ok(None),
        };
        match written {
            Ok(word) => {
                self.send_tunnel(id, word);
                self.finish_step(id, read);
            }
            Err(broken) => self.finish_step(id, Err(broken)),
        }
    }

    /// Handles a message of the client about a connection. One that is gone is ignored.
    pub(super) fn handle_tunnel_message(&mut self, id: TunnelConnId, word: ToGuest) {
        let Some(conn) = self.tunnel.as_mut().and_then(|tunnel| tunnel.conns.get_mut(&id)) else { return };
        let said = match word {
            ToGuest::Data { bytes } => conn.send(&bytes.0),
            ToGuest::End {} => conn.end(),
            ToGuest::Taken { bytes } => conn.acknowledged(bytes).map(|()| None),
            ToGuest::Close {} => conn.close(),
        };
        self.finish_step(id, said);
    }

    /// Sends the message, and `Gone` if the connection is finished.
    fn finish_step(&mut self, id: TunnelConnId, said: Result<Option<FromGuest>, TunnelBroken>) {
        let is_broken = said.is_err();
        self.send_tunnel(id, said.unwrap_or_default());
        let Some(tunnel) = &mut self.tunnel else { return };
        if is_broken || tunnel.conns.get(&id).is_some_and(TunnelStream::is_finished) {
            tunnel.conns.remove(&id);
            self.send_tunnel(id, Some(FromGuest::Gone {}));
        }
    }

    fn send_tunnel(&mut self, conn: TunnelConnId, word: Option<FromGuest>) {
        if let Some(word) = word {
            self.connection.send(&AgentReply::Tunnel { conn, message: word });
        }
    }

    /// Registers with the loop what is to be waited for.
    pub(super) fn watch_tunnel(&mut self) {
        let Some(tunnel) = &mut self.tunnel else { return };
        let load = self.connection.queue_load();
        let mut lost = Vec::new();
        for (id, conn) in &mut tunnel.conns {
            let wanted = conn.wants(load);
            match self.poll.watch(conn.fd(), PollToken::TunnelConn(*id), conn.watched, wanted) {
                Ok(()) => conn.watched = wanted,
                Err(_) => lost.push(*id),
            }
        }
        tunnel.paused_until = tunnel.paused_until.filter(|until| *until > Instant::now());
        let is_open = tunnel.paused_until.is_none() && tunnel.next_id().is_some();
        let wanted = if is_open { Interest::Read } else { Interest::Nothing };
        match self.poll.watch(tunnel.listener.as_fd(), PollToken::TunnelListener, tunnel.watched, wanted) {
            Ok(()) => tunnel.watched = wanted,
            Err(_) => tunnel.paused_until = Some(Instant::now() + ACCEPT_RETRY_DELAY),
        }
        lost.into_iter().for_each(|id| self.finish_step(id, Err(TunnelBroken)));
    }
}

impl Tunnel {
    /// The next connection's id, if there is room for one.
    fn next_id(&self) -> Option<TunnelConnId> {
        let next = self.last.0.checked_add(1).map(TunnelConnId);
        next.filter(|_| self.conns.len() < MAX_TUNNEL_CONNS)
    }

    /// When accepting resumes.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }
}
