//! Actions of clients: requests one after the other, several at once, and all kinds of disconnects. A required response is
//! checked; an optional one must be right if it arrives.

use crate::apps::{Kind, Outcome};
use crate::ask::{Ask, Persistence};
use crate::visitor::{Lost, Use, Visitor};
use crate::wire::{Reply, Trouble, Wire};

/// Byte sequences that are no valid request.
const NONSENSE: [&str; 8] = [
    "GET / HTTP/9.9\r\n\r\n",
    "GET /hello-0/ HTTP/1.1\r\n\r\n",
    "GET /hello-0/ HTTP/1.1\nhost: x\n\n",
    "POST /echo-0/ HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    "POST /echo-0/ HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET /hello-0/ HTTP/1.1\r\nhost: x\r\nx y: z\r\n\r\n",
    "POST /echo-0/ HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n",
];

fn any(_: &Kind) -> bool {
    true
}

/// Apps whose requests are always answered on a connection that stays open.
fn never_cut_off(kind: &Kind) -> bool {
    kind.ways.iter().all(|way| !way.outcomes.contains(&Outcome::CutOff))
}

fn takes_body(kind: &Kind) -> bool {
    matches!(kind.name, "echo" | "upper" | "json")
}

fn streams(kind: &Kind) -> bool {
    kind.name == "slow"
}

impl Visitor<'_> {
    /// One request after the other on one connection.
    pub fn converse(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        for _ in 0..=self.random.below(6) {
            let ask = self.ask(any);
            self.tally.sent += 1;
            // The response may arrive before the whole request is sent.
            let _ = wire.send(&ask.bytes());
            if self.finish(&ask, wire.reply()) == Use::Over {
                return Ok(());
            }
        }
        self.part(wire);
        Ok(())
    }

    /// A few requests before the first response.
    pub fn pipeline(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let count = 2 + self.random.below(4);
        let asks: Vec<Ask> = (0..count).map(|_| self.ask(never_cut_off).with(Persistence::KeepAlive)).collect();
        self.tally.sent += asks.len() as u64;
        let bytes: Vec<u8> = asks.iter().flat_map(Ask::bytes).collect();
        let _ = wire.send(&bytes);
        for (at, ask) in asks.iter().enumerate() {
            if self.finish(ask, wire.reply()) == Use::Over {
                // HTTP allows a server to close without handling the requests behind it.
                self.tally.broken += (asks.len() - at - 1) as u64;
                return Ok(());
            }
        }
        self.part(wire);
        Ok(())
    }

    /// Many connections at once, each with one request.
    pub fn crowd(&mut self) -> Result<(), Lost> {
        let mut waiting = Vec::new();
        for _ in 0..20 + self.random.below(100) {
            let ask = self.ask(|kind| matches!(kind.name, "busy" | "hello"));
            let mut wire = self.connect()?;
            self.tally.sent += 1;
            let _ = wire.send(&ask.bytes());
            waiting.push((ask, wire));
        }
        for (ask, mut wire) in waiting {
            self.finish(&ask, wire.reply());
        }
        Ok(())
    }

    /// Closes a connection on which nothing is expected.
    fn part(&mut self, mut wire: Wire) {
        if self.random.percent(50) {
            wire.half_close();
            match wire.rest() {
                Ok(rest) => self.tally.faults.check(rest.is_empty(), || {
                    format!("more came than was asked for: {:?}", String::from_utf8_lossy(&rest))
                }),
                Err(trouble) => self.tally.faults.push(format!("an idle connection does not end: {trouble}")),
            }
        }
    }

    /// Disconnects in the middle of a request.
    pub fn leave_upload(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let ask = self.ask(takes_body);
        let bytes = ask.bytes();
        self.give_up(1);
        let _ = wire.send(&bytes[..self.random.below(bytes.len())]);
        if self.random.percent(50) {
            self.pause(20);
        }
        Ok(())
    }

    /// Disconnects in the middle of a response.
    pub fn leave_download(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let ask = self.ask(streams).endless();
        self.give_up(1);
        let _ = wire.send(&ask.bytes());
        match wire.head() {
            // The connection is closed at the end of this function.
            Ok(reply) if reply.status == 200 => {
                let most = if self.random.percent(50) { 100 } else { 20_000 };
                let count = self.random.below(most);
                if let Err(trouble) = wire.skip(count) {
                    self.tally.faults.push(format!("{} ended by itself: {trouble}", ask.app.name));
                }
                if self.random.percent(30) {
                    self.pause(100);
                }
            }
            Ok(_) => {}
            Err(trouble) => self.tally.faults.push(format!("{} got no head: {trouble}", ask.app.name)),
        }
        Ok(())
    }

    /// Disconnects before the response.
    pub fn leave_at_once(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let ask = self.ask(any);
        self.give_up(1);
        let _ = wire.send(&ask.bytes());
        if self.random.percent(70) {
            self.pause(30);
        }
        Ok(())
    }

    /// Half-closes after the request. The server takes that as a disconnect, but may have responded before.
    pub fn half_close(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let ask = self.ask(never_cut_off).with(Persistence::KeepAlive);
        self.give_up(1);
        let _ = wire.send(&ask.bytes());
        wire.half_close();
        self.maybe(&ask, wire.reply());
        self.expect_end(wire);
        Ok(())
    }

    /// Sends bytes that are no request, perhaps after a valid one.
    pub fn talk_nonsense(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let mut bytes = Vec::new();
        let before =
            self.random.percent(50).then(|| self.ask(|kind| kind.name == "hello").with(Persistence::KeepAlive));
        if let Some(ask) = &before {
            self.tally.sent += 1;
            bytes = ask.bytes();
        }
        self.give_up(1);
        bytes.extend_from_slice(&self.nonsense());
        let _ = wire.send(&bytes);
        if let Some(ask) = before {
            if self.finish(&ask, wire.reply()) == Use::Over {
                self.tally.faults.push(format!("{}: the connection ended too early", ask.app.name));
                return Ok(());
            }
        }
        wire.half_close();
        match wire.reply() {
            Ok(reply) => self
                .tally
                .faults
                .check((400..=505).contains(&reply.status), || format!("nonsense was answered: {reply}")),
            Err(Trouble::Ended | Trouble::CutOff(_)) => {}
            Err(trouble) => self.tally.faults.push(format!("nonsense was answered: {trouble}")),
        }
        self.expect_end(wire);
        Ok(())
    }

    fn nonsense(&mut self) -> Vec<u8> {
        match self.random.below(4) {
            0 => (0..1 + self.random.below(400)).map(|_| self.random.next() as u8).collect(),
            1 => format!("GET /hello-0/ HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n", "x".repeat(20_000)).into_bytes(),
            2 => b"POST /json-0/ HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n".to_vec(),
            _ => self.random.pick(&NONSENSE).as_bytes().to_vec(),
        }
    }

    /// Sends a request in small pieces.
    pub fn dawdle(&mut self) -> Result<(), Lost> {
        let mut wire = self.connect()?;
        let ask = self.ask(any);
        let bytes = ask.bytes();
        self.tally.sent += 1;
        let mut sent = 0;
        while sent < bytes.len() {
            // Larger pieces for large bodies, to bound the time.
            let end = (sent + 1 + self.random.below(bytes.len() / 8 + 20)).min(bytes.len());
            if wire.send(&bytes[sent..end]).is_err() {
                break;
            }
            sent = end;
            self.pause(5);
        }
        self.finish(&ask, wire.reply());
        Ok(())
    }

    /// Counts requests whose responses need not arrive.
    fn give_up(&mut self, count: u64) {
        self.tally.sent += count;
        self.tally.broken += count;
    }

    /// Checks a response that need not arrive.
    fn maybe(&mut self, ask: &Ask, answer: Result<Reply, Trouble>) {
        if matches!(answer, Err(Trouble::Ended | Trouble::CutOff(_))) {
            return;
        }
        if let Err(fault) = ask.check(answer.as_ref(), self.company) {
            self.tally.faults.push(fault);
        }
    }

    /// Checks that nothing more arrives, however the connection ends.
    fn expect_end(&mut self, mut wire: Wire) {
        match wire.rest() {
            Ok(rest) => self.tally.faults.check(rest.is_empty(), || {
                format!("more came than was asked for: {:?}", String::from_utf8_lossy(&rest))
            }),
            Err(Trouble::Ended) => {}
            Err(trouble) => self.tally.faults.push(format!("the connection does not end: {trouble}")),
        }
    }
}
