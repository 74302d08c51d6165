//! A map of known keys. Whoever reads it asks for each key it knows; what nobody asked for is unknown. So the list of known
//! keys is written down once, where they are read.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{ConfigErrors, KEPT, Position, Problem};
use crate::nearest::nearest;
use crate::value::wrong_type;
use crate::yaml::{self, Key, Node, Value};

/// Something wrong within a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Position,
    /// From where the reader stands: empty for the value itself.
    pub(crate) key: String,
    pub(crate) problem: Problem,
}

/// A value, or all that is wrong with it.
pub(crate) type Read<T> = Result<T, Vec<Fault>>;

pub(crate) struct Fields<'a> {
    entries: &'a [(Key, Node)],
    known: BTreeMap<&'static str, Position>,
    asked: Vec<&'static str>,
    faults: Vec<Fault>,
}

/// Reads a whole file; `T::default()` where it is empty.
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
    ConfigErrors::of(file, faults).map_or(Ok(value), Err)
}

/// A key as it may stand in a line of the log.
pub(crate) fn printable(key: &str) -> String {
    let end = key.char_indices().nth(60).map_or(key.len(), |(at, _)| at);
    key[..end].escape_debug().to_string()
}

// === impl Fault ===

impl Fault {
    pub(crate) fn at(at: Position, problem: Problem) -> Self {
        Self { at, key: String::new(), problem }
    }

    /// The same, seen from one step further out.
    pub(crate) fn under(mut self, key: &str) -> Self {
        let joint = if self.key.is_empty() || self.key.starts_with('[') { "" } else { "." };
        self.key = format!("{key}{joint}{}", self.key);
        self
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(crate) fn of(node: &'a Node) -> Read<Self> {
        match &node.value {
            Value::Map(entries) => Ok(Self { entries, known: BTreeMap::new(), asked: Vec::new(), faults: Vec::new() }),
            _ => Err(wrong_type(node, "a map of keys and values")),
        }
    }

    /// The value of a key, if it is there and right.
    pub(crate) fn take<T>(&mut self, key: &'static str, read: impl FnOnce(&Node) -> Read<T>) -> Option<T> {
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

    /// Where a key stands that was asked for.
    pub(crate) fn position(&self, key: &str) -> Option<Position> {
        self.known.get(key).copied()
    }

    /// Something is wrong with the value of a key that is there.
    pub(crate) fn fault(&mut self, key: &str, problem: Problem) {
        let at = self.position(key).unwrap_or(Position::START);
        self.faults.push(Fault { at, key: key.to_owned(), problem });
    }

    /// Something is wrong with all of it.
    pub(crate) fn fault_at(&mut self, at: Position, problem: Problem) {
        self.faults.push(Fault::at(at, problem));
    }

    /// Where each key stands, if nothing was wrong; unknown keys are.
    pub(crate) fn finish(mut self) -> Read<BTreeMap<&'static str, Position>> {
        for (key, _) in self.entries.iter().filter(|(key, _)| !self.known.contains_key(key.name.as_str())) {
            // Those that nobody will see are counted, and cost nothing else.
            let asked = if self.faults.len() < KEPT { self.asked.as_slice() } else { &[] };
            let nearest = nearest(&key.name, asked);
            let known = if nearest.is_none() { asked.to_vec() } else { Vec::new() };
            let problem = Problem::UnknownKey { nearest, known };
            self.faults.push(Fault { at: key.at, key: printable(&key.name), problem });
        }
        if self.faults.is_empty() { Ok(self.known) } else { Err(self.faults) }
    }
}
