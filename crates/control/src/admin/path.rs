//! Paths and queries of the admin API, percent-encoded once in either direction.

use std::fmt::Write as _;

use crate::action::NoAction;

/// The parameters of a query, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(text: &str) -> Result<Self, NoAction> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = decode(name).zip(decode(&value.replace('+', "%20")));
            decoded.ok_or_else(|| NoAction::Undecodable(pair.to_owned()))
        });
        pairs.collect::<Result<_, _>>().map(Self)
    }

    /// Fails where there is a parameter of another name: one that is misspelt must not mean that it was left out.
    pub fn only(&self, names: &[&str]) -> Result<(), NoAction> {
        match self.0.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            Some((name, _)) => Err(NoAction::Unknown(name.clone())),
            None => Ok(()),
        }
    }

    pub fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone())
    }

    pub fn need(&self, name: &'static str) -> Result<String, NoAction> {
        self.get(name).filter(|value| !value.is_empty()).ok_or(NoAction::Missing(name))
    }
}

/// Percent-decodes once; `None` where that gives no text.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Encodes all but what needs no encoding anywhere.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
