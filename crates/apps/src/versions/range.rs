//! A range of versions: alternatives (`||`), each a list of comparators that must all hold.
//!
//! A pre-release is in a range only if it is requested: a comparator of the same alternative has a
//! pre-release of the same three numbers. `^1.2.3-beta.1` thus contains `1.2.3-beta.2`, but not
//! `1.3.0-beta.1`.
//!
//! Invariants: an alternative without comparators contains all releases, and is then the only one;
//! an alternative that no version can meet is omitted, so that a range without alternatives is
//! empty.

use std::fmt;
use std::str::FromStr;

use super::version::Version;
use super::{MAX_LENGTH, parse, shown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    alternatives: Vec<Vec<Comparator>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparator {
    pub order: Order,
    pub version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("a range of versions has at most {MAX_LENGTH} characters")]
    TooLong,
    #[error("{0:?} is not a range of versions; ranges look like 1, 1.4, ^1.0.0, ~1.4.0, >=1 <3 or 1.x || 2.x")]
    Malformed(String),
}

// === impl Range ===

impl Range {
    pub(super) fn new(alternatives: Vec<Vec<Comparator>>) -> Self {
        Self { alternatives }
    }

    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|comparators| {
            comparators.iter().all(|comparator| comparator.holds(version))
                && (!version.is_pre_release() || comparators.iter().any(|comparator| comparator.asks_for(version)))
        })
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        if text.len() > MAX_LENGTH {
            return Err(RangeError::TooLong);
        }
        parse::range(text).ok_or_else(|| RangeError::Malformed(shown(text)))
    }
}

/// As comparators only: `^1.2.3` is shown as `>=1.2.3 <2.0.0-0`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.alternatives.is_empty() {
            return f.write_str("<0.0.0-0");
        }
        for (at, comparators) in self.alternatives.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { " || " })?;
            f.write_str(if comparators.is_empty() { "*" } else { "" })?;
            for (at, comparator) in comparators.iter().enumerate() {
                let sign = comparator.order.sign();
                write!(f, "{}{sign}{}", if at == 0 { "" } else { " " }, comparator.version)?;
            }
        }
        Ok(())
    }
}

// === impl Comparator ===

impl Comparator {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp(&self.version);
        match self.order {
            Order::Less => order.is_lt(),
            Order::LessOrEqual => order.is_le(),
            Order::Equal => order.is_eq(),
            Order::GreaterOrEqual => order.is_ge(),
            Order::Greater => order.is_gt(),
        }
    }

    fn asks_for(&self, version: &Version) -> bool {
        self.version.is_pre_release() && self.version.numbers() == version.numbers()
    }

    /// `<0.0.0-0`: there is nothing before the lowest version.
    pub fn is_never(&self) -> bool {
        self.order == Order::Less && self.version.numbers() == [0; 3] && self.version.pre_release() == "0"
    }
}

// === impl Order ===

impl Order {
    fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }
}
