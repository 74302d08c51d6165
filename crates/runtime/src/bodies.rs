//! Native byte streams that JavaScript knows by an id: request bodies, fetched bodies, and pipes that JavaScript writes to.

use std::collections::HashMap;
use std::sync::Arc;

use hearth_core::pipe::PipeWriter;
use hearth_core::{Body, RequestId};

/// Unique within its context; never 0.
pub(crate) type BodyId = u64;

#[derive(Default)]
pub(crate) struct Bodies {
    readable: HashMap<BodyId, Readable>,
    writable: HashMap<BodyId, Arc<PipeWriter>>,
    owners: HashMap<BodyId, RequestId>,
}

enum Readable {
    Idle(Body),
    /// A task has it, and brings it back.
    Busy,
}

impl Bodies {
    pub(crate) fn insert(&mut self, id: BodyId, owner: RequestId, body: Body) {
        self.owners.insert(id, owner);
        self.readable.insert(id, Readable::Idle(body));
    }

    pub(crate) fn insert_pipe(&mut self, id: BodyId, owner: RequestId, writer: Arc<PipeWriter>, body: Body) {
        self.insert(id, owner, body);
        self.writable.insert(id, writer);
    }

    /// The request that a body belongs to.
    pub(crate) fn request(&self, id: BodyId) -> RequestId {
        self.owners.get(&id).copied().unwrap_or(RequestId::OUTSIDE)
    }

    /// Takes the body for a read; `put_back` returns it. None: it is gone, or being read already.
    pub(crate) fn take_to_read(&mut self, id: BodyId) -> Option<Body> {
        match self.readable.get_mut(&id)? {
            Readable::Busy => None,
            idle => match std::mem::replace(idle, Readable::Busy) {
                Readable::Idle(body) => Some(body),
                Readable::Busy => None,
            },
        }
    }

    /// After a read. A body that was cancelled meanwhile is dropped.
    pub(crate) fn put_back(&mut self, id: BodyId, body: Body) {
        if let Some(place) = self.readable.get_mut(&id) {
            *place = Readable::Idle(body);
        }
    }

    /// Takes the body away for good, to hand it on.
    pub(crate) fn take(&mut self, id: BodyId) -> Option<Body> {
        match self.readable.remove(&id)? {
            Readable::Idle(body) => Some(body),
            Readable::Busy => None,
        }
    }

    pub(crate) fn length(&self, id: BodyId) -> Option<u64> {
        match self.readable.get(&id)? {
            Readable::Idle(body) => body.length(),
            Readable::Busy => None,
        }
    }

    pub(crate) fn writer(&self, id: BodyId) -> Option<Arc<PipeWriter>> {
        self.writable.get(&id).cloned()
    }

    /// The writing side is finished; the reading side goes on.
    pub(crate) fn finish_writer(&mut self, id: BodyId) -> Option<Arc<PipeWriter>> {
        self.writable.remove(&id)
    }

    /// Both sides are over.
    pub(crate) fn remove(&mut self, id: BodyId) {
        self.readable.remove(&id);
        self.writable.remove(&id);
        self.owners.remove(&id);
    }
}
