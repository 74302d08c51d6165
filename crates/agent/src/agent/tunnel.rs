//! The way to the proxy outside, for sandboxes that nothing else leads out of: a listener on the loopback, and a passage for each
//! connection that programs make to it.
//!
//! What passages carry never stands in the way of answers: programs are read from only while little waits to be sent, and the
//! client has room for it. What is not waited for is not registered, so that a socket whose other end is gone wakes nobody in vain.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hearth_agent::{Answer, CallId, Failure, Inward, Outward, PASSAGES, PassageId};

use super::Agent;
use super::exec::invalid;
use crate::files;
use crate::passage::{Broken, Passage, Way};
use crate::poll::{Interest, Token};

/// So much of what a program sends is read at once.
const PIECE: usize = 16 << 10;
/// After a connection that could not be taken: too many descriptors, for example.
const REST: Duration = Duration::from_millis(50);

pub(super) struct Tunnel {
    door: TcpListener,
    /// What is waited for at the door.
    watched: Interest,
    rests_until: Option<Instant>,
    passages: HashMap<PassageId, Passage>,
    last: PassageId,
}

impl Agent {
    pub(super) fn listen(&mut self, id: CallId, port: u16) {
        let opened = self.open_door(port).map(|port| Answer::Listening { id, port });
        self.reply(id, opened);
    }

    fn open_door(&mut self, port: u16) -> Result<u16, Failure> {
        if self.tunnel.is_some() {
            return Err(invalid("there is a way to the proxy already"));
        }
        let failed = |error: std::io::Error| files::failure(&format!("port {port} of the loopback"), &error);
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        door.set_nonblocking(true).map_err(failed)?;
        let port = door.local_addr().map_err(failed)?.port();
        let (passages, last) = (HashMap::new(), PassageId(0));
        self.tunnel = Some(Tunnel { door, watched: Interest::Nothing, rests_until: None, passages, last });
        Ok(port)
    }

    /// Programs at the door.
    pub(super) fn admit(&mut self) {
        let Some(tunnel) = &mut self.tunnel else { return };
        while let Some(id) = tunnel.vacant() {
            match tunnel.door.accept().and_then(|(socket, _)| Passage::new(socket)) {
                Ok(passage) => {
                    tunnel.last = id;
                    tunnel.passages.insert(id, passage);
                    self.connection.send(&Answer::Passage { passage: id, word: Outward::Opened {} });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Who has given up meanwhile.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    tunnel.rests_until = Some(Instant::now() + REST);
                    return;
                }
            }
        }
    }

    /// A passage's socket has something, or takes something.
    pub(super) fn serve_passage(&mut self, id: PassageId) {
        let way = self.connection.way();
        let Some(passage) = self.tunnel.as_mut().and_then(|tunnel| tunnel.passages.get_mut(&id)) else { return };
        let written = passage.write();
        let read = match (&written, way) {
            (Ok(_), Way::Free) => passage.read(&mut self.piece[..PIECE]),
            _ => Ok(None),
        };
        match written {
            Ok(word) => {
                self.say(id, word);
                self.settle(id, read);
            }
            Err(broken) => self.settle(id, Err(broken)),
        }
    }

    /// What the client says of a passage. One that is gone does not mind.
    pub(super) fn pass(&mut self, id: PassageId, word: Inward) {
        let Some(passage) = self.tunnel.as_mut().and_then(|tunnel| tunnel.passages.get_mut(&id)) else { return };
        let said = match word {
            Inward::Data { bytes } => passage.take(&bytes.0),
            Inward::End {} => passage.end(),
            Inward::Taken { bytes } => passage.widen(bytes).map(|()| None),
            Inward::Close {} => passage.close(),
        };
        self.settle(id, said);
    }

    /// Says what there is to be said, the last word too.
    fn settle(&mut self, id: PassageId, said: Result<Option<Outward>, Broken>) {
        let is_broken = said.is_err();
        self.say(id, said.unwrap_or_default());
        let Some(tunnel) = &mut self.tunnel else { return };
        if is_broken || tunnel.passages.get(&id).is_some_and(Passage::is_over) {
            tunnel.passages.remove(&id);
            self.say(id, Some(Outward::Gone {}));
        }
    }

    fn say(&mut self, passage: PassageId, word: Option<Outward>) {
        if let Some(word) = word {
            self.connection.send(&Answer::Passage { passage, word });
        }
    }

    /// Has the loop wait for what there is to be waited for.
    pub(super) fn watch_passages(&mut self) {
        let Some(tunnel) = &mut self.tunnel else { return };
        let way = self.connection.way();
        let mut lost = Vec::new();
        for (id, passage) in &mut tunnel.passages {
            let wanted = passage.wants(way);
            match self.poll.watch(passage.fd(), Token::Passage(*id), passage.watched, wanted) {
                Ok(()) => passage.watched = wanted,
                Err(_) => lost.push(*id),
            }
        }
        tunnel.rests_until = tunnel.rests_until.filter(|until| *until > Instant::now());
        let is_open = tunnel.rests_until.is_none() && tunnel.vacant().is_some();
        let wanted = if is_open { Interest::Read } else { Interest::Nothing };
        match self.poll.watch(tunnel.door.as_fd(), Token::Door, tunnel.watched, wanted) {
            Ok(()) => tunnel.watched = wanted,
            Err(_) => tunnel.rests_until = Some(Instant::now() + REST),
        }
        lost.into_iter().for_each(|id| self.settle(id, Err(Broken)));
    }
}

impl Tunnel {
    /// The id of the next passage, if there is room for one.
    fn vacant(&self) -> Option<PassageId> {
        let next = self.last.0.checked_add(1).map(PassageId);
        next.filter(|_| self.passages.len() < PASSAGES)
    }

    /// When it is looked at the door again.
    pub(super) fn rests_until(&self) -> Option<Instant> {
        self.rests_until
    }
}
