//! Queries without a reply yet. Each completes once: with the merged replies of all cells that received it, or with `Lost`
//! when all of these have ended without a reply.

use std::collections::HashMap;

use hearth_ipc::{QueryId, QueryReply};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::QueryError;
use super::process::CellId;

pub(super) type ReplySender = oneshot::Sender<Result<QueryReply, QueryError>>;

#[derive(Default)]
pub(super) struct PendingQueries {
    next: u64,
    pending: HashMap<QueryId, PendingQuery>,
}

struct PendingQuery {
    reply_to: ReplySender,
    asked: Vec<CellId>,
    answer: Option<QueryReply>,
}

impl PendingQueries {
    /// Registers a query to these cells, of which there is at least one.
    pub(super) fn insert(&mut self, reply_to: ReplySender, asked: Vec<CellId>) -> QueryId {
        let call = QueryId(self.next);
        self.next += 1;
        self.pending.insert(call, PendingQuery { reply_to, asked, answer: None });
        call
    }

    pub(super) fn answer(&mut self, call: QueryId, cell: CellId, reply: QueryReply) {
        let Some(open) = self.pending.get_mut(&call) else { return };
        open.asked.retain(|asked| *asked != cell);
        open.answer = Some(match open.answer.take() {
            Some(before) => join(before, reply),
            None => reply,
        });
        self.complete();
    }

    /// Stops waiting for replies of a cell that has ended.
    pub(super) fn remove_cell(&mut self, cell: CellId) {
        for call in self.pending.values_mut() {
            call.asked.retain(|asked| *asked != cell);
        }
        self.complete();
    }

    fn complete(&mut self) {
        let done: Vec<QueryId> =
            self.pending.iter().filter(|(_, call)| call.asked.is_empty()).map(|(id, _)| *id).collect();
        for call in done.into_iter().filter_map(|id| self.pending.remove(&id)) {
            // The caller may have given up.
            let _ = call.reply_to.send(call.answer.ok_or(QueryError::Lost));
        }
    }
}

/// Merges the replies of two cells to one query.
fn join(one: QueryReply, other: QueryReply) -> QueryReply {
    match (one, other) {
        (QueryReply::Workers(one), QueryReply::Workers(other)) => QueryReply::Workers([one, other].concat()),
        (QueryReply::Pool(one), QueryReply::Pool(other)) => QueryReply::Pool(with_rate(add(one, other))),
        // Stats are added up by `CellTotals`, and events go to one cell only.
        (one, _) => one,
    }
}

/// Ratios do not add up: the hit rate is computed again from the sums.
fn with_rate(mut pool: Value) -> Value {
    let count = |key: &str| pool.get(key).and_then(Value::as_u64);
    if let (Some(hits), Some(misses)) = (count("hits"), count("misses")) {
        let all = hits.saturating_add(misses).max(1);
        if let Some(rate) = pool.get_mut("hit_rate") {
            *rate = ((hits as f64 / all as f64 * 10_000.0).round() / 10_000.0).into();
        }
    }
    pool
}

/// Adds numbers and concatenates lists; of other values the first is kept.
fn add(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (key, value) in other {
                add_to(&mut one, key, value);
            }
            Value::Object(one)
        }
        (Value::Array(one), Value::Array(other)) => Value::Array([one, other].concat()),
        (Value::Number(one), Value::Number(other)) => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => one.saturating_add(other).into(),
            _ => (one.as_f64().unwrap_or_default() + other.as_f64().unwrap_or_default()).into(),
        },
        (Value::Null, other) => other,
        (one, _) => one,
    }
}

fn add_to(object: &mut Map<String, Value>, key: String, value: Value) {
    let sum = match object.remove(&key) {
        Some(before) => add(before, value),
        None => value,
    };
    object.insert(key, sum);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hit_rate_is_computed_from_the_sums() {
        let pool = |hits: u64, misses: u64, rate: f64| json!({ "hits": hits, "misses": misses, "hit_rate": rate });
        assert_eq!(with_rate(add(pool(9, 1, 0.9), pool(0, 0, 0.0))), pool(9, 1, 0.9));
        assert_eq!(with_rate(add(pool(9, 1, 0.9), pool(90, 0, 1.0))), pool(99, 1, 0.99));
        assert_eq!(with_rate(add(pool(9_999, 0, 1.0), pool(0, 1, 0.0))), pool(9_999, 1, 0.9999));
        assert_eq!(with_rate(add(pool(0, 0, 0.0), pool(0, 0, 0.0))), pool(0, 0, 0.0));
        assert_eq!(with_rate(json!({})), json!({}), "a missing rate is not added");
    }

    #[test]
    fn replies_are_merged_and_lost_cells_are_not_waited_for() {
        let (one, other, gone) = (CellId(1), CellId(2), CellId(3));
        let mut queries = PendingQueries::default();
        let (reply_to, mut answered) = oneshot::channel();
        let call = queries.insert(reply_to, vec![one, other, gone]);
        queries.answer(
            call,
            one,
            QueryReply::Pool(json!({ "hits": 2, "modes": { "a": 1 }, "name": "x", "list": [1] })),
        );
        queries.remove_cell(gone);
        assert!(answered.try_recv().is_err());
        queries.answer(
            call,
            other,
            QueryReply::Pool(json!({ "hits": 3, "modes": { "b": 1.5 }, "name": "y", "list": [2] })),
        );
        let Ok(Ok(QueryReply::Pool(sum))) = answered.try_recv() else { panic!("an answer") };
        assert_eq!(sum, json!({ "hits": 5, "modes": { "a": 1, "b": 1.5 }, "name": "x", "list": [1, 2] }));
        let (reply_to, mut answered) = oneshot::channel();
        queries.insert(reply_to, vec![one]);
        queries.remove_cell(one);
        assert!(matches!(answered.try_recv(), Ok(Err(QueryError::Lost))));
    }
}
