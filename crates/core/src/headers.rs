//! Header lists: names in lower case, values as bytes, in the order they came, duplicates kept.
//! All text lies in one buffer, so that a request's headers cost two allocations however many there are.

use std::fmt;

#[derive(Clone, Default)]
pub struct Headers {
    text: Vec<u8>,
    spans: Vec<Span>,
}

#[derive(Clone, Copy)]
struct Span {
    start: u32,
    name_end: u32,
    value_end: u32,
}

impl Headers {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(headers: usize, bytes: usize) -> Self {
        Self { text: Vec::with_capacity(bytes), spans: Vec::with_capacity(headers) }
    }

    /// Adds a header, beside any of the same name. The name is put into lower case.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(name);
        self.text[start..].make_ascii_lowercase();
        self.text.extend_from_slice(value);
        let at = |n: usize| u32::try_from(n).expect("headers are limited to far less than 4 GiB");
        self.spans.push(Span { start: at(start), name_end: at(start + name.len()), value_end: at(self.text.len()) });
    }

    /// The first value of that name, which must be in lower case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }

    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Removes all of that name.
    pub fn remove(&mut self, name: &str) {
        let Self { text, spans } = self;
        spans.retain(|s| &text[s.start as usize..s.name_end as usize] != name.as_bytes());
    }

    /// Replaces all of that name by one.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        self.remove(name);
        self.push(name.as_bytes(), value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|s| {
            (&self.text[s.start as usize..s.name_end as usize], &self.text[s.name_end as usize..s.value_end as usize])
        })
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        f.debug_map().entries(self.iter().map(|(n, v)| (text(n), text(v)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_duplicates_stay() {
        let mut headers = Headers::new();
        headers.push(b"Set-Cookie", b"a=1");
        headers.push(b"X-One", b"");
        headers.push(b"set-cookie", b"b=2");
        assert_eq!(headers.get_all("set-cookie").collect::<Vec<_>>(), [b"a=1", b"b=2"]);
        assert_eq!(headers.get("x-one"), Some(&b""[..]));
        headers.set("set-cookie", b"c=3");
        assert_eq!(headers.get_all("set-cookie").collect::<Vec<_>>(), [b"c=3"]);
        assert_eq!(headers.len(), 2);
    }
}
