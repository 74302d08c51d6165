//! Which requests are traced, and as what: <https://www.w3.org/TR/trace-context/>.
//!
//! A request with a `traceparent` is traced if its flags say that the trace is recorded. Of requests without one, the operator's
//! share is sampled. The app of a traced request gets a `traceparent` with the gateway's span, so that the app's spans become its
//! children; other requests keep their headers.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hearth_core::Headers;

use crate::access::AccessLine;

/// Receives traced requests when they have ended. Called on the connection's own task, so it must not block.
pub type TraceSink = Arc<dyn Fn(&AccessLine<'_>, &Trace) + Send + Sync>;

#[derive(Clone, Default)]
pub enum Traces {
    #[default]
    Off,
    On(Arc<Tracer>),
}

/// Samples requests, and makes their ids.
pub struct Tracer {
    sink: TraceSink,
    /// Whether to trace a request without a `traceparent`; gets a random number.
    choose: Box<dyn Fn(u64) -> bool + Send + Sync>,
    keys: RandomState,
    count: AtomicU64,
}

/// A request's span in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    pub trace_id: u128,
    pub span_id: u64,
    /// The client's span.
    pub parent_id: Option<u64>,
}

/// A parsed `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parent {
    trace_id: u128,
    span_id: u64,
    is_recorded: bool,
}

impl Traces {
    pub fn on(
        choose: impl Fn(u64) -> bool + Send + Sync + 'static,
        sink: impl Fn(&AccessLine<'_>, &Trace) + Send + Sync + 'static,
    ) -> Self {
        let (sink, choose) = (Arc::new(sink), Box::new(choose));
        Self::On(Arc::new(Tracer { sink, choose, keys: RandomState::new(), count: AtomicU64::new(0) }))
    }

    /// Decides whether a request is traced, and sets its `traceparent`.
    pub(crate) fn begin(&self, headers: &mut Headers) -> Option<(TraceSink, Trace)> {
        match self {
            Self::Off => None,
            Self::On(tracer) => tracer.begin(headers).map(|trace| (tracer.sink.clone(), trace)),
        }
    }
}

impl Tracer {
    fn begin(&self, headers: &mut Headers) -> Option<Trace> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        // Keyed, so that clients cannot predict one id from another. Zero is not a valid id.
        let random = |part: u8| self.keys.hash_one((number, part)).max(1);
        let trace = match parent(headers) {
            Some(Parent { is_recorded: false, .. }) => return None,
            Some(Parent { trace_id, span_id, .. }) => Trace { trace_id, span_id: random(0), parent_id: Some(span_id) },
            None if (self.choose)(random(1)) => {
                let trace_id = u128::from(random(1)) << 64 | u128::from(random(2));
                Trace { trace_id, span_id: random(0), parent_id: None }
            }
            None => return None,
        };
        let text = format!("00-{:032x}-{:016x}-01", trace.trace_id, trace.span_id);
        headers.set("traceparent", text.as_bytes());
        Some(trace)
    }
}

/// None where there is none, or more than one, or an invalid one: then a trace begins here.
fn parent(headers: &Headers) -> Option<Parent> {
    let mut all = headers.get_all("traceparent");
    let text = std::str::from_utf8(all.next()?).ok()?;
    if all.next().is_some() || !text.is_ascii() || text.len() < 55 {
        return None;
    }
    let (known, later) = text.split_at(55);
    let mut parts = known.split('-');
    let mut part = |length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        parts.next().filter(|part| part.len() == length && part.bytes().all(is_digit))
    };
    let (version, trace_id, span_id, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
    // A later version may have more fields, after a dash.
    let is_whole = if version == "00" { later.is_empty() } else { later.is_empty() || later.starts_with('-') };
    let trace_id = u128::from_str_radix(trace_id, 16).ok().filter(|id| *id != 0)?;
    let span_id = u64::from_str_radix(span_id, 16).ok().filter(|id| *id != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    (is_whole && version != "ff").then_some(Parent { trace_id, span_id, is_recorded: flags & 1 == 1 })
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if let Self::Off = self { "Off" } else { "On" })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn headers(parents: &[&str]) -> Headers {
        let mut headers = Headers::new();
        parents.iter().for_each(|parent| headers.push(b"traceparent", parent.as_bytes()));
        headers
    }

    fn begin(choose: fn(u64) -> bool, parents: &[&str]) -> (Option<Trace>, Vec<String>) {
        let mut headers = headers(parents);
        let trace = Traces::on(choose, |_, _| {}).begin(&mut headers).map(|(_, trace)| trace);
        let now = headers.get_all("traceparent").map(|value| String::from_utf8(value.to_vec()).unwrap()).collect();
        (trace, now)
    }

    #[test]
    fn a_recorded_trace_is_continued() {
        let recorded = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let (trace, now) = begin(|_| false, &[&recorded]);
        let trace = trace.unwrap();
        assert_eq!(
            (format!("{:032x}", trace.trace_id).as_str(), trace.parent_id),
            (TRACE, Some(0x00f0_67aa_0ba9_02b7))
        );
        assert_eq!(now, [format!("00-{TRACE}-{:016x}-01", trace.span_id)]);
        let unrecorded = format!("00-{TRACE}-00f067aa0ba902b7-00");
        assert_eq!(begin(|_| true, &[&unrecorded]), (None, vec![unrecorded.clone()]));
    }

    #[test]
    fn a_sampled_request_starts_a_trace() {
        assert_eq!(begin(|_| false, &[]), (None, Vec::new()));
        let (trace, now) = begin(|_| true, &[]);
        assert!(trace.is_some_and(|trace| trace.parent_id.is_none()) && now.len() == 1, "{trace:?}");
        assert!(parent(&headers(&[&now[0]])).is_some_and(|parent| parent.is_recorded));
        let traces = Traces::on(|_| true, |_, _| {});
        let mut ids: Vec<u128> =
            (0..1000).filter_map(|_| traces.begin(&mut Headers::new())).map(|(_, trace)| trace.trace_id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 1000);
    }

    #[test]
    fn invalid_traceparents_are_ignored() {
        let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert!(parent(&headers(&[&good])).is_some());
        assert!(parent(&headers(&[&format!("01-{TRACE}-00f067aa0ba902b7-01-more")])).is_some());
        for bad in [
            "",
            "00",
            &good[..54],
            &format!("{good}-more"),
            &good.to_uppercase(),
            &good.replace("00-4", "ff-4"),
            &good.replace('-', "_"),
            &format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            &format!("00-{TRACE}-{}-01", "0".repeat(16)),
            &good.replace("4bf9", "+bf9"),
            &good.replace("4bf9", "\u{e9}f9"),
        ] {
            assert_eq!(parent(&headers(&[bad])), None, "{bad}");
        }
        assert_eq!(parent(&headers(&[&good, &good])), None);
    }
}
