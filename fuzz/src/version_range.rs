//! A version or a range of versions as people write them, and as they come in paths.
//!
//! - What a version prints is read as the same version, and is a range with this version in it.
//! - What a range prints is read as a range with the same versions in it.
//! - A pre-release is in a range only where the range names a pre-release of the same three numbers.
//! - An alternative has no holes: a release between two that are in it is in it.
//! - What is in `a || b` is in `a` or in `b`, and a release in one of them is in it.

use hearth_apps::versions::{AppVersion, Range, Version};

const VERSIONS: [&str; 24] = [
    "0.0.0-0",
    "0.0.0-a",
    "0.0.0",
    "0.0.1-a",
    "0.0.1",
    "0.0.2",
    "0.1.0",
    "0.2.0",
    "1.0.0-a",
    "1.0.0-a.1",
    "1.0.0-b.2",
    "1.0.0-b.11",
    "1.0.0",
    "1.0.1",
    "1.2.3-a",
    "1.2.3",
    "1.2.4",
    "1.3.0",
    "2.0.0-0",
    "2.0.0",
    "2.9.9",
    "3.0.0",
    "10.0.0",
    "9007199254740991.0.0",
];

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let versions = VERSIONS.map(|text| text.parse::<Version>().expect("they are versions"));
    version(&text, &versions);
    if let Ok(range) = text.parse::<Range>() {
        ranges(&text, &range, &versions);
    }
}

fn version(text: &str, versions: &[Version]) {
    let Ok(version) = text.parse::<Version>() else { return };
    let printed = version.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(&version), "{text:?} prints {printed}");
    assert_eq!(text.parse(), Ok(AppVersion::Number(version.clone())));
    let range: Range = printed.parse().unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert!(range.matches(&version), "{printed} is not in itself");
    for other in versions {
        assert_eq!(range.matches(other), *other == version, "{other} in {printed}");
        assert_eq!(other.cmp(&version), version.cmp(other).reverse());
        assert_eq!(other.cmp(&version).is_eq(), *other == version);
    }
}

fn ranges(text: &str, range: &Range, versions: &[Version]) {
    let printed = range.to_string();
    let again = printed.parse::<Range>().ok();
    let inside: Vec<bool> = versions.iter().map(|version| range.matches(version)).collect();
    for (version, inside) in versions.iter().zip(&inside) {
        // What is printed may be longer than what is read.
        if let Some(again) = &again {
            assert_eq!(again.matches(version), *inside, "{text:?} prints {printed:?}; {version}");
        }
        let named = format!("{}.{}.{}-", version.major(), version.minor(), version.patch());
        assert!(!*inside || !version.is_pre_release() || printed.contains(&named), "{version} in {text:?}");
    }
    assert!(again.is_some() || printed.len() > 256, "{text:?} prints {printed:?}");
    match text.split_once("||") {
        Some((left, right)) => alternatives(text, [left, right], versions, &inside),
        None => {
            let releases = versions.iter().zip(&inside).filter(|(version, _)| !version.is_pre_release());
            let runs: Vec<bool> = releases.map(|(_, inside)| *inside).collect();
            let edges = runs.windows(2).filter(|pair| !pair[0] && pair[1]).count() + usize::from(runs[0]);
            assert!(edges <= 1, "{text:?} has holes: {runs:?}");
        }
    }
}

fn alternatives(text: &str, parts: [&str; 2], versions: &[Version], inside: &[bool]) {
    let parts = parts.map(|part| part.parse::<Range>().unwrap_or_else(|error| panic!("{text:?}: {error}")));
    for (version, inside) in versions.iter().zip(inside) {
        let either = parts.iter().any(|part| part.matches(version));
        assert!(either || !inside, "{version} in {text:?}");
        assert!(*inside || !either || version.is_pre_release(), "{version} not in {text:?}");
    }
}
