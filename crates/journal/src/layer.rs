//! From tracing's events to lines. Fields named `app`, `version` and `request` (or `request.id`) say what a line is about;
//! the others are kept as they are.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, registry};

use crate::line::{Level, LogLine};
use crate::time::now;

/// Where lines go. Called on whatever thread has something to say: must not wait.
pub type Sink = Arc<dyn Fn(LogLine) + Send + Sync>;

struct Lines {
    sink: Sink,
}

/// Sends all lines that `filter` (as in `RUST_LOG`) lets through to `sink`, for the rest of the process's life. Where a log
/// is there already, that one goes on.
pub fn install(filter: &str, sink: Sink) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Fails only when a log is there already, which then serves.
    let _ = registry().with(filter).with(Lines { sink }).try_init();
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        let mut line = LogLine {
            time: now(),
            level: Level::from(about.level()),
            target: about.target().to_owned(),
            message: String::new(),
            app: None,
            version: None,
            request: None,
            fields: Default::default(),
        };
        event.record(&mut Fields { line: &mut line });
        (self.sink)(line);
    }
}

struct Fields<'a> {
    line: &'a mut LogLine,
}

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: Value) {
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

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::from(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::from(format!("{value:?}")));
    }
}
