//! Questions that are under way. Each is answered once: by all cells that were asked and are still there, with one answer,
//! or with `Lost` when none of them is.

use std::collections::HashMap;

use hearth_ipc::{QueryId, QueryReply};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::AskError;
use super::process::CellId;

pub(super) type Asker = oneshot::Sender<Result<QueryReply, AskError>>;

#[derive(Default)]
pub(super) struct Calls {
    next: u64,
    open: HashMap<QueryId, Call>,
}

struct Call {
    asker: Asker,
    asked: Vec<CellId>,
    answer: Option<QueryReply>,
}

impl Calls {
    /// A question to these cells, of which there is at least one.
    pub(super) fn open(&mut self, asker: Asker, asked: Vec<CellId>) -> QueryId {
        let call = QueryId(self.next);
        self.next += 1;
        self.open.insert(call, Call { asker, asked, answer: None });
        call
    }

    pub(super) fn answer(&mut self, call: QueryId, cell: CellId, reply: QueryReply) {
        let Some(open) = self.open.get_mut(&call) else { return };
        open.asked.retain(|asked| *asked != cell);
        open.answer = Some(match open.answer.take() {
            Some(before) => join(before, reply),
            None => reply,
        });
        self.settle();
    }

    /// Nobody waits for a cell that is gone.
    pub(super) fn lose(&mut self, cell: CellId) {
        for call in self.open.values_mut() {
            call.asked.retain(|asked| *asked != cell);
        }
        self.settle();
    }

    fn settle(&mut self) {
        let done: Vec<QueryId> =
            self.open.iter().filter(|(_, call)| call.asked.is_empty()).map(|(id, _)| *id).collect();
        for call in done.into_iter().filter_map(|id| self.open.remove(&id)) {
            // Who does not wait any more need not be told.
            let _ = call.asker.send(call.answer.ok_or(AskError::Lost));
        }
    }
}

/// Two cells' answers to the same question, as one.
fn join(one: QueryReply, other: QueryReply) -> QueryReply {
    match (one, other) {
        (QueryReply::Workers(one), QueryReply::Workers(other)) => QueryReply::Workers([one, other].concat()),
        (QueryReply::Pool(one), QueryReply::Pool(other)) => QueryReply::Pool(with_rate(add(one, other))),
        // What was counted is added up where it comes in; and an event has one cell.
        (one, _) => one,
    }
}

/// A part of a whole is no sum of parts: it follows from what was added up.
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

/// Numbers are added up, lists follow each other; of anything else, the first counts.
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
    fn a_rate_is_that_of_all_together() {
        let pool = |hits: u64, misses: u64, rate: f64| json!({ "hits": hits, "misses": misses, "hit_rate": rate });
        assert_eq!(with_rate(add(pool(9, 1, 0.9), pool(0, 0, 0.0))), pool(9, 1, 0.9));
        assert_eq!(with_rate(add(pool(9, 1, 0.9), pool(90, 0, 1.0))), pool(99, 1, 0.99));
        assert_eq!(with_rate(add(pool(9_999, 0, 1.0), pool(0, 1, 0.0))), pool(9_999, 1, 0.9999));
        assert_eq!(with_rate(add(pool(0, 0, 0.0), pool(0, 0, 0.0))), pool(0, 0, 0.0));
        assert_eq!(with_rate(json!({})), json!({}), "where there is none, none is made");
    }

    #[test]
    fn the_answers_of_all_are_one_and_who_is_gone_is_not_waited_for() {
        let (one, other, gone) = (CellId(1), CellId(2), CellId(3));
        let mut calls = Calls::default();
        let (asker, mut answered) = oneshot::channel();
        let call = calls.open(asker, vec![one, other, gone]);
        calls.answer(call, one, QueryReply::Pool(json!({ "hits": 2, "modes": { "a": 1 }, "name": "x", "list": [1] })));
        calls.lose(gone);
        assert!(answered.try_recv().is_err());
        calls.answer(
            call,
            other,
            QueryReply::Pool(json!({ "hits": 3, "modes": { "b": 1.5 }, "name": "y", "list": [2] })),
        );
        let Ok(Ok(QueryReply::Pool(sum))) = answered.try_recv() else { panic!("an answer") };
        assert_eq!(sum, json!({ "hits": 5, "modes": { "a": 1, "b": 1.5 }, "name": "x", "list": [1, 2] }));
        let (asker, mut answered) = oneshot::channel();
        calls.open(asker, vec![one]);
        calls.lose(one);
        assert!(matches!(answered.try_recv(), Ok(Err(AskError::Lost))));
    }
}
