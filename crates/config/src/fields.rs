//! Reads a map with known keys. A reader asks for each key that it knows; keys that were not asked
//! for are unknown. The list of known keys is thus written only once, where they are read.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{ConfigErrors, ConfigProblem, MAX_ERRORS, Position};
use crate::suggest::nearest;
use crate::value::wrong_type;
use crate::yaml::{self, Key, Node, Value};

/// An error within a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Position,
    /// Relative to the node that is being read: empty for the node itself.
    pub(crate) key: String,
    pub(crate) problem: ConfigProblem,
}

/// A value, or all errors in it.
pub(crate) type Read<T> = Result<T, Vec<Fault>>;

pub(crate) struct Fields<'a> {
    entries: &'a [(Key, Node)],
    known: BTreeMap<&'static str, Position>,
    asked: Vec<&'static str>,
    faults: Vec<Fault>,
}

/// Reads a whole file; `T::default()` if it is empty.
pub(crate) fn read_file<T: Default>(
    text: &str,
    file: &Path,
    read: impl FnOnce(&Node) -> Read<T>,
) -> Result<T, ConfigErrors> {
    let (value, faults) = match yaml::parse(text) {
        Err(fault) => (T::default(), vec![fault]),
        Ok(document) => match document.root.filter(|root| !root.is_null()).as_ref().map(read) {
            None => (T::default(), document.faults),
            Some(Ok(value)) => (value, document.faults),
            Some(Err(faults)) => (T::default(), [document.faults, faults].concat()),
        },
    };
    ConfigErrors::from_faults(file, faults).map_or(Ok(value), Err)
}

/// A key as shown in logs.
pub(crate) fn printable(key: &str) -> String {
    let end = key.char_indices().nth(60).map_or(key.len(), |(at, _)| at);
    key[..end].escape_debug().to_string()
}

// === impl Fault ===

impl Fault {
    pub(crate) fn at(at: Position, problem: ConfigProblem) -> Self {
        Self { at, key: String::new(), problem }
    }

    /// The same error, seen from the parent node.
    pub(crate) fn under(mut self, key: &str) -> Self {
        let joint = if self.key.is_empty() || self.key.starts_with('[') { "" } else { "." };
        self.key = format!("{key}{joint}{}", self.key);
        self
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(crate) fn new(node: &'a Node) -> Read<Self> {
        match &node.value {
            Value::Map(entries) => Ok(Self { entries, known: BTreeMap::new(), asked: Vec::new(), faults: Vec::new() }),
            _ => Err(wrong_type(node, "a map of keys and values")),
        }
    }

    /// The value of a key, if present and valid.
    pub(crate) fn read<T>(&mut self, key: &'static str, read: impl FnOnce(&Node) -> Read<T>) -> Option<T> {
        self.asked.push(key);
        let (at, node) = self.entries.iter().find(|(entry, _)| entry.name == key)?;
        self.known.insert(key, at.at);
        match read(node) {
            Ok(value) => Some(value),
            Err(faults) => {
                self.faults.extend(faults.into_iter().map(|fault| fault.under(key)));
                None
            }
        }
    }

    /// The position of a key that was asked for.
    pub(crate) fn position(&self, key: &str) -> Option<Position> {
        self.known.get(key).copied()
    }

    /// Records an error in the value of a key.
    pub(crate) fn fault(&mut self, key: &str, problem: ConfigProblem) {
        let at = self.position(key).unwrap_or(Position::START);
        self.faults.push(Fault { at, key: key.to_owned(), problem });
    }

    /// Records an error in the map as a whole.
    pub(crate) fn fault_at(&mut self, at: Position, problem: ConfigProblem) {
        self.faults.push(Fault::at(at, problem));
    }

    /// The positions of all keys, or the errors, which include unknown keys.
    pub(crate) fn finish(mut self) -> Read<BTreeMap<&'static str, Position>> {
        for (key, _) in self.entries.iter().filter(|(key, _)| !self.known.contains_key(key.name.as_str())) {
            // Errors beyond the limit are only counted.
            let asked = if self.faults.len() < MAX_ERRORS { self.asked.as_slice() } else { &[] };
            let nearest = nearest(&key.name, asked);
            let known = if nearest.is_none() { asked.to_vec() } else { Vec::new() };
            let problem = ConfigProblem::UnknownKey { nearest, known };
            self.faults.push(Fault { at: key.at, key: printable(&key.name), problem });
        }
        if self.faults.is_empty() { Ok(self.known) } else { Err(self.faults) }
    }
}
