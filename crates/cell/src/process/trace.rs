//! Traced requests, sent to control when they are over. The app is looked up by URL then: an app that was removed meanwhile is
//! missing in its last spans.

use std::time::UNIX_EPOCH;

use hearth_config::Ratio;
use hearth_gateway::{AccessLine, RequestOutcome, Trace, Traces};
use hearth_ipc::{CellMessage, Span};

use super::control_writer::ControlWriter;
use crate::routing::AppRouter;

pub(super) fn traces(ratio: Ratio, writer: &ControlWriter, router: &AppRouter) -> Traces {
    if ratio == Ratio::NONE {
        return Traces::Off;
    }
    let (writer, router) = (writer.clone(), router.clone());
    Traces::on(
        move |random| ratio.chooses(random),
        move |line, trace| writer.try_send(CellMessage::Span(Box::new(span(line, trace, &router)))),
    )
}

fn span(line: &AccessLine<'_>, trace: &Trace, router: &AppRouter) -> Span {
    let start = line.time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let fault = match line.outcome {
        RequestOutcome::Answered => None,
        outcome => Some(outcome.as_str().to_owned()),
    };
    Span {
        trace_id: format!("{:032x}", trace.trace_id),
        span_id: format!("{:016x}", trace.span_id),
        parent_id: trace.parent_id.map(|id| format!("{id:016x}")),
        start: u64::try_from(start).unwrap_or(u64::MAX),
        duration: line.duration,
        app: router.version_for_url(line.url),
        method: line.method.to_owned(),
        url: line.url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        protocol: line.protocol.trim_start_matches("HTTP/").to_owned(),
        status: line.status,
        fault,
        bytes: line.bytes,
        request_id: line.request_id.to_owned(),
        client: line.client,
        user_agent: line.user_agent.as_deref().map(str::to_owned),
    }
}
