//! Numbers as Prometheus reads them: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write as _;

use hearth_ipc::{BOUNDS, HistogramCounts};

use super::family::{Family, Kind, Value};

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn write(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, kind, help, points } in families {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for point in points {
            let labels: Vec<String> = point.labels.iter().map(|(key, value)| label(key, value)).collect();
            match &point.value {
                Value::Number(value) => sample(&mut text, name, &labels, *value),
                Value::Times(counted) => histogram(&mut text, name, &labels, counted),
            }
        }
    }
    text
}

fn histogram(text: &mut String, name: &str, labels: &[String], counted: &HistogramCounts) {
    let mut below = 0;
    for (at, count) in counted.counts.iter().enumerate() {
        below += count;
        let bound = BOUNDS.get(at).map_or("+Inf".to_owned(), |bound| (*bound as f64 / 1e6).to_string());
        let labels = [labels, &[label("le", &bound)]].concat();
        sample(text, &format!("{name}_bucket"), &labels, below as f64);
    }
    sample(text, &format!("{name}_sum"), labels, counted.microseconds as f64 / 1e6);
    sample(text, &format!("{name}_count"), labels, below as f64);
}

fn sample(text: &mut String, name: &str, labels: &[String], value: f64) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(text, "{name}{labels} {value}");
}

fn label(key: &str, value: &str) -> String {
    format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
