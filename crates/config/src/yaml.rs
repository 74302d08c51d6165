//! YAML to nodes that know where they stand. The file may come from anybody, so there are bounds for its size, its depth and
//! the number of its values; anchors, aliases and tags, which a configuration has no need of, are refused: without them a
//! file means what it shows, and is no larger than it looks.
//!
//! Invariant: keys of a map are distinct. The second of two equal ones is dropped, and is a fault of the document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::catch_unwind;

use hearth_core::ByteSize;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use crate::error::{Position, Problem};
use crate::fields::{Fault, printable};

pub(crate) const LARGEST: ByteSize = ByteSize::mb(1);
const DEEPEST: usize = 16;
const MOST: usize = 100_000;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// As it was written, so that `1.10` can be a version.
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

/// What a file says. Without a root where it says nothing.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) root: Option<Node>,
    /// What is wrong with it that keeps nobody from reading the rest.
    pub(crate) faults: Vec<Fault>,
}

pub(crate) fn parse(text: &str) -> Result<Document, Fault> {
    let size = ByteSize(text.len() as u64);
    if size > LARGEST {
        return Err(Fault::at(Position::START, Problem::TooLarge { size, limit: LARGEST }));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A parser that fails on one app's file must not take all the others with it.
    catch_unwind(|| Builder::default().build(text)).unwrap_or_else(|_| Err(Fault::at(Position::START, Problem::Parser)))
}

/// A list or map whose end has not come yet.
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
            Event::Alias(_) => Err(Fault::at(at, Problem::Anchor)),
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
            Event::DocumentStart(_) if self.documents > 0 => Err(Fault::at(at, Problem::SecondDocument)),
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
            return Err(Fault::at(at, Problem::Anchor));
        }
        if tag.is_some() {
            return Err(Fault::at(at, Problem::Tag));
        }
        if self.count > MOST { Err(Fault::at(at, Problem::TooMany { limit: MOST })) } else { Ok(()) }
    }

    fn begin(&mut self, at: Position, open: Open) -> Result<(), Fault> {
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return Err(Fault::at(at, Problem::KeyIsNoWord));
        }
        if self.open.len() == DEEPEST {
            return Err(Fault::at(at, Problem::TooDeep { limit: DEEPEST }));
        }
        self.open.push(open);
        Ok(())
    }

    /// A node is whole: it belongs to what is open.
    fn node(&mut self, mut node: Node) {
        if let Some((at, first)) = self.duplicate() {
            self.document.faults.push(Fault { at, key: self.path(), problem: Problem::DuplicateKey { first } });
        }
        match self.open.last_mut() {
            None => self.document.root = Some(node),
            Some(Open::List { nodes, .. }) => nodes.push(node),
            Some(Open::Map { entries, lines, key, .. }) => match (key.take(), node.value) {
                (None, Value::Plain(name) | Value::Quoted(name)) => *key = Some(Key { at: node.at, name }),
                // `begin` let no list and no map be a key.
                (None, Value::List(_) | Value::Map(_)) => {}
                (Some(of), value) => {
                    if lines.contains_key(&of.name) {
                        return;
                    }
                    lines.insert(of.name.clone(), of.at.line);
                    // Nothing has no place of its own: the parser gives that of what follows.
                    if matches!(&value, Value::Plain(text) if text.is_empty()) {
                        node.at = of.at;
                    }
                    entries.push((of, Node { at: node.at, value }));
                }
            },
        }
    }

    /// Where the key stands whose value is being read, and the line of its first, if there was one.
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

/// Somebody who wrote `* * * * *` or `*.example.com` without quotes does not think of aliases.
fn syntax(info: &str) -> Problem {
    if info.contains("anchor") { Problem::Anchor } else { Problem::Syntax(info.to_owned()) }
}

fn position(marker: &Marker) -> Position {
    Position { line: marker.line(), column: marker.col() + 1 }
}

// === impl Node ===

impl Node {
    /// Nothing at all, or one of YAML's words for it.
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

    /// The text of what YAML takes for a number.
    pub(crate) fn number(&self) -> Option<&str> {
        let Value::Plain(text) = &self.value else { return None };
        let digits = text.trim_start_matches(['+', '-']).trim_start_matches('.');
        (digits.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()).then_some(text)
    }
}
