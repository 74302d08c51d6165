//! Server-sent events, read as they come: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use std::io::{self, BufRead, Read};

/// Longer lines are an error.
const MAX_LINE_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// The events of a stream. An incomplete one at its end is left out.
pub(super) struct Events<R> {
    input: R,
}

impl<R: BufRead> Events<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input }
    }

    /// The next event; `None` when the stream has ended.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut has_data = false;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = self.input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
            if read as u64 == MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "an event without an end"));
            }
            if line.pop() != Some(b'\n') {
                return Ok(None);
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            let text = String::from_utf8_lossy(&line);
            let (field, value) = text.split_once(':').unwrap_or((&text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if text.is_empty() && has_data => return Ok(Some(event)),
                "" if text.is_empty() => event = Event::default(),
                "event" => event.name = value.to_owned(),
                "data" if has_data => event.data = format!("{}\n{value}", event.data),
                "data" => (event.data, has_data) = (value.to_owned(), true),
                // Comments, and fields that are not used here.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, String)> {
        let mut events = Events::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(Event { name, data }) = events.next().unwrap() {
            all.push((name, data));
        }
        all
    }

    #[test]
    fn events_are_parsed() {
        let text = ": hello\n\nevent: line\ndata: {\"a\":1}\n\n: still here\n\ndata:b\r\ndata: c\r\n\r\nevent: x\n\ndata: cut off\n";
        let expected = [("line", "{\"a\":1}"), ("", "b\nc")].map(|(name, data)| (name.to_owned(), data.to_owned()));
        assert_eq!(all(text), expected);
        assert!(all("").is_empty());
    }
}
