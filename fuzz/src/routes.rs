//! Which app answers: the first line is a request's host, the rest its path.
//!
//! - Whatever is asked, there is an answer, and the same one twice.
//! - Case, port and last dot of a host do not matter; an app that the host named gets every path.
//! - A base is the start of the path, ends before a slash, and names the app as a plain reader finds it; what follows it does
//!   not matter.
//! - A base without its slash is that app's base with it.

use hearth_apps::routes::{Resolution, RouteActivation, RouteEntry, RouteTable};
use hearth_core::AppName;

const APPS: [(&str, &str, &str); 9] = [
    ("a", "1.0.0", ""),
    ("a", "1.2.0", "a.com *.a.com"),
    ("a", "2.0.0-rc.1", ""),
    ("b", "latest", "x.a.com *.deep.a.com"),
    ("b", "3.0.0", "old.com"),
    ("My.App", "1.0.0", ""),
    ("@s/a", "1.0.0", "s.com"),
    ("@s/a", "0.9.0", ""),
    ("pre", "1.0.0-a", "pre.com"),
];

type Table = RouteTable<usize>;

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (host, path) = text.split_once('\n').unwrap_or(("", &text));
    let table = table();
    let answer = table.resolve(host, path);
    assert_eq!(table.resolve(host, path), answer);
    if path.starts_with("/_hearth") {
        assert_eq!(answer, Resolution::Reserved);
        return;
    }
    hosts(&table, host, path, &answer);
    match answer {
        Resolution::App { value, prefix: 0 } => {
            for other in ["/", "", "/a/", "/@s/a@1/", "*"] {
                assert_eq!(table.resolve(host, other), Resolution::App { value, prefix: 0 }, "{other:?}");
            }
        }
        Resolution::App { value, prefix } => {
            assert!(path[prefix..].starts_with('/'), "the base ends at {prefix}");
            based(&table, host, &path[..prefix], *value);
        }
        Resolution::AddSlash => match table.resolve(host, &format!("{path}/")) {
            Resolution::App { value, prefix } if prefix == path.len() => based(&table, host, path, *value),
            other => panic!("a slash leads to {other:?}"),
        },
        Resolution::NoVersion { name, .. } | Resolution::BadRange { name, .. } => {
            assert!(APPS.iter().any(|(app, ..)| *app == name), "{name}");
        }
        Resolution::NoApp | Resolution::Reserved => {}
    }
}

fn table() -> Table {
    let entries = APPS.iter().enumerate().map(|(value, (name, version, hosts))| RouteEntry {
        name: AppName::new(*name),
        version: version.parse().expect("it is a version"),
        hosts: hosts.split_whitespace().map(str::to_owned).collect(),
        active: RouteActivation::No,
        value,
    });
    let (table, problems) = RouteTable::build(entries.collect(), &["localhost".into(), "eu.example.com".into()]);
    assert_eq!(problems, []);
    table
}

fn hosts(table: &Table, host: &str, path: &str, answer: &Resolution<'_, usize>) {
    let mut same = vec![host.to_ascii_uppercase(), host.to_ascii_lowercase()];
    if !host.contains([':', '[']) && !host.ends_with('.') {
        same.extend([format!("{host}:8080"), format!("{host}."), format!("{host}.:1")]);
    }
    for same in same {
        assert_eq!(table.resolve(&same, path), *answer, "{same:?}");
    }
}

/// The app of a base, read as plainly as can be.
fn based(table: &Table, host: &str, base: &str, value: usize) {
    for rest in ["/", "/x", "//", "/%2F/@b/", "/_hearth"] {
        let answer = table.resolve(host, &format!("{base}{rest}"));
        assert_eq!(answer, Resolution::App { value: &value, prefix: base.len() }, "{base}{rest}");
    }
    if base.contains('%') {
        return;
    }
    let named = base.strip_prefix('/').expect("a base begins with a slash");
    let at = named.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(named.len(), |(at, _)| at);
    let (name, version, _) = APPS[value];
    assert_eq!(&named[..at], name, "{base}");
    if let Some(range) = named.get(at + 1..).filter(|range| *range != "latest") {
        let range: hearth_apps::versions::Range = range.parse().unwrap_or_else(|error| panic!("{base}: {error}"));
        assert!(range.matches(&version.parse().expect("only numbers are in ranges")), "{version} in {base}");
    }
}
