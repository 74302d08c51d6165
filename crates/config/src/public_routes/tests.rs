//! Paths that are public and, more important, paths that are not.

use std::path::Path;

use super::*;
use crate::Manifest;

fn routes(yaml: &str) -> PublicRoutes {
    let text = format!("publicRoutes: {yaml}");
    Manifest::parse(&text, Path::new("m")).unwrap_or_else(|e| panic!("{e}")).public_routes.unwrap()
}

fn matches(pattern: &str, path: &str) -> bool {
    routes(&format!("['{pattern}']")).matches("GET", path)
}

#[test]
fn patterns_match() {
    for (pattern, yes, no) in [
        ("/", &["/"][..], &["/a", "//", ""][..]),
        ("/a", &["/a", "/%61"], &["/", "/a/", "/a/b", "/b", "/A", "a", "/ab", "/a?x", "/a#x"]),
        ("/a/", &["/a/"], &["/a", "/a/b"]),
        ("/*", &["/a", "/b.css"], &["/", "/a/b", "/a/"]),
        ("/a/*/c", &["/a/b/c"], &["/a//c", "/a/c", "/a/b/b/c", "/a/b/c/"]),
        ("/u/:id", &["/u/1", "/u/%C3%A4"], &["/u/", "/u", "/u/1/2"]),
        ("/u/:id/x", &["/u/1/x"], &["/u/x", "/u//x"]),
        ("/*.css", &["/a.css", "/.css"], &["/a.csss", "/a/b.css", "/acss"]),
        ("/a*b*c", &["/abc", "/axbxc", "/abbc"], &["/ab", "/acb", "/ac"]),
        ("/ab*ba", &["/abba", "/abxba"], &["/aba", "/ab"]),
        ("/a/**", &["/a/", "/a/b", "/a/b/c", "/a/b/"], &["/a", "/", "/b/a/", "/ab"]),
        ("/**", &["/", "/a", "/a/b/"], &["", "a", "*"]),
        ("/**/x", &["/x", "/a/x", "/a/b/x", "/x/x"], &["/", "/x/", "/x/a", "/ax"]),
        (
            "/a/**/b/**/c",
            &["/a/b/c", "/a/1/b/2/c", "/a/b/b/c/c", "/a/c/b/c"],
            &["/a/c", "/a/b", "/a/b/c/d", "/a/1/c/b"],
        ),
        ("/a:b", &["/a:b"], &["/ab", "/ax"]),
        ("/a b", &["/a%20b"], &["/a+b"]),
    ] {
        for path in yes {
            assert!(matches(pattern, path), "{pattern} matches {path}");
        }
        for path in no {
            assert!(!matches(pattern, path), "{pattern} does not match {path}");
        }
    }
}

#[test]
fn ambiguous_paths_are_not_public() {
    for path in [
        "/a%2Fb",
        "/a%2fb",
        "/a/%2e%2e/b",
        "/a/../b",
        "/./a",
        "/a/.",
        "/a/%2E",
        "/a%5Cb",
        "/a\\b",
        "/a%00",
        "/a%0a",
        "/a%7f",
        "/a%",
        "/a%2",
        "/a%zz",
        "/a%+1",
        "/a%C3",
        "/a%FF",
        "//a",
        "/a//b",
        "/a%252e",
        "/a%25",
        "/a?b",
        "/a#b",
        "http://h/a",
        "*",
    ] {
        assert!(!matches("/**", path), "{path}");
    }
    for path in ["/...", "/a..b", "/a/..b", "/.well-known/x", "/a;b=c", "/ä", "/a%3Fb", "/a%23b"] {
        assert!(matches("/**", path), "{path}");
    }
}

#[test]
fn methods_are_separate() {
    let routes = routes("{get: [/a, /b], POST: /c, ALL: [/d]}");
    for (method, path, public) in [
        ("GET", "/a", true),
        ("GET", "/b", true),
        ("POST", "/a", false),
        ("HEAD", "/a", false),
        ("get", "/a", false),
        ("POST", "/c", true),
        ("GET", "/c", false),
        ("PURGE", "/d", true),
    ] {
        assert_eq!(routes.matches(method, path), public, "{method} {path}");
    }
    assert!(!PublicRoutes::default().matches("GET", "/"));
    assert!(super::tests::routes("[]").is_empty());
}

#[test]
fn invalid_patterns_are_refused() {
    for pattern in [
        "", "a", "*", "/a//b", "//", "/..", "/a/./b", "/a**", "/**a", "/***", "/:", "/a?b", "/a#", "/a%20b", "/a\\b",
        "/a\nb",
    ] {
        assert!(pattern.parse::<Pattern>().is_err(), "{pattern:?}");
    }
}

/// Tries all possible matches of a pattern.
fn plainly(pattern: &[Segment], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((Segment::Many, rest)), Some((_, below))) => plainly(rest, path) || plainly(pattern, below),
        (Some((Segment::Many, rest)), None) => plainly(rest, path),
        (Some((segment, rest)), Some((first, below))) => segment.matches(first) && plainly(rest, below),
        _ => false,
    }
}

#[test]
fn exhaustive_matching_gives_the_same_result() {
    let mut numbers = 0x5eed_u64;
    let mut below = |limit: u64| {
        numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (numbers >> 33) % limit
    };
    let mut matched = 0;
    for _ in 0..20_000 {
        let pattern: String = (0..=below(5)).map(|_| ["/a", "/b", "/*", "/**", "/a*"][below(5) as usize]).collect();
        let path: String = (0..=below(6)).map(|_| ["/a", "/b", "/ab"][below(3) as usize]).collect();
        let (pattern, segments) = (pattern.parse::<Pattern>().unwrap(), segments(&path).unwrap());
        let expected = plainly(&pattern.segments, &segments);
        matched += usize::from(expected);
        assert_eq!(pattern.matches(&segments), expected, "{pattern} and {path}");
    }
    assert!(matched > 1_000, "{matched} of them match");
}
