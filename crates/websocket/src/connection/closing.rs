//! The end of a connection: what the peer and the app are told, and which phase follows.

use hearth_core::SocketEnd;
use hearth_core::websocket::{Close, SocketFault};
use tokio::time::Instant;

use super::{Connection, Ended, Phase, Step};
use crate::protocol_error::ProtocolError;

impl<S> Connection<S> {
    pub(super) fn send_close(&mut self, close: &Close) {
        self.encoder.close(close, &mut self.write_queue);
        let until = Instant::now() + self.config.close_timeout;
        self.change(|end| Phase::CloseSent { end, until });
    }

    /// Answers the peer's close frame with the same code, instead of the app.
    pub(super) fn echo_close(&mut self) {
        if let Phase::CloseReceived { close, .. } = &self.phase {
            self.encoder.close(close, &mut self.write_queue);
            self.end(Ended::Closed);
        }
    }

    /// Closes the connection after a violation of the protocol.
    pub(super) fn reject(&mut self, violation: ProtocolError) {
        self.encoder.close(&Close::new(violation.code(), &violation.to_string()), &mut self.write_queue);
        self.fail(violation.fault());
    }

    /// Notifies the app, and sends the peer what is in the write queue.
    pub(super) fn fail(&mut self, fault: SocketFault) {
        self.notify_app(|end| end.sender.fail(fault));
        self.end(Ended::Failed(fault));
    }

    /// The stream has ended: there is no peer to notify.
    pub(super) fn lose(&mut self) -> Ended {
        if let Phase::Closing { with, .. } = self.phase {
            return with;
        }
        self.fail(SocketFault::Lost);
        Ended::Failed(SocketFault::Lost)
    }

    pub(super) fn notify_app(&mut self, notify: impl FnOnce(&SocketEnd)) {
        match &self.phase {
            Phase::Open(end) | Phase::CloseSent { end, .. } | Phase::CloseReceived { end, .. } => notify(end),
            Phase::Closing { .. } => {}
        }
    }

    pub(super) fn end(&mut self, with: Ended) {
        let until = Instant::now() + self.config.close_timeout;
        self.phase = Phase::Closing { with, step: Step::Writing, until };
    }

    /// Puts the app's end into another phase.
    pub(super) fn change(&mut self, next: impl FnOnce(Box<SocketEnd>) -> Phase) {
        let nothing = Phase::Closing { with: Ended::Closed, step: Step::Writing, until: self.last_received };
        self.phase = match std::mem::replace(&mut self.phase, nothing) {
            Phase::Open(end) | Phase::CloseSent { end, .. } | Phase::CloseReceived { end, .. } => next(end),
            ending @ Phase::Closing { .. } => ending,
        };
    }
}
