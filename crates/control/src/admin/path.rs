//! Percent-encoding of paths and queries of the admin API, in both directions.

use hearth_core::percent::{self, decode};

use crate::action::NoAction;

/// The parameters of a query, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    pub fn parse(text: &str) -> Result<Self, NoAction> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = decode(name).zip(decode(&value.replace('+', "%20")));
            decoded.ok_or_else(|| NoAction::Undecodable(pair.to_owned()))
        });
        pairs.collect::<Result<_, _>>().map(Self)
    }

    /// Fails if there is another parameter: a misspelt one must not count as missing.
    pub fn only(&self, names: &[&str]) -> Result<(), NoAction> {
        match self.0.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            Some((name, _)) => Err(NoAction::Unknown(name.clone())),
            None => Ok(()),
        }
    }

    pub fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone())
    }

    pub fn require(&self, name: &'static str) -> Result<String, NoAction> {
        self.get(name).filter(|value| !value.is_empty()).ok_or(NoAction::Missing(name))
    }
}

/// Encodes all but unreserved characters.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent::encode(&mut out, text, percent::is_unreserved);
    out
}
