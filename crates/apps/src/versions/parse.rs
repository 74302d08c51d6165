//! Parses a range to comparators, in the same steps as `semver`, since its corner cases depend on
//! their order:
//!
//! ```text
//! blanks to one space -> split at || -> drop +builds -> `a - b`, or: join operators with what they stand before
//!                                                        -> split at spaces -> ^ ~ x.y.z each to comparators
//! ```
//!
//! `None` is an invalid range. `semver` accepts a few more by accident (`1.2.3*` as `1.2.3`: a
//! misplaced star is removed), and by accident refuses `~> = 1`; neither occurs in practice. The
//! text is short (`MAX_LENGTH`), and every step is one pass.

use super::range::{Comparator, Order, Range};
use super::version::{Pre, Version, number};

/// A part of `1.x.3`: missing parts are like `x`.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Any,
    Number(u64),
}

/// `1`, `1.x`, `v1.2.3-beta`: one to three parts, after any `v` and `=`.
struct Partial<'a> {
    /// The prefix. A full version takes at most one `v`, a partial one any number.
    prefix: &'a str,
    parts: [Part; 3],
    pre: Pre,
}

pub(super) fn range(text: &str) -> Option<Range> {
    let text = text.split(is_blank).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let mut alternatives = Vec::new();
    for part in text.split("||") {
        let comparators = alternative(&without_builds(part.trim_matches(' ')))?;
        if !comparators.iter().any(Comparator::is_never) {
            alternatives.push(comparators);
        }
    }
    // Any version or another comparator: any version. (A pre-release is not requested then.)
    if alternatives.iter().any(Vec::is_empty) {
        alternatives = vec![Vec::new()];
    }
    Some(Range::new(alternatives))
}

/// `\s` of JavaScript.
fn is_blank(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// Without each `+build.1`, in any position.
fn without_builds(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(plus) = rest.find('+') {
        let mut end = plus;
        loop {
            let after = &rest[end + 1..];
            let length = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(after.len());
            if length == 0 {
                break;
            }
            end += 1 + length;
            if !rest[end..].starts_with('.') {
                break;
            }
        }
        let lone = if end == plus { plus + 1 } else { plus };
        kept.push_str(&rest[..lone]);
        rest = &rest[end.max(lone)..];
    }
    kept.push_str(rest);
    kept
}

fn alternative(text: &str) -> Option<Vec<Comparator>> {
    if let Some(comparators) = text.split_once(" - ").and_then(|(from, to)| hyphen(from, to)) {
        return comparators;
    }
    let mut all = Vec::new();
    for word in joined(text) {
        all.extend(comparators(&word)?);
    }
    Some(all)
}

/// `1.2 - 2.3`. The outer `None` is another form, the inner one an invalid hyphen range.
fn hyphen(from: &str, to: &str) -> Option<Option<Vec<Comparator>>> {
    let (from, to) = (Partial::parse(from.trim_start_matches(' '))?, Partial::parse(to.trim_end_matches(' '))?);
    Some(bounds(from, to))
}

fn bounds(from: Partial, to: Partial) -> Option<Vec<Comparator>> {
    let mut all = Vec::new();
    match from.parts {
        [Part::Any, ..] => {}
        [Part::Number(major), Part::Any, _] => all.extend(at_least([major, 0, 0])?),
        [Part::Number(major), Part::Number(minor), Part::Any] => all.extend(at_least([major, minor, 0])?),
        [Part::Number(..), Part::Number(..), Part::Number(..)] => all.extend(from.full(Order::GreaterOrEqual)?),
    }
    match to.parts {
        [Part::Any, ..] => {}
        [Part::Number(major), Part::Any, _] => all.push(below([next(major), 0, 0])?),
        [Part::Number(major), Part::Number(minor), Part::Any] => all.push(below([major, next(minor), 0])?),
        [Part::Number(..), Part::Number(..), Part::Number(..)] => {
            // The prefix is dropped only with a pre-release.
            let prefix = if to.pre == Pre::default() { to.prefix } else { "" };
            all.extend(Partial { prefix, ..to }.full(Order::LessOrEqual)?);
        }
    }
    Some(all)
}

/// The words of a list, each operator joined with its operand: `> 1`, `~ 1`, `^ = 1`.
fn joined(text: &str) -> Vec<String> {
    let starts = |word: &str| word.trim_start_matches(['v', '=']).starts_with(is_part_start);
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last)
                if matches!(&**last, "<" | ">" | "=" | "<=" | ">=" | "~>" | "~=" | "~>=" | "^=") && starts(word) =>
            {
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    let mut all: Vec<String> = Vec::new();
    for word in words {
        match all.last_mut() {
            Some(last) if matches!(&**last, "~" | "~>" | "^") => {
                last.truncate(1);
                last.push_str(&word);
            }
            _ => all.push(word),
        }
    }
    all
}

fn comparators(word: &str) -> Option<Vec<Comparator>> {
    if word.is_empty() {
        return Some(Vec::new());
    }
    if let Some(partial) = word.strip_prefix('^').and_then(Partial::parse) {
        return caret(&partial);
    }
    if let Some(partial) =
        word.strip_prefix('~').and_then(|rest| Partial::parse(rest.strip_prefix('>').unwrap_or(rest)))
    {
        return tilde(&partial);
    }
    let (order, rest) = operator(word);
    match Partial::parse(rest) {
        Some(partial) if partial.is_full() => partial.full(order.unwrap_or(Order::Equal)),
        Some(partial) if partial.is_in_order() => x_range(order, &partial),
        _ => None,
    }
}

/// `^1.2.3`: up to the next change of the first number that is not zero.
fn caret(partial: &Partial) -> Option<Vec<Comparator>> {
    let pre = || partial.pre.clone();
    match partial.parts {
        [Part::Any, ..] => Some(Vec::new()),
        [Part::Number(major), Part::Any, _] => span([major, 0, 0], Pre::default(), [next(major), 0, 0]),
        [Part::Number(0), Part::Number(minor), Part::Any] => span([0, minor, 0], Pre::default(), [0, next(minor), 0]),
        [Part::Number(major), Part::Number(minor), Part::Any] => {
            span([major, minor, 0], Pre::default(), [next(major), 0, 0])
        }
        [Part::Number(0), Part::Number(0), Part::Number(patch)] => span([0, 0, patch], pre(), [0, 0, next(patch)]),
        [Part::Number(0), Part::Number(minor), Part::Number(patch)] => {
            span([0, minor, patch], pre(), [0, next(minor), 0])
        }
        [Part::Number(major), Part::Number(minor), Part::Number(patch)] => {
            span([major, minor, patch], pre(), [next(major), 0, 0])
        }
    }
}

/// `~1.2.3`: any later patch; `~1`: any `1`.
fn tilde(partial: &Partial) -> Option<Vec<Comparator>> {
    match partial.parts {
        [Part::Any, ..] => Some(Vec::new()),
        [Part::Number(major), Part::Any, _] => span([major, 0, 0], Pre::default(), [next(major), 0, 0]),
        [Part::Number(major), Part::Number(minor), Part::Any] => {
            span([major, minor, 0], Pre::default(), [major, next(minor), 0])
        }
        [Part::Number(major), Part::Number(minor), Part::Number(patch)] => {
            span([major, minor, patch], partial.pre.clone(), [major, next(minor), 0])
        }
    }
}

/// `1`, `1.x`, `>1`, `<=1.2`: partial, with or without an operator.
fn x_range(order: Option<Order>, partial: &Partial) -> Option<Vec<Comparator>> {
    let (first, after) = match partial.parts {
        [Part::Any, ..] => {
            let never = matches!(order, Some(Order::Less | Order::Greater));
            return if never { below([0, 0, 0]).map(|one| vec![one]) } else { Some(Vec::new()) };
        }
        [Part::Number(major), Part::Number(minor), _] => ([major, minor, 0], [major, next(minor), 0]),
        [Part::Number(major), Part::Any, _] => ([major, 0, 0], [next(major), 0, 0]),
    };
    match order {
        None | Some(Order::Equal) => span(first, Pre::default(), after),
        Some(Order::Less) => below(first).map(|one| vec![one]),
        Some(Order::LessOrEqual) => below(after).map(|one| vec![one]),
        Some(Order::GreaterOrEqual) => at_least(first),
        Some(Order::Greater) => at_least(after),
    }
}

fn operator(word: &str) -> (Option<Order>, &str) {
    let signs = [
        ("<=", Order::LessOrEqual),
        (">=", Order::GreaterOrEqual),
        ("<", Order::Less),
        (">", Order::Greater),
        ("=", Order::Equal),
    ];
    let found = signs.into_iter().find_map(|(sign, order)| Some((Some(order), word.strip_prefix(sign)?)));
    found.unwrap_or((None, word))
}

fn next(number: u64) -> u64 {
    number.saturating_add(1)
}

/// `>=from <to-0`.
fn span(from: [u64; 3], pre: Pre, to: [u64; 3]) -> Option<Vec<Comparator>> {
    let mut all = if pre == Pre::default() {
        at_least(from)?
    } else {
        vec![Comparator { order: Order::GreaterOrEqual, version: Version::new(from, pre)? }]
    };
    all.push(below(to)?);
    Some(all)
}

/// `>=0.0.0` is any version: no constraint, also not on pre-releases.
fn at_least(numbers: [u64; 3]) -> Option<Vec<Comparator>> {
    let version = Version::new(numbers, Pre::default())?;
    let all = vec![Comparator { order: Order::GreaterOrEqual, version }];
    Some(if numbers == [0; 3] { Vec::new() } else { all })
}

/// Below this version and all its pre-releases.
fn below(numbers: [u64; 3]) -> Option<Comparator> {
    Some(Comparator { order: Order::Less, version: Version::new(numbers, Pre::lowest())? })
}

// === impl Partial ===

impl<'a> Partial<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let rest = text.trim_start_matches(['v', '=', ' ']);
        let prefix = &text[..text.len() - rest.len()];
        let mut parts = [Part::Any; 3];
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Pre::parse(pre)?),
            None => (rest, Pre::default()),
        };
        let mut count = 0;
        for part in numbers.split('.') {
            *parts.get_mut(count)? =
                if matches!(part, "x" | "X" | "*") { Part::Any } else { Part::Number(number(part)?) };
            count += 1;
        }
        (count == 3 || pre == Pre::default()).then_some(Self { prefix, parts, pre })
    }

    fn is_full(&self) -> bool {
        self.parts.iter().all(|part| *part != Part::Any)
    }

    /// Only `x` may follow an `x`.
    fn is_in_order(&self) -> bool {
        let [major, minor, patch] = self.parts.map(|part| part == Part::Any);
        (!major || minor) && (!minor || patch)
    }

    /// A comparator with a full version; none if it is no constraint.
    fn full(&self, order: Order) -> Option<Vec<Comparator>> {
        let [Part::Number(major), Part::Number(minor), Part::Number(patch)] = self.parts else { return None };
        let version = Version::new([major, minor, patch], self.pre.clone())?;
        match self.prefix {
            "" | "v" if order == Order::GreaterOrEqual && !version.is_pre_release() => at_least([major, minor, patch]),
            "" | "v" => Some(vec![Comparator { order, version }]),
            _ => None,
        }
    }
}

fn is_part_start(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, 'x' | 'X' | '*')
}
