//! Server-sent events of the admin API.

use serde_json::Value;

use crate::client::Client;
use crate::server::{Server, TOKEN};

pub struct Events {
    client: Client,
    text: String,
}

impl Events {
    pub fn follow(server: &Server, path: &str) -> Self {
        let mut client = Client::connect(&server.admin());
        client.start("GET", path, &[("authorization", &format!("Bearer {TOKEN}"))]);
        let head = client.head();
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        Self { client, text: String::new() }
    }

    /// The next event's name and data; `None` at the end of the stream.
    pub fn next(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
                };
                let found = field("event").zip(field("data"));
                self.text = rest.to_owned();
                // Comments keep the connection alive.
                if let Some((name, data)) = found {
                    return Some((name, serde_json::from_str(&data).unwrap()));
                }
            }
            self.text.push_str(std::str::from_utf8(&self.client.chunk()?).unwrap());
        }
    }

    /// The next one that is wanted.
    #[track_caller]
    pub fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        while let Some((_, data)) = self.next() {
            if wanted(&data) {
                return data;
            }
        }
        panic!("the stream ended before it came");
    }
}
