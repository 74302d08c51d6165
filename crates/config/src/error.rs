//! Errors in configuration files, with their positions. A file is read to its end: [`ConfigErrors`]
//! has all its errors, in the order of the file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_core::cidr::NotCidr;
use hearth_core::units::UnitError;
use hearth_egress_policy::PolicyError;

use crate::cron::CronError;
use crate::dotenv::DotenvError;
use crate::fields::Fault;
use crate::host::HostError;
use crate::listen::ListenError;
use crate::name::InvalidName;
use crate::otel::{EndpointError, RatioError};
use crate::public_routes::RouteError;
use crate::rate::RateError;
use crate::relative_path::RelativePathError;

/// Errors of one file that are kept; further ones are only counted.
pub(crate) const MAX_ERRORS: usize = 100;

/// Line and column of a character, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The position of a value in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Empty if the value is not from a file.
    pub file: PathBuf,
    pub position: Option<Position>,
    /// With its parent keys: `apps.shop.timeout`, `crons[1]`. Empty for the file as a whole.
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{problem}")]
pub struct ConfigError {
    pub place: SourceLocation,
    pub problem: ConfigProblem,
}

/// All errors of one file. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    errors: Vec<ConfigError>,
    more: usize,
}

/// What is wrong, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    #[error("this is not YAML: {0}")]
    Syntax(String),
    #[error("the file has {size}, and may have {limit}")]
    TooLarge { size: ByteSize, limit: ByteSize },
    #[error("lists and maps are nested more than {limit} deep")]
    TooDeep { limit: usize },
    #[error("there are more than {limit} values in this file")]
    TooMany { limit: usize },
    #[error("anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it begins with & or *")]
    Anchor,
    #[error("tags (!) are not allowed: leave it out, or write the value in quotes if it begins with !")]
    Tag,
    #[error("there is a second document (---) in this file: only one is allowed")]
    SecondDocument,
    #[error("a list or a map cannot be a key: write a word")]
    KeyIsNoWord,
    #[error("unknown key{}", unknown(.nearest, .known))]
    UnknownKey { nearest: Option<&'static str>, known: Vec<&'static str> },
    #[error("this key is written twice: the first is in line {first}")]
    DuplicateKey { first: usize },
    #[error("this key cannot be set {scope}")]
    NotHere { scope: &'static str },
    #[error("expected {expected}, found {found}")]
    WrongType { expected: &'static str, found: String },
    #[error("{value:?} is not known here: write {}{}", one_of(.known), suggestion(.nearest))]
    UnknownWord { value: String, known: Vec<&'static str>, nearest: Option<&'static str> },
    #[error("{value} is too little for anything to run: write {least} or more")]
    TooLittle { value: String, least: String },
    #[error("{value} is out of range: write a number from {least} to {most}")]
    OutOfRange { value: String, least: u64, most: u64 },
    #[error("there are {count} here, and may be {limit}")]
    TooLong { count: usize, limit: usize },
    #[error("it must be more than zero")]
    Zero,
    #[error("ttl ({ttl:?}) is shorter than timeout ({}): a worker must outlive its requests; raise ttl or lower timeout", time(.timeout))]
    TtlBelowTimeout { ttl: Duration, timeout: Duration },
    #[error(transparent)]
    Listen(ListenError),
    #[error("{key} is missing beside it")]
    Missing { key: &'static str },
    #[error("{name:?} cannot be a name in env: write letters, digits and _, and no digit first")]
    BindingName { name: String },
    #[error("{name} is bound to assets, and no folder is: name it with `static`")]
    NoAssets { name: String },
    #[error("it is empty")]
    Empty,
    #[error("it has a character that cannot be in an environment: {0:?}")]
    EnvCharacter(char),
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error(transparent)]
    Egress(#[from] PolicyError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Range(#[from] NotCidr),
    #[error(transparent)]
    Cron(#[from] CronError),
    #[error(transparent)]
    Rate(#[from] RateError),
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Ratio(#[from] RatioError),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Path(#[from] RelativePathError),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Dotenv(#[from] DotenvError),
    /// A bug in the YAML parser. The file is refused; other files are not affected.
    #[error("this file cannot be read: the YAML parser failed on it")]
    Parser,
}

fn unknown(nearest: &Option<&'static str>, known: &[&'static str]) -> String {
    match nearest {
        Some(_) => suggestion(nearest),
        None => format!(": the known ones are {}", known.join(", ")),
    }
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |word| format!(": did you mean {word}?"))
}

/// `a, b or c`.
fn one_of(words: &[&'static str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

fn time(limit: &Duration) -> String {
    if limit.is_zero() { "off".to_owned() } else { format!("{limit:?}") }
}

// === impl Position ===

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

// === impl SourceLocation ===

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.as_os_str().is_empty() {
            write!(f, "{}:", self.file.display())?;
            if let Some(Position { line, column }) = self.position {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        if self.key.is_empty() { Ok(()) } else { write!(f, "{}: ", self.key) }
    }
}

// === impl ConfigErrors ===

impl ConfigErrors {
    /// `None` if there are no errors.
    pub(crate) fn from_faults(file: &Path, mut faults: Vec<Fault>) -> Option<Self> {
        if faults.is_empty() {
            return None;
        }
        faults.sort_by_key(|fault| fault.at);
        let more = faults.len().saturating_sub(MAX_ERRORS);
        let error = |Fault { at, key, problem }| {
            let place = SourceLocation { file: file.to_owned(), position: Some(at), key };
            ConfigError { place, problem }
        };
        Some(Self { errors: faults.into_iter().take(MAX_ERRORS).map(error).collect(), more })
    }

    pub fn iter(&self) -> std::slice::Iter<'_, ConfigError> {
        self.errors.iter()
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self { errors: vec![error], more: 0 }
    }
}

impl fmt::Display for ConfigErrors {
    /// One line per error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if at == 0 { "" } else { "\n" })?;
        }
        if self.more == 0 { Ok(()) } else { write!(f, "\nand {} more", self.more) }
    }
}

impl std::error::Error for ConfigErrors {}
