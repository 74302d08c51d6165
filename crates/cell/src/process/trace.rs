//! Requests that are traced, told to control when they are over. What an address meant is looked up then: an app that has
//! gone meanwhile is missing in its last spans.

use std::time::UNIX_EPOCH;

use hearth_config::Ratio;
use hearth_gateway::{AccessLine, RequestOutcome, Trace, Traces};
use hearth_ipc::{CellMessage, Span};

use super::outbox::Outbox;
use crate::serving::Front;

pub(super) fn traces(ratio: Ratio, outbox: &Outbox, front: &Front) -> Traces {
    if ratio == Ratio::NONE {
        return Traces::Off;
    }
    let (outbox, front) = (outbox.clone(), front.clone());
    Traces::on(
        move |random| ratio.chooses(random),
        move |line, trace| outbox.offer(CellMessage::Span(Box::new(span(line, trace, &front)))),
    )
}

fn span(line: &AccessLine<'_>, trace: &Trace, front: &Front) -> Span {
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
        app: front.named(line.url),
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
