//! Parses YAML to nodes with positions. Files are untrusted, so size, depth and number of values
//! are bounded. Anchors, aliases and tags, which configuration does not need, are refused: without
//! them a file means what it shows and does not expand.
//!
//! Invariant: the keys of a map are distinct. The second of two equal keys is dropped and reported
//! as an error.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::catch_unwind;

use hearth_core::ByteSize;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use crate::error::{ConfigProblem, Position};
use crate::fields::{Fault, printable};

pub(crate) const MAX_FILE_SIZE: ByteSize = ByteSize::mb(1);
const DEEPEST: usize = 16;
const MAX_VALUES: usize = 100_000;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// As written, so that `1.10` can be a version.
    Plain(String),
    Quoted(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) at: Position,
    pub(crate) name: String,
}

/// The content of a file. Without a root if it is empty.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) root: Option<Node>,
    /// Errors that do not prevent reading the rest.
    pub(crate) faults: Vec<Fault>,
}

pub(crate) fn parse(text: &str) -> Result<Document, Fault> {
    let size = ByteSize(text.len() as u64);
    if size > MAX_FILE_SIZE {
        return Err(Fault::at(Position::START, ConfigProblem::TooLarge { size, limit: MAX_FILE_SIZE }));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A panic of the parser in one app's file must not affect other apps.
    catch_unwind(|| Builder::default().build(text))
        .unwrap_or_else(|_| Err(Fault::at(Position::START, ConfigProblem::Parser)))
}

/// A list or map that is not complete yet.
enum Open {
    List { at: Position, nodes: Vec<Node> },
    Map { at: Position, entries: Vec<(Key, Node)>, lines: HashMap<String, usize>, key: Option<Key> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    document: Document,
    documents: usize,
    count: usize,
}

// === impl Builder ===

impl Builder {
    fn build(mut self, text: &str) -> Result<Document, Fault> {
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| Fault::at(position(error.marker()), syntax(error.info())))?;
            self.event(event, span)?;
        }
        Ok(self.document)
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        let at = position(&span.start);
        match event {
            Event::Alias(_) => Err(Fault::at(at, ConfigProblem::Anchor)),
            Event::Scalar(text, style, anchor, tag) => {
                self.enter(at, anchor, tag)?;
                let plain = style == ScalarStyle::Plain;
                let text = text.into_owned();
                self.node(Node { at, value: if plain { Value::Plain(text) } else { Value::Quoted(text) } });
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => {
                self.enter(at, anchor, tag)?;
                self.begin(at, Open::List { at, nodes: Vec::new() })
            }
            Event::MappingStart(anchor, tag) => {
                self.enter(at, anchor, tag)?;
                self.begin(at, Open::Map { at, entries: Vec::new(), lines: HashMap::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                match self.open.pop() {
                    Some(Open::List { at, nodes }) => self.node(Node { at, value: Value::List(nodes) }),
                    Some(Open::Map { at, entries, .. }) => self.node(Node { at, value: Value::Map(entries) }),
                    None => {}
                }
                Ok(())
            }
            Event::DocumentStart(_) if self.documents > 0 => Err(Fault::at(at, ConfigProblem::SecondDocument)),
            Event::DocumentStart(_) => {
                self.documents += 1;
                Ok(())
            }
            Event::DocumentEnd | Event::StreamStart | Event::StreamEnd | Event::Nothing => Ok(()),
        }
    }

    fn enter(&mut self, at: Position, anchor: usize, tag: Option<Cow<'_, Tag>>) -> Result<(), Fault> {
        self.count += 1;
        if anchor != 0 {
            return Err(Fault::at(at, ConfigProblem::Anchor));
        }
        if tag.is_some() {
            return Err(Fault::at(at, ConfigProblem::Tag));
        }
        if self.count > MAX_VALUES { Err(Fault::at(at, ConfigProblem::TooMany { limit: MAX_VALUES })) } else { Ok(()) }
    }

    fn begin(&mut self, at: Position, open: Open) -> Result<(), Fault> {
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return Err(Fault::at(at, ConfigProblem::KeyIsNoWord));
        }
        if self.open.len() == DEEPEST {
            return Err(Fault::at(at, ConfigProblem::TooDeep { limit: DEEPEST }));
        }
        self.open.push(open);
        Ok(())
    }

    /// Adds a complete node to the innermost open list or map.
    fn node(&mut self, mut node: Node) {
        if let Some((at, first)) = self.duplicate() {
            self.document.faults.push(Fault { at, key: self.path(), problem: ConfigProblem::DuplicateKey { first } });
        }
        match self.open.last_mut() {
            None => self.document.root = Some(node),
            Some(Open::List { nodes, .. }) => nodes.push(node),
            Some(Open::Map { entries, lines, key, .. }) => match (key.take(), node.value) {
                (None, Value::Plain(name) | Value::Quoted(name)) => *key = Some(Key { at: node.at, name }),
                // `begin` refuses lists and maps as keys.
                (None, Value::List(_) | Value::Map(_)) => {}
                (Some(of), value) => {
                    if lines.contains_key(&of.name) {
                        return;
                    }
                    lines.insert(of.name.clone(), of.at.line);
                    // An empty value has no position of its own: the parser reports that of the
                    // next token.
                    if matches!(&value, Value::Plain(text) if text.is_empty()) {
                        node.at = of.at;
                    }
                    entries.push((of, Node { at: node.at, value }));
                }
            },
        }
    }

    /// The position of the key whose value is being read, and the line of its first occurrence, if
    /// there was one.
    fn duplicate(&self) -> Option<(Position, usize)> {
        match self.open.last() {
            Some(Open::Map { key: Some(key), lines, .. }) => Some((key.at, *lines.get(&key.name)?)),
            _ => None,
        }
    }

    /// The keys that lead to the node that is being read.
    fn path(&self) -> String {
        let mut path = String::new();
        for open in &self.open {
            match open {
                Open::List { nodes, .. } => path.push_str(&format!("[{}]", nodes.len())),
                Open::Map { key: Some(key), .. } => {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(&format!("{dot}{}", printable(&key.name)));
                }
                Open::Map { key: None, .. } => {}
            }
        }
        path
    }
}

/// The likely cause is `* * * * *` or `*.example.com` without quotes, not an alias.
fn syntax(info: &str) -> ConfigProblem {
    if info.contains("anchor") { ConfigProblem::Anchor } else { ConfigProblem::Syntax(info.to_owned()) }
}

fn position(marker: &Marker) -> Position {
    Position { line: marker.line(), column: marker.col() + 1 }
}

// === impl Node ===

impl Node {
    /// An empty value, or one of YAML's words for null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Plain(text) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match &self.value {
            Value::Plain(text) => match text.as_str() {
                "true" | "True" | "TRUE" => Some(true),
                "false" | "False" | "FALSE" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// The text of a scalar that YAML takes for a number.
    pub(crate) fn number(&self) -> Option<&str> {
        let Value::Plain(text) = &self.value else { return None };
        let digits = text.trim_start_matches(['+', '-']).trim_start_matches('.');
        (digits.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()).then_some(text)
    }
}
