//! OTLP as JSON: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>. Whole numbers of 64 bits are strings,
//! ids are hexadecimal, enums are numbers. Attributes are named as the semantic conventions have them.

use hearth_ipc::{BOUNDS, HistogramCounts, Span};
use serde_json::{Value as Json, json};

use crate::metrics::{Family, Kind, Point, Value};

/// Temporality: each document has the totals since the server started.
const CUMULATIVE: u8 = 2;
/// Span kind: a request that the server received.
const SERVER: u8 = 2;
const STATUS_UNSET: u8 = 0;
const STATUS_ERROR: u8 = 2;

/// The time that the numbers cover, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    pub(super) start: u64,
    pub(super) now: u64,
}

pub(super) fn metrics(service: &str, families: &[Family], period: Period) -> Json {
    let all: Vec<Json> = families.iter().map(|family| metric(family, period)).collect();
    json!({ "resourceMetrics": [{ "resource": resource(service), "scopeMetrics": [{ "scope": scope(), "metrics": all }] }] })
}

pub(super) fn traces(service: &str, spans: &[Span]) -> Json {
    let all: Vec<Json> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{ "resource": resource(service), "scopeSpans": [{ "scope": scope(), "spans": all }] }] })
}

fn resource(service: &str) -> Json {
    json!({ "attributes": [text("service.name", service), text("service.version", env!("CARGO_PKG_VERSION"))] })
}

fn scope() -> Json {
    json!({ "name": "hearth", "version": env!("CARGO_PKG_VERSION") })
}

fn metric(family: &Family, period: Period) -> Json {
    let points: Vec<Json> = family.points.iter().map(|point| data_point(point, family.kind, period)).collect();
    // OTLP has unit and monotonicity apart from the name.
    let name = family.name.strip_suffix("_total").unwrap_or(family.name);
    let (name, unit) = match (name.strip_suffix("_seconds"), name.strip_suffix("_bytes")) {
        (Some(name), _) => (name, "s"),
        (_, Some(name)) => (name, "By"),
        (None, None) => (name, "1"),
    };
    let mut metric = json!({ "name": name, "description": family.help, "unit": unit });
    match family.kind {
        Kind::Gauge => metric["gauge"] = json!({ "dataPoints": points }),
        Kind::Counter => {
            metric["sum"] = json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true });
        }
        Kind::Histogram => {
            metric["histogram"] = json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE });
        }
    }
    metric
}

fn data_point(point: &Point, kind: Kind, period: Period) -> Json {
    let attributes: Vec<Json> = point.labels.iter().map(|(key, value)| text(key, value)).collect();
    let mut data = json!({ "attributes": attributes, "timeUnixNano": period.now.to_string() });
    if kind != Kind::Gauge {
        data["startTimeUnixNano"] = json!(period.start.to_string());
    }
    match &point.value {
        Value::Number(number) => data["asDouble"] = json!(number),
        Value::Times(HistogramCounts { counts, microseconds }) => {
            // One count for each bound and one for the overflow, even if a cell had fewer bounds.
            let counts = (0..=BOUNDS.len()).map(|at| counts.get(at).copied().unwrap_or(0));
            data["count"] = json!(counts.clone().sum::<u64>().to_string());
            data["sum"] = json!(*microseconds as f64 / 1e6);
            data["bucketCounts"] = counts.map(|count| json!(count.to_string())).collect();
            data["explicitBounds"] = BOUNDS.iter().map(|bound| json!(*bound as f64 / 1e6)).collect();
        }
    }
    data
}

fn span(span: &Span) -> Json {
    let (scheme, rest) = span.url.split_once("://").unwrap_or(("http", &span.url));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut attributes = vec![
        text("http.request.method", &span.method),
        text("url.scheme", scheme),
        text("server.address", host),
        text("url.path", if path.is_empty() { "/" } else { path }),
        text("network.protocol.version", &span.protocol),
        text("client.address", &span.client.to_string()),
        text("hearth.request_id", &span.request_id),
        number("http.response.body.size", span.bytes),
    ];
    let mut name = span.method.clone();
    if let Some((app, version)) = &span.app {
        // Few of them, as a span's name should be; the path is beside it.
        name = format!("{name} {app}");
        attributes.extend([text("hearth.app", app.as_str()), text("hearth.version", version.as_str())]);
    }
    attributes.extend(span.status.map(|status| number("http.response.status_code", u64::from(status))));
    attributes.extend(span.user_agent.as_ref().map(|agent| text("user_agent.original", agent)));
    let is_ours = span.status.is_none_or(|status| status >= 500);
    if let (Some(fault), _) | (None, Some(fault)) =
        (&span.fault, &span.status.filter(|status| *status >= 500).map(|status| status.to_string()))
    {
        attributes.push(text("error.type", fault));
    }
    let end = span.start.saturating_add(u64::try_from(span.duration.as_nanos()).unwrap_or(u64::MAX));
    let mut out = json!({
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": name,
        "kind": SERVER,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes,
        "status": { "code": if is_ours { STATUS_ERROR } else { STATUS_UNSET } },
    });
    if let Some(parent) = &span.parent_id {
        out["parentSpanId"] = json!(parent);
    }
    out
}

fn text(key: &str, value: &str) -> Json {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Json {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
#[path = "document/tests.rs"]
mod tests;
