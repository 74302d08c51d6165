//! Native byte streams that JavaScript knows by an id: request bodies, fetched bodies, and pipes
//! that JavaScript writes to. Also the JSON reader, with what it has learned of the worker's
//! bodies.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use hearth_core::pipe::PipeWriter;
use hearth_core::{Body, RequestId};

use crate::request_table::ById;

/// Unique within its context; never 0.
pub(crate) type BodyId = u64;

#[derive(Default)]
pub(crate) struct BodyTable {
    table: HashMap<BodyId, Entry, ById>,
    /// Created at the first JSON body.
    json: Option<Box<hearth_json::TapeReader>>,
}

struct Entry {
    owner: RequestId,
    readable: Readable,
    writer: Option<Arc<PipeWriter>>,
}

enum Readable {
    Idle(Body),
    /// A task has the body and puts it back.
    Busy,
    /// Passed on, or cancelled.
    Gone,
}

impl BodyTable {
    pub(crate) fn insert(&mut self, id: BodyId, owner: RequestId, body: Body) {
        self.table.insert(id, Entry { owner, readable: Readable::Idle(body), writer: None });
    }

    pub(crate) fn insert_pipe(&mut self, id: BodyId, owner: RequestId, writer: Arc<PipeWriter>, body: Body) {
        self.table.insert(id, Entry { owner, readable: Readable::Idle(body), writer: Some(writer) });
    }

    /// The request that a body belongs to.
    pub(crate) fn request(&self, id: BodyId) -> RequestId {
        self.table.get(&id).map_or(RequestId::OUTSIDE, |entry| entry.owner)
    }

    /// Takes out a body that has arrived as a whole. None for every other.
    pub(crate) fn take_whole(&mut self, id: BodyId) -> Option<(RequestId, Bytes)> {
        let Readable::Idle(Body::Full(_)) = self.table.get(&id)?.readable else { return None };
        let Entry { owner, readable: Readable::Idle(Body::Full(bytes)), .. } = self.table.remove(&id)? else {
            return None;
        };
        Some((owner, bytes))
    }

    /// Takes the body for a read; `put_back` returns it. None: it is gone, or being read already.
    pub(crate) fn take_to_read(&mut self, id: BodyId) -> Option<Body> {
        self.table.get_mut(&id)?.readable.take(Readable::Busy)
    }

    /// After a read. A body that was cancelled meanwhile is dropped.
    pub(crate) fn put_back(&mut self, id: BodyId, body: Body) {
        match self.table.get_mut(&id) {
            Some(Entry { readable: readable @ Readable::Busy, .. }) => *readable = Readable::Idle(body),
            _ => drop(body),
        }
    }

    /// Takes the body away for good, to pass it on.
    pub(crate) fn take(&mut self, id: BodyId) -> Option<Body> {
        let readable = &mut self.table.get_mut(&id)?.readable;
        let taken = readable.take(Readable::Gone);
        *readable = Readable::Gone;
        taken
    }

    pub(crate) fn length(&self, id: BodyId) -> Option<u64> {
        match &self.table.get(&id)?.readable {
            Readable::Idle(body) => body.length(),
            Readable::Busy | Readable::Gone => None,
        }
    }

    pub(crate) fn writer(&self, id: BodyId) -> Option<Arc<PipeWriter>> {
        self.table.get(&id)?.writer.clone()
    }

    /// The writing side has ended; the reading side goes on.
    pub(crate) fn finish_writer(&mut self, id: BodyId) -> Option<Arc<PipeWriter>> {
        self.table.get_mut(&id)?.writer.take()
    }

    /// The JSON reader, until it is put back.
    pub(crate) fn take_json_reader(&mut self) -> Box<hearth_json::TapeReader> {
        self.json.take().unwrap_or_default()
    }

    pub(crate) fn put_json_reader(&mut self, reader: Box<hearth_json::TapeReader>) {
        self.json = Some(reader);
    }

    /// Both sides have ended.
    pub(crate) fn remove(&mut self, id: BodyId) {
        self.table.remove(&id);
    }
}

// === impl Readable ===

impl Readable {
    /// Takes the body, if it is there, and leaves `instead`.
    fn take(&mut self, instead: Self) -> Option<Body> {
        match std::mem::replace(self, instead) {
            Self::Idle(body) => Some(body),
            other => {
                *self = other;
                None
            }
        }
    }
}
