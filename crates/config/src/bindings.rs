//! `bindings`: objects in an app's `env` that are no text. A name, and the kind of thing that it is bound to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ConfigProblem;
use crate::fields::{Fault, Read};
use crate::value::{self, Word};
use crate::yaml::{Key, Node};

/// By the name in `env`.
pub type Bindings = BTreeMap<String, BindingKind>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindingKind {
    /// A fetcher over the folder that `static` names.
    Assets,
}

/// More than any app has.
const MAX_BINDINGS: usize = 64;

impl Word for BindingKind {
    const WORDS: &'static [(&'static str, Self)] = &[("assets", Self::Assets)];
}

pub(crate) fn read(node: &Node) -> Read<Bindings> {
    let entry = |key: &Key, node: &Node| match is_name(&key.name) {
        true => value::word(node),
        false => Err(vec![Fault::at(key.at, ConfigProblem::BindingName { name: key.name.clone() })]),
    };
    let bindings: Bindings =
        value::map(node, "a map of names and kinds, such as ASSETS: assets", entry)?.into_iter().collect();
    match bindings.len() {
        count if count > MAX_BINDINGS => value::fault(node, ConfigProblem::TooLong { count, limit: MAX_BINDINGS }),
        _ => Ok(bindings),
    }
}

/// What can stand after `env.`
fn is_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$');
    name.starts_with(first) && name.len() <= 64 && name.chars().all(|c| first(c) || c.is_ascii_digit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use crate::Manifest;

    use super::*;

    fn parse(text: &str) -> Result<Option<Bindings>, String> {
        let manifest = Manifest::parse(text, Path::new("manifest.yaml"));
        manifest.map(|manifest| manifest.bindings).map_err(|errors| errors.to_string())
    }

    #[test]
    fn names_and_kinds() {
        let bindings = parse("bindings: { ASSETS: assets }").unwrap().unwrap();
        assert_eq!(bindings, Bindings::from([("ASSETS".to_owned(), BindingKind::Assets)]));
        assert_eq!(parse("static: public").unwrap(), None);
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let message = |text| parse(text).unwrap_err();
        assert!(message("bindings: { DB: d1 }").contains("\"d1\" is not known here: write assets"));
        assert!(message("bindings: { 1A: assets }").contains("cannot be a name in env"));
        assert!(message("bindings: [ASSETS]").contains("expected a map of names and kinds"));
    }
}
