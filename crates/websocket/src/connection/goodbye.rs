//! How a connection comes to its end: who is told what, and which phase follows.

use hearth_core::SocketEnd;
use hearth_core::websocket::{Close, SocketFault};
use tokio::time::Instant;

use super::{Connection, Ended, Phase, Step};
use crate::violation::Violation;

impl<S> Connection<S> {
    pub(super) fn say_goodbye(&mut self, close: &Close) {
        self.encoder.close(close, &mut self.outbox);
        let until = Instant::now() + self.config.close_timeout;
        self.change(|end| Phase::Waiting { end, until });
    }

    /// The peer's goodbye comes back to it.
    pub(super) fn answer_for_the_app(&mut self) {
        if let Phase::Answering { goodbye, .. } = &self.phase {
            self.encoder.close(goodbye, &mut self.outbox);
            self.end(Ended::Closed);
        }
    }

    /// The peer broke a rule.
    pub(super) fn refuse(&mut self, violation: Violation) {
        self.encoder.close(&Close::new(violation.code(), &violation.to_string()), &mut self.outbox);
        self.fail(violation.fault());
    }

    /// The app is told, and the peer what is in the outbox.
    pub(super) fn fail(&mut self, fault: SocketFault) {
        self.tell(|end| end.sender.fail(fault));
        self.end(Ended::Failed(fault));
    }

    /// There is nobody to be told anything.
    pub(super) fn lose(&mut self) -> Ended {
        if let Phase::Ending { with, .. } = self.phase {
            return with;
        }
        self.fail(SocketFault::Lost);
        Ended::Failed(SocketFault::Lost)
    }

    pub(super) fn tell(&mut self, tell: impl FnOnce(&SocketEnd)) {
        match &self.phase {
            Phase::Open(end) | Phase::Waiting { end, .. } | Phase::Answering { end, .. } => tell(end),
            Phase::Ending { .. } => {}
        }
    }

    pub(super) fn end(&mut self, with: Ended) {
        let until = Instant::now() + self.config.close_timeout;
        self.phase = Phase::Ending { with, step: Step::Writing, until };
    }

    /// Puts the app's end into another phase.
    pub(super) fn change(&mut self, next: impl FnOnce(Box<SocketEnd>) -> Phase) {
        let nothing = Phase::Ending { with: Ended::Closed, step: Step::Writing, until: self.heard };
        self.phase = match std::mem::replace(&mut self.phase, nothing) {
            Phase::Open(end) | Phase::Waiting { end, .. } | Phase::Answering { end, .. } => next(end),
            ending @ Phase::Ending { .. } => ending,
        };
    }
}
