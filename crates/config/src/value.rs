//! Converts nodes to values. A reader returns a value, or an error with what it expected and what
//! it found. An empty value (`key:`) is never accepted: "none" is written as `none`, and for the
//! default the key is left out.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_core::units::parse_duration;
use hearth_egress_policy::EgressPolicy;

use crate::error::ConfigProblem;
use crate::fields::{Fault, Read, printable};
use crate::manifest::Bound;
use crate::settings::Env;
use crate::suggest::nearest;
use crate::yaml::{Key, Node, Value};

/// An enum that is written as one of a few words.
pub(crate) trait Word: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

pub(crate) fn fault<T>(node: &Node, problem: impl Into<ConfigProblem>) -> Read<T> {
    Err(vec![Fault::at(node.at, problem.into())])
}

pub(crate) fn wrong_type(node: &Node, expected: &'static str) -> Vec<Fault> {
    vec![Fault::at(node.at, ConfigProblem::WrongType { expected, found: found(node) })]
}

fn found(node: &Node) -> String {
    match &node.value {
        _ if node.is_null() => "nothing (write a value, or leave the key out)".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        Value::Plain(text) if node.flag().is_some() => text.clone(),
        Value::Plain(text) if node.number().is_some() => format!("the number {text}"),
        Value::Plain(text) | Value::Quoted(text) => format!("the text \"{}\"", printable(text)),
    }
}

/// Any scalar, as written.
fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        _ if node.is_null() => None,
        Value::Plain(text) | Value::Quoted(text) => Some(text),
        Value::List(_) | Value::Map(_) => None,
    }
}

/// Text that YAML does not take for another type.
fn string<'a>(node: &'a Node, expected: &'static str) -> Read<&'a str> {
    match scalar(node) {
        Some(text) if node.flag().is_none() && node.number().is_none() => Ok(text),
        _ => Err(wrong_type(node, expected)),
    }
}

pub(crate) fn text(node: &Node) -> Read<String> {
    match string(node, "text")? {
        "" => fault(node, ConfigProblem::Empty),
        text => Ok(text.to_owned()),
    }
}

/// Text that may look like a number: `1.10` stays `1.10`.
pub(crate) fn literal(node: &Node) -> Read<String> {
    scalar(node).map(str::to_owned).ok_or_else(|| wrong_type(node, "text"))
}

pub(crate) fn flag(node: &Node) -> Read<bool> {
    node.flag().ok_or_else(|| wrong_type(node, "true or false"))
}

pub(crate) fn count<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&Node) -> Read<T> {
    move |node| {
        let written = node.number().ok_or_else(|| wrong_type(node, "a whole number"))?;
        let number = written.parse().ok().filter(|number| range.contains(number));
        let (least, most) = (*range.start(), *range.end());
        match number.map(T::try_from) {
            Some(Ok(number)) => Ok(number),
            _ => fault(node, ConfigProblem::OutOfRange { value: written.to_owned(), least, most }),
        }
    }
}

pub(crate) fn duration(node: &Node) -> Read<Duration> {
    let text = scalar(node).ok_or_else(|| wrong_type(node, "a duration, such as 30s"))?;
    parse_duration(text).or_else(|error| fault(node, error))
}

pub(crate) fn size(node: &Node) -> Read<ByteSize> {
    let text = scalar(node).ok_or_else(|| wrong_type(node, "a size, such as 128mb"))?;
    text.parse().or_else(|error: hearth_core::units::UnitError| fault(node, error))
}

/// A size for which zero has no meaning.
pub(crate) fn some_size(node: &Node) -> Read<ByteSize> {
    match size(node)? {
        ByteSize(0) => fault(node, ConfigProblem::Zero),
        size => Ok(size),
    }
}

/// A size of at least this much.
pub(crate) fn size_of_at_least(least: ByteSize) -> impl Fn(&Node) -> Read<ByteSize> {
    move |node| match some_size(node)? {
        size if size < least => too_little(node, &least),
        size => Ok(size),
    }
}

/// The same, or zero, which turns a limit off.
pub(crate) fn size_or_none(least: ByteSize) -> impl Fn(&Node) -> Read<ByteSize> {
    move |node| match size(node)? {
        ByteSize(0) => Ok(ByteSize(0)),
        size if size < least => too_little(node, &least),
        size => Ok(size),
    }
}

/// A duration of at least this many milliseconds, or zero, which turns a limit off.
pub(crate) fn duration_or_none(least_ms: u64) -> impl Fn(&Node) -> Read<Duration> {
    move |node| match duration(node)? {
        Duration::ZERO => Ok(Duration::ZERO),
        time if time < Duration::from_millis(least_ms) => too_little(node, &format_args!("{least_ms}ms")),
        time => Ok(time),
    }
}

fn too_little<T>(node: &Node, least: &dyn std::fmt::Display) -> Read<T> {
    let value = scalar(node).unwrap_or_default().to_owned();
    fault(node, ConfigProblem::TooLittle { value, least: least.to_string() })
}

/// The same for durations.
pub(crate) fn some_time(node: &Node) -> Read<Duration> {
    match duration(node)? {
        Duration::ZERO => fault(node, ConfigProblem::Zero),
        time => Ok(time),
    }
}

pub(crate) fn word<T: Word>(node: &Node) -> Read<T> {
    let known = || T::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>();
    let written = scalar(node).ok_or_else(|| wrong_type(node, "a word"))?;
    match T::WORDS.iter().find(|(word, _)| *word == written) {
        Some((_, value)) => Ok(*value),
        None => {
            let nearest = nearest(written, &known());
            fault(node, ConfigProblem::UnknownWord { value: written.to_owned(), known: known(), nearest })
        }
    }
}

/// A value with a notation of its own.
pub(crate) fn parsed<T: FromStr>(expected: &'static str) -> impl Fn(&Node) -> Read<T>
where
    ConfigProblem: From<T::Err>,
{
    move |node| string(node, expected)?.parse().or_else(|error: T::Err| fault(node, error))
}

/// `none`, or a bound.
pub(crate) fn bound<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Bound<T>> {
    move |node| match scalar(node) {
        Some("none") => Ok(Bound::Unlimited),
        _ => read(node).map(Bound::Limited),
    }
}

/// A list, or a single item.
pub(crate) fn several<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Vec<T>> {
    move |node| match &node.value {
        Value::List(nodes) => {
            let one = |(at, node)| {
                let under = |faults: Vec<Fault>| faults.into_iter().map(|f| f.under(&format!("[{at}]"))).collect();
                read(node).map_err(under)
            };
            all(nodes.iter().enumerate().map(one))
        }
        _ => read(node).map(|value| vec![value]),
    }
}

/// Bounded, because some lists are searched for each request.
pub(crate) fn at_most<T>(limit: usize, read: impl Fn(&Node) -> Read<Vec<T>>) -> impl Fn(&Node) -> Read<Vec<T>> {
    move |node| match read(node)? {
        values if values.len() > limit => fault(node, ConfigProblem::TooLong { count: values.len(), limit }),
        values => Ok(values),
    }
}

/// A map with arbitrary keys.
pub(crate) fn map<T>(
    node: &Node,
    expected: &'static str,
    read: impl Fn(&Key, &Node) -> Read<T>,
) -> Read<Vec<(String, T)>> {
    let Value::Map(entries) = &node.value else { return Err(wrong_type(node, expected)) };
    all(entries.iter().map(|(key, node)| match read(key, node) {
        Ok(value) => Ok((key.name.clone(), value)),
        Err(faults) => Err(faults.into_iter().map(|fault| fault.under(&printable(&key.name))).collect()),
    }))
}

/// All values, or all errors.
fn all<T>(reads: impl Iterator<Item = Read<T>>) -> Read<Vec<T>> {
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    for read in reads {
        match read {
            Ok(value) => values.push(value),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

pub(crate) fn egress(node: &Node) -> Read<EgressPolicy> {
    let entry = |node: &Node| {
        let text = string(node, "none, public, all, or a list of hosts and address ranges")?;
        EgressPolicy::parse(text).or_else(|error| fault(node, error)).map(|_| text.to_owned())
    };
    let entries = several(entry)(node)?;
    EgressPolicy::parse(&entries.join(",")).or_else(|error| fault(node, error))
}

pub(crate) fn env(node: &Node) -> Read<Env> {
    let entry = |key: &Key, node: &Node| match literal(node) {
        _ if key.name.is_empty() => Err(vec![Fault::at(key.at, ConfigProblem::Empty)]),
        _ if key.name.contains(['=', '\0']) => {
            let odd = if key.name.contains('=') { '=' } else { '\0' };
            Err(vec![Fault::at(key.at, ConfigProblem::EnvCharacter(odd))])
        }
        Ok(text) if text.contains('\0') => fault(node, ConfigProblem::EnvCharacter('\0')),
        read => read,
    };
    Ok(map(node, "a map of names and texts", entry)?.into_iter().collect())
}
