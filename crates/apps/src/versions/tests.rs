//! Versions, and ranges against the table that `semver` made.

use super::*;

const TABLE: &str = include_str!("node-semver.txt");

fn version(text: &str) -> Version {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The versions of the table, and its ranges: the set of versions in each, or `None` if it is
/// invalid.
fn table(text: &str) -> (Vec<Version>, Vec<(&str, Option<u64>)>) {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let versions = lines.next().unwrap().split(' ').map(version).collect();
    let ranges = lines.map(|line| {
        let (range, set) = line.rsplit_once('\t').unwrap();
        (range, (set != "!").then(|| u64::from_str_radix(set, 16).unwrap()))
    });
    (versions, ranges.collect())
}

fn set(range: &Range, versions: &[Version]) -> u64 {
    versions.iter().enumerate().filter(|(_, version)| range.matches(version)).map(|(bit, _)| 1 << bit).sum()
}

#[test]
fn ranges_are_those_of_semver() {
    let (versions, ranges) = table(TABLE);
    assert!(versions.len() >= 40 && ranges.len() >= 300, "{} {}", versions.len(), ranges.len());
    for (text, expected) in ranges {
        let range = text.parse::<Range>().ok();
        assert_eq!(range.as_ref().map(|range| set(range, &versions)), expected, "{text:?} was read as {range:?}");
        if let Some(range) = range {
            let again: Range = range.to_string().parse().unwrap();
            assert_eq!(set(&again, &versions), set(&range, &versions), "{text:?} is shown as {range}");
        }
    }
}

#[test]
fn versions_are_ordered_as_semver_orders_them() {
    let (versions, _) = table(TABLE);
    for (a, low) in versions.iter().enumerate() {
        for (b, high) in versions.iter().enumerate() {
            assert_eq!(low.cmp(high), a.cmp(&b), "{low} {high}");
        }
    }
    assert!(version("1.0.0-99999999999999999999") < version("1.0.0-100000000000000000000"));
    assert!(AppVersion::Latest < AppVersion::Number(version("0.0.0-0")));
}

#[test]
fn short_versions_are_completed() {
    for (text, full) in [
        ("1", "1.0.0"),
        ("v1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("0", "0.0.0"),
        ("v1.2.3-beta.1+linux.7", "1.2.3-beta.1+linux.7"),
        ("1.2.3+001", "1.2.3+001"),
        ("1.2.3--", "1.2.3--"),
        ("1.2.3-0a", "1.2.3-0a"),
    ] {
        assert_eq!(version(text).to_string(), full, "{text}");
    }
    let full = version("1.2.3-beta.1+linux.7");
    assert_eq!((full.major(), full.minor(), full.patch()), (1, 2, 3));
    assert_eq!((full.pre_release(), full.build()), ("beta.1", "linux.7"));
    assert_eq!("latest".parse(), Ok(AppVersion::Latest));
    assert_eq!("v2".parse(), Ok(AppVersion::Number(version("2.0.0"))));
}

#[test]
fn invalid_versions_are_refused_with_a_reason() {
    for text in [
        "",
        "v",
        "vv1",
        "V1",
        "=1",
        "1.",
        ".1",
        "1..2",
        "01",
        "1.02",
        "1.2.3.4",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3+",
        "1.2.3+a_b",
        "1-alpha",
        "1.2-alpha",
        "1+b",
        " 1",
        "1 ",
        "1.x",
        "-1",
        "+1",
        "latest",
        "é",
        "1.2.3-é",
    ] {
        let error = text.parse::<Version>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")) && error.contains("1.2.3-beta.1"), "{error}");
    }
    assert!(matches!("9007199254740992.0.0".parse::<Version>(), Err(VersionError::TooLarge(_))));
    assert!(matches!("1.0.99999999999999999999999".parse::<Version>(), Err(VersionError::TooLarge(_))));
    assert_eq!("1".repeat(257).parse::<Version>(), Err(VersionError::TooLong));
    assert!("é".repeat(100).parse::<Version>().expect_err("long").to_string().contains('…'));
}

#[test]
fn builds_do_not_count() {
    assert_eq!(version("1.0.0+a"), version("1.0.0+b"));
    assert!("1.0.0".parse::<Range>().unwrap().matches(&version("1.0.0+a")));
}

#[test]
fn long_ranges_are_refused() {
    assert!(format!("{}1", " ".repeat(255)).parse::<Range>().is_ok());
    assert_eq!(" ".repeat(257).parse::<Range>(), Err(RangeError::TooLong));
    assert!(">".repeat(256).parse::<Range>().expect_err("no range").to_string().len() < 300);
}

/// Any input is parsed or refused, and a parsed range can be shown and parsed again.
#[test]
fn garbage_is_harmless() {
    let parts = [
        "1",
        "0",
        "22",
        "x",
        "*",
        ".",
        ".",
        "-",
        " - ",
        " ",
        "^",
        "~",
        "~>",
        ">",
        "<",
        "=",
        "v",
        "||",
        "|",
        "+",
        "+b",
        "-alpha",
        "1.2.3",
        "0.0.0",
        "9007199254740991",
        "99999999999999999999",
        "é",
        "\0",
        "\u{feff}",
        "\t",
        "latest",
    ];
    let (versions, _) = table(TABLE);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % limit
    };
    for _ in 0..20_000 {
        let text: String = (0..below(12)).map(|_| parts[below(parts.len())]).collect();
        if let Ok(version) = text.parse::<Version>() {
            assert_eq!(version.to_string().parse(), Ok(version), "{text:?}");
        }
        if let Ok(range) = text.parse::<Range>() {
            let again: Range = range.to_string().parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(set(&again, &versions), set(&range, &versions), "{text:?} is shown as {range}");
        }
    }
}
