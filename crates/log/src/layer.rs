//! A tracing layer that turns events into records. The fields `app`, `version` and `request` (or `request.id`) become
//! fields of the record; all others are kept in its map.

use std::fmt;
use std::sync::Arc;

use hearth_core::time::unix_millis;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, registry};

use crate::record::{Level, LogRecord};

/// Receives the records. Called on the thread that logs, so it must not block.
pub type Sink = Arc<dyn Fn(LogRecord) + Send + Sync>;

struct SinkLayer {
    sink: Sink,
}

/// Sends all records that `filter` (in the syntax of `RUST_LOG`) accepts to `sink`, for the rest of the process's life. Has
/// no effect if the process has a subscriber already.
pub fn install(filter: &str, sink: Sink) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Fails only if a subscriber is installed already; that one stays.
    let _ = registry().with(filter).with(SinkLayer { sink }).try_init();
}

impl<S: Subscriber> Layer<S> for SinkLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = LogRecord {
            time: unix_millis(),
            level: Level::from(metadata.level()),
            target: metadata.target().to_owned(),
            message: String::new(),
            app: None,
            version: None,
            request: None,
            fields: Default::default(),
        };
        event.record(&mut FieldVisitor { line: &mut line });
        (self.sink)(line);
    }
}

struct FieldVisitor<'a> {
    line: &'a mut LogRecord,
}

impl FieldVisitor<'_> {
    fn record(&mut self, field: &Field, value: Value) {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        match field.name() {
            "message" => self.line.message = text(value),
            "app" => self.line.app = Some(text(value)),
            "version" => self.line.version = Some(text(value)),
            "request" | "request.id" => self.line.request = Some(text(value)),
            name => drop(self.line.fields.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for FieldVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record(field, Value::from(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, Value::from(format!("{value:?}")));
    }
}
