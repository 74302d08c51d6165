//! One request to one app, and its expected response. The request has a unique number, which app, URL and headers repeat in
//! the response, so that the response to another request is recognized.

use crate::apps::{App, Outcome, Shape, Way};
use crate::random::Random;
use crate::wire::{Reply, Trouble};

/// Outcomes that any request may have under overload.
const OVERLOAD: [&str; 2] = ["no_capacity", "limit_wall"];

pub struct Ask {
    pub app: App,
    pub way: &'static Way,
    way_number: usize,
    nonce: String,
    ticks: usize,
    body: Option<Vec<u8>>,
    framing: Framing,
    connection: Persistence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length,
    /// In pieces of this size.
    Chunks(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    KeepAlive,
    Close,
    /// HTTP/1.0, where the end of the connection ends the body.
    Http10,
}

/// Whether there are other clients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Company {
    Alone,
    Crowd,
}

/// An allowed outcome of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Answer,
    Code(String),
    CutOff,
}

impl Ask {
    /// A request for `app`, made unique by `nonce`.
    pub fn new(app: &App, way: usize, nonce: String, random: &mut Random) -> Self {
        let size = 1 + random.below(4000);
        let body = match app.kind.ways[way].shape {
            Shape::Echo | Shape::Upper => Some(format!("{nonce} body\n").repeat(size).into_bytes()),
            Shape::Json => Some(format!(r#"{{"nonce":"{nonce}","items":{}}}"#, list(0..size)).into_bytes()),
            Shape::Mark | Shape::Count | Shape::Ticks { .. } => None,
        };
        let framing = if random.percent(50) { Framing::Length } else { Framing::Chunks(1 + random.below(40_000)) };
        Self {
            app: app.clone(),
            way: &app.kind.ways[way],
            way_number: way,
            nonce,
            ticks: 1 + random.below(12),
            body,
            framing,
            connection: Persistence::KeepAlive,
        }
    }

    pub fn with(mut self, connection: Persistence) -> Self {
        self.connection = connection;
        if connection == Persistence::Http10 {
            self.framing = Framing::Length;
        }
        self
    }

    /// Asks for a stream that goes on until the client disconnects.
    pub fn endless(mut self) -> Self {
        self.ticks = 1_000_000;
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let Self { app, way_number, nonce, ticks, .. } = self;
        let method = if self.body.is_some() { "POST" } else { "GET" };
        let (version, connection) = match self.connection {
            Persistence::KeepAlive => ("1.1", ""),
            Persistence::Close => ("1.1", "connection: close\r\n"),
            Persistence::Http10 => ("1.0", ""),
        };
        let framing = match (&self.body, self.framing) {
            (None, _) => String::new(),
            (Some(body), Framing::Length) => format!("content-length: {}\r\n", body.len()),
            (Some(_), Framing::Chunks(_)) => "transfer-encoding: chunked\r\n".to_owned(),
        };
        let mut bytes = format!(
            "{method} /{}/?nonce={nonce}&way={way_number}&ticks={ticks} HTTP/{version}\r\nhost: soak\r\n\
             x-request-id: {nonce}\r\n{connection}{framing}\r\n",
            app.name
        )
        .into_bytes();
        match (&self.body, self.framing) {
            (None, _) => {}
            (Some(body), Framing::Length) => bytes.extend_from_slice(body),
            (Some(body), Framing::Chunks(size)) => {
                for piece in body.chunks(size) {
                    bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                    bytes.extend_from_slice(piece);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
        }
        bytes
    }

    /// The app's name for itself and the request.
    fn mark(&self) -> String {
        let (app, nonce) = (&self.app.name, &self.nonce);
        format!("{app} {app} {app} {nonce} {nonce}")
    }

    /// The outcome of the request, or a description of the fault.
    pub fn check(&self, answer: Result<&Reply, &Trouble>, company: Company) -> Result<End, String> {
        let wrong = |what: &str| Err(format!("{} way {} ({}): {what}", self.app.name, self.way_number, self.nonce));
        let reply = match answer {
            Ok(reply) => reply,
            Err(Trouble::CutOff(_)) if self.may(Outcome::CutOff) => return Ok(End::CutOff),
            Err(trouble) => return wrong(&format!("got no answer: {trouble}")),
        };
        if reply.header("x-request-id") != Some(&self.nonce) {
            return wrong(&format!("got another request's answer: {reply}"));
        }
        if reply.status == 200 {
            return match self.fault(reply) {
                _ if !self.may(Outcome::Answer) => wrong(&format!("was answered: {reply}")),
                None => Ok(End::Answer),
                Some(fault) => wrong(&format!("{fault}: {reply}")),
            };
        }
        match reply.code() {
            Some(code) if self.way.outcomes.iter().any(|outcome| is_code(*outcome, &code)) => Ok(End::Code(code)),
            Some(code) if company == Company::Crowd && OVERLOAD.contains(&&*code) => Ok(End::Code(code)),
            _ => wrong(&format!("failed: {reply}")),
        }
    }

    fn may(&self, outcome: Outcome) -> bool {
        self.way.outcomes.contains(&outcome)
    }

    /// The fault of a response of the app, if any.
    fn fault(&self, reply: &Reply) -> Option<&'static str> {
        let mark = self.mark();
        if reply.header("x-soak") != Some(&mark) {
            return Some("has another mark");
        }
        let body = self.body.as_deref().unwrap_or_default();
        let right = match self.way.shape {
            Shape::Mark => reply.body == mark.as_bytes(),
            Shape::Count => self.count(reply).is_some(),
            Shape::Echo => reply.body == body,
            Shape::Upper => reply.body == body.to_ascii_uppercase(),
            Shape::Json => reply.body == self.reversed().as_bytes(),
            Shape::Ticks { copies } => {
                let line = |tick| format!("{} {tick}\n", self.nonce).repeat(copies);
                reply.body == (0..self.ticks).map(line).collect::<String>().as_bytes()
            }
        };
        (!right).then_some("has another body")
    }

    /// The worker's name and its count of requests, if the response has them.
    pub fn count(&self, reply: &Reply) -> Option<(String, u64)> {
        if self.way.shape != Shape::Count || reply.status != 200 {
            return None;
        }
        let text = std::str::from_utf8(&reply.body).ok()?.strip_prefix(&self.mark())?;
        let (worker, count) = text.trim_start().split_once(' ')?;
        Some((worker.to_owned(), count.parse().ok()?))
    }

    fn reversed(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(self.body.as_deref().unwrap_or_default()).unwrap();
        let size = body["items"].as_array().map_or(0, Vec::len);
        format!(r#"{{"mark":"{}","items":{}}}"#, self.mark(), list((0..size).rev()))
    }
}

fn list(numbers: impl Iterator<Item = usize>) -> String {
    format!("[{}]", numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(","))
}

fn is_code(outcome: Outcome, code: &str) -> bool {
    matches!(outcome, Outcome::Code(allowed) if allowed == code)
}
