//! One version: `1.2.3`, `2.0.0-beta.1`, `1.0.0+build.7`; or `latest`, which has no number.
//!
//! Folders may be named `v1` or `1.2`, which are `1.0.0` and `1.2.0`. A pre-release or build needs
//! all three numbers, since `1-2` is ambiguous.
//!
//! Invariants: no number is above `MAX_NUMBER`; builds do not count, neither for order nor for
//! equality, so that `1.0.0+a` and `1.0.0+b` are the same version, as in a registry.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use hearth_core::VersionName;

use super::{MAX_LENGTH, MAX_NUMBER, shown};

#[derive(Clone)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre: Pre,
    build: Box<str>,
}

/// The version of an app's folder: a number, or the name `latest`. (Its text is [`VersionName`].)
/// Every number is above `latest` in the order, which does not decide which of them is served.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AppVersion {
    Latest,
    Number(Version),
}

/// The identifiers after the hyphen, with their dots; empty for a release.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Pre(Box<str>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    #[error("a version has at most {MAX_LENGTH} characters")]
    TooLong,
    #[error("{0:?} is not a version; versions look like 1.2.3, 1.2.3-beta.1, v1 or 1.2")]
    Malformed(String),
    #[error("a number in version {0:?} is larger than {MAX_NUMBER}")]
    TooLarge(String),
}

// === impl Version ===

impl Version {
    pub const fn major(&self) -> u64 {
        self.major
    }

    pub const fn minor(&self) -> u64 {
        self.minor
    }

    pub const fn patch(&self) -> u64 {
        self.patch
    }

    /// `beta.1` of `1.0.0-beta.1`; empty for a release.
    pub fn pre_release(&self) -> &str {
        &self.pre.0
    }

    /// `linux.7` of `1.0.0+linux.7`; empty if there is none.
    pub fn build(&self) -> &str {
        &self.build
    }

    pub fn is_pre_release(&self) -> bool {
        !self.pre.0.is_empty()
    }

    pub(super) fn new(numbers: [u64; 3], pre: Pre) -> Option<Self> {
        let [major, minor, patch] = numbers;
        let fits = numbers.iter().all(|number| *number <= MAX_NUMBER);
        fits.then(|| Self { major, minor, patch, pre, build: Box::default() })
    }

    pub(super) fn numbers(&self) -> [u64; 3] {
        [self.major, self.minor, self.patch]
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.len() > MAX_LENGTH {
            return Err(VersionError::TooLong);
        }
        let malformed = || VersionError::Malformed(shown(text));
        let body = text.strip_prefix('v').unwrap_or(text);
        let (rest, build) = match body.split_once('+') {
            Some((rest, build)) if are_builds(build) => (rest, build),
            Some(_) => return Err(malformed()),
            None => (body, ""),
        };
        let (rest, pre) = match rest.split_once('-') {
            Some((rest, pre)) => (rest, Pre::parse(pre).ok_or_else(malformed)?),
            None => (rest, Pre::default()),
        };
        let mut numbers = [0; 3];
        let mut count = 0;
        for part in rest.split('.') {
            *numbers.get_mut(count).ok_or_else(malformed)? = number(part).ok_or_else(malformed)?;
            count += 1;
        }
        if count < 3 && rest.len() < body.len() {
            return Err(malformed());
        }
        let version = Self::new(numbers, pre).ok_or_else(|| VersionError::TooLarge(shown(text)))?;
        Ok(Self { build: build.into(), ..version })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers().cmp(&other.numbers()).then_with(|| self.pre.cmp(&other.pre))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.numbers() == other.numbers() && self.pre == other.pre
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.numbers().hash(state);
        self.pre.hash(state);
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if self.is_pre_release() {
            write!(f, "-{}", self.pre.0)?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

// === impl AppVersion ===

impl AppVersion {
    pub fn number(&self) -> Option<&Version> {
        match self {
            Self::Latest => None,
            Self::Number(version) => Some(version),
        }
    }
}

impl FromStr for AppVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text == "latest" { Ok(Self::Latest) } else { text.parse().map(Self::Number) }
    }
}

impl fmt::Display for AppVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Number(version) => version.fmt(f),
        }
    }
}

impl From<&AppVersion> for VersionName {
    fn from(version: &AppVersion) -> Self {
        Self::new(version.to_string())
    }
}

// === impl Pre ===

impl Pre {
    /// The lowest version: `1.0.0-0` is the lowest before `1.0.0`.
    pub fn lowest() -> Self {
        Self("0".into())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let fits = |part: &str| {
            let digits = part.bytes().all(|b| b.is_ascii_digit());
            is_identifier(part) && (!digits || part == "0" || !part.starts_with('0'))
        };
        text.split('.').all(fits).then(|| Self(text.into()))
    }
}

impl Ord for Pre {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0.is_empty(), other.0.is_empty()) {
            (true, true) => Ordering::Equal,
            // A release comes after its pre-releases.
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.0.split('.').map(Key::of).cmp(other.0.split('.').map(Key::of)),
        }
    }
}

impl PartialOrd for Pre {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of identifiers: numbers by value and before words, words by bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    /// Without leading zeros, so the longer one is larger.
    Number(usize, &'a str),
    Word(&'a str),
}

impl<'a> Key<'a> {
    fn of(text: &'a str) -> Self {
        if text.bytes().all(|b| b.is_ascii_digit()) { Self::Number(text.len(), text) } else { Self::Word(text) }
    }
}

/// A number without leading zeros; saturating, so too large numbers stay too large.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    (digits && canonical).then(|| text.parse().unwrap_or(u64::MAX))
}

/// Letters, digits and hyphens, at least one.
fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn are_builds(text: &str) -> bool {
    text.split('.').all(is_identifier)
}
