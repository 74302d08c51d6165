//! Lookups in tables of a few apps.

use hearth_core::AppName;

use super::host::{Host, Pattern};
use super::*;
use crate::versions::AppVersion;

/// The value is the text that the entry was made from.
type Table = RouteTable<&'static str>;

/// `name@version`, with a final `!` if it is active, then hosts.
fn entry(text: &'static str) -> RouteEntry<&'static str> {
    let mut words = text.split(' ');
    let first = words.next().unwrap();
    let id = first.trim_end_matches('!');
    let (name, version) = id.rsplit_once('@').unwrap();
    let active = if id == first { RouteActivation::No } else { RouteActivation::Yes };
    let hosts = words.map(str::to_owned).collect();
    RouteEntry { name: AppName::new(name), version: version.parse().unwrap(), hosts, active, value: id }
}

fn build(entries: &[&'static str], domains: &[&str]) -> (Table, Vec<RouteProblem>) {
    let domains: Vec<String> = domains.iter().map(|domain| domain.to_string()).collect();
    RouteTable::build(entries.iter().map(|text| entry(text)).collect(), &domains)
}

fn table(entries: &[&'static str], domains: &[&str]) -> Table {
    let (table, problems) = build(entries, domains);
    assert_eq!(problems, []);
    table
}

/// The answering version and its base, or the other outcome.
fn ask(table: &Table, host: &str, path: &str) -> String {
    match table.resolve(host, path) {
        Resolution::App { value, prefix } => format!("{value} {}", &path[..prefix]),
        Resolution::NoVersion { name, range } => format!("no version of {name} in {range:?}"),
        Resolution::BadRange { name, error } => format!("bad range of {name}: {error}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_bare_name_is_the_active_version_else_latest_else_the_highest_release() {
    let releases = ["a@1.0.0", "a@1.2.0", "a@1.10.0", "a@2.0.0-beta.1"];
    assert_eq!(ask(&table(&releases, &[]), "h", "/a/x/y"), "a@1.10.0 /a");
    let latest = [&releases[..], &["a@latest"]].concat();
    assert_eq!(ask(&table(&latest, &[]), "h", "/a/"), "a@latest /a");
    let active = [&latest[..], &["a@2.0.0-beta.2!"]].concat();
    assert_eq!(ask(&table(&active, &[]), "h", "/a/"), "a@2.0.0-beta.2 /a");
    assert_eq!(ask(&table(&active, &[]), "h", "/a@latest/"), "a@latest /a@latest");
    assert_eq!(ask(&table(&["a@1.0.0!", "a@2.0.0"], &[]), "h", "/a@latest/"), "a@2.0.0 /a@latest");
}

#[test]
fn pre_releases_are_served_if_requested() {
    let table = table(&["a@1.0.0-beta.1", "a@1.0.0-beta.2"], &["localhost"]);
    assert_eq!(ask(&table, "h", "/a/"), "no version of a in None");
    assert_eq!(ask(&table, "h", "/a"), "no version of a in None");
    assert_eq!(ask(&table, "h", "/a@latest/"), "no version of a in Some(\"latest\")");
    assert_eq!(ask(&table, "h", "/a@1/"), "no version of a in Some(\"1\")");
    assert_eq!(ask(&table, "h", "/a@1.0.0-beta.1/"), "a@1.0.0-beta.1 /a@1.0.0-beta.1");
    assert_eq!(ask(&table, "h", "/a@^1.0.0-beta.1/"), "a@1.0.0-beta.2 /a@^1.0.0-beta.1");
    assert_eq!(ask(&table, "a.localhost", "/"), "NoApp");
}

#[test]
fn ranges_choose_the_highest_version_in_them() {
    let table = table(&["a@1.0.0", "a@1.4.2", "a@1.4.9", "a@2.1.0", "a@latest", "b@latest"], &[]);
    for (range, version) in [
        ("1", "1.4.9"),
        ("1.0", "1.0.0"),
        ("1.0.0", "1.0.0"),
        ("v1", "1.4.9"),
        ("^1.0.0", "1.4.9"),
        ("%5E1.0.0", "1.4.9"),
        ("~1.4.0", "1.4.9"),
        (">=1", "2.1.0"),
        ("%3E%3D1", "2.1.0"),
        ("%3e=1%20<2", "1.4.9"),
        ("1%20-%202", "2.1.0"),
        ("3||1.0", "1.0.0"),
        ("*", "2.1.0"),
        ("", "2.1.0"),
    ] {
        assert_eq!(ask(&table, "h", &format!("/a@{range}/x")), format!("a@{version} /a@{range}"), "{range}");
    }
    assert_eq!(ask(&table, "h", "/a@3/"), "no version of a in Some(\"3\")");
    assert_eq!(ask(&table, "h", "/b@1/"), "no version of b in Some(\"1\")");
    assert_eq!(ask(&table, "h", "/a@%5E3/"), "no version of a in Some(\"^3\")");
    assert!(ask(&table, "h", "/a@one/").starts_with("bad range of a: \"one\" is not a range"));
    // Decoded once: `%255E` becomes a percent sign and `5E`.
    assert!(ask(&table, "h", "/a@%255E1/").starts_with("bad range of a: \"%5E1\""));
    assert!(ask(&table, "h", &format!("/a@{}/", "1".repeat(257))).starts_with("bad range of a: a range"));
    assert_eq!(ask(&table, "h", "/c@one/"), "NoApp");
}

#[test]
fn a_base_without_its_slash_gets_one() {
    let table = table(&["a@1.0.0", "@s/a@1.0.0"], &["localhost"]);
    for path in ["/a", "/a@1", "/@s/a", "/@s/a@%5E1"] {
        assert_eq!(ask(&table, "h", path), "AddSlash", "{path}");
        assert!(ask(&table, "h", &format!("{path}/")).contains(&format!("@1.0.0 {path}")), "{path}");
    }
    assert_eq!(ask(&table, "h", "/b"), "NoApp");
    assert_eq!(ask(&table, "h", "/a@2"), "no version of a in Some(\"2\")");
    assert_eq!(ask(&table, "a.localhost", "/a"), "a@1.0.0 ");
}

#[test]
fn scoped_apps() {
    let table = table(&["@s/a@1.0.0", "@s/a@2.0.0-rc", "s@1.0.0"], &["localhost"]);
    assert_eq!(ask(&table, "h", "/@s/a/x"), "@s/a@1.0.0 /@s/a");
    assert_eq!(ask(&table, "h", "/%40s/a/x"), "@s/a@1.0.0 /%40s/a");
    assert_eq!(ask(&table, "h", "/@s/a@2.0.0-rc/x"), "@s/a@2.0.0-rc /@s/a@2.0.0-rc");
    assert_eq!(ask(&table, "h", "/@s/a%402.0.0-rc/x"), "@s/a@2.0.0-rc /@s/a%402.0.0-rc");
    for path in ["/@s", "/@s/", "/@s/b/", "/@s%2Fa/", "/@s%2Fa/x/", "/@/", "/@", "/a/", "/@s/@s/a/", "/@s/a%2Fx/"] {
        assert_eq!(ask(&table, "h", path), "NoApp", "{path}");
    }
    assert_eq!(ask(&table, "a.localhost", "/"), "NoApp");
    assert_eq!(ask(&table, "@s/a.localhost", "/"), "NoApp");
}

#[test]
fn names_are_decoded_once_and_never_split_at_encoded_slashes() {
    let table = table(&["hello@1.0.0", "A.b-c_d@1.0.0"], &[]);
    assert_eq!(ask(&table, "h", "/h%65llo/x"), "hello@1.0.0 /h%65llo");
    assert_eq!(ask(&table, "h", "/A.b-c_d/"), "A.b-c_d@1.0.0 /A.b-c_d");
    for path in
        ["/h%2565llo/", "/hello%2Fx/", "/Hello/", "/hello%/", "/hello%6/", "/hello%zz/", "/%ff/", "/", "", "*", "x"]
    {
        assert_eq!(ask(&table, "h", path), "NoApp", "{path}");
    }
    assert_eq!(ask(&table, "h", "//hello/"), "NoApp");
}

#[test]
fn hosts_exact_then_wildcard_then_domain() {
    let entries = ["a@1.0.0 a.com *.a.com x.wild.com", "b@1.0.0 *.wild.com", "c@1.0.0 *.deep.wild.com", "my.app@1.0.0"];
    let table = table(&entries, &["localhost", "example.com", "eu.example.com"]);
    for (host, app) in [
        ("a.com", "a"),
        ("A.COM", "a"),
        ("a.com.", "a"),
        ("a.com:8080", "a"),
        ("A.com.:8080", "a"),
        ("a.com:", "a"),
        ("www.a.com", "a"),
        ("x.y.z.a.com", "a"),
        ("x.wild.com", "a"),
        ("y.wild.com", "b"),
        ("x.y.wild.com", "b"),
        ("deep.wild.com", "b"),
        ("1.deep.wild.com", "c"),
        ("1.2.DEEP.wild.com", "c"),
        ("a.localhost:8080", "a"),
        ("B.LocalHost", "b"),
        ("a.eu.example.com", "a"),
        ("a.example.com", "a"),
        ("my.app.localhost", "my.app"),
    ] {
        assert_eq!(ask(&table, host, "/b/x"), format!("{app}@1.0.0 "), "{host}");
    }
    for host in [
        "",
        ".",
        ":80",
        "localhost",
        "wild.com",
        ".a.com",
        "com",
        "d.localhost",
        "a.localhost.evil.com",
        "xa.com",
        "a.com:x",
        "a.com:80:80",
        "user@a.com",
        "a.com/",
        "ä.com",
        "a..localhost",
        "127.0.0.1",
        "[::1]",
        "[::1]:80",
        "::1",
    ] {
        assert_eq!(ask(&table, host, "/b/x"), "b@1.0.0 /b", "{host}");
    }
    assert_eq!(ask(&table, &"a.".repeat(200), "/b/x"), "b@1.0.0 /b");
}

#[test]
fn addresses_are_no_names() {
    let (table, problems) = build(&["127@1.0.0 127.0.0.1 [::1] *.0.0.1 a.7"], &["0.0.1", "localhost"]);
    assert_eq!(problems.len(), 4, "{problems:?}");
    for host in ["127.0.0.1", "127.0.0.1:80"] {
        assert_eq!(ask(&table, host, "/"), "127@1.0.0 ", "{host}");
    }
    for host in ["[::1]", "127.0.0.1.", "127.0.0.2"] {
        assert_eq!(ask(&table, host, "/"), "NoApp", "{host}");
    }
    assert_eq!(ask(&table, "127.localhost", "/"), "127@1.0.0 ");
}

#[test]
fn reserved_paths_are_reserved_on_every_host() {
    let table = table(&["a@1.0.0 a.com"], &["localhost"]);
    for host in ["a.com", "a.localhost", "other"] {
        for path in ["/_hearth", "/_hearth/", "/_hearth/health", "/_hearth.js"] {
            assert_eq!(ask(&table, host, path), "Reserved", "{host}{path}");
        }
    }
    assert_eq!(ask(&table, "a.com", "/a/_hearth"), "a@1.0.0 ");
    assert_eq!(ask(&table, "other", "/a/_hearth"), "a@1.0.0 /a");
    assert_eq!(ask(&table, "other", "/_heart"), "NoApp");
}

#[test]
fn hosts_are_those_of_the_version_that_answers() {
    let old = ["a@1.0.0 a.com old.com", "a@1.1.0 a.com new.com", "a@2.0.0-rc beta.com"];
    let one = table(&old, &[]);
    assert_eq!(ask(&one, "a.com", "/"), "a@1.1.0 ");
    assert_eq!(ask(&one, "new.com", "/"), "a@1.1.0 ");
    assert_eq!(ask(&one, "old.com", "/"), "NoApp");
    assert_eq!(ask(&one, "beta.com", "/"), "NoApp");
    let rolled_back = table(&["a@1.0.0! a.com old.com", "a@1.1.0 a.com new.com"], &["localhost"]);
    assert_eq!(ask(&rolled_back, "a.com", "/"), "a@1.0.0 ");
    assert_eq!(ask(&rolled_back, "old.com", "/"), "a@1.0.0 ");
    assert_eq!(ask(&rolled_back, "a.localhost", "/"), "a@1.0.0 ");
}

#[test]
fn conflicts_are_reported() {
    let entries =
        ["a@1.0.0 x.com X.com. *.x.com", "b@1.0.0 X.COM *.x.com b.com", "A@1.0.0", "a@1.0.0", "c@latest", "c@latest"];
    let (table, problems) = build(&entries, &["localhost", "LOCALHOST", "a b", ""]);
    let messages: Vec<String> = problems.iter().map(|problem| problem.to_string()).collect();
    assert_eq!(
        messages,
        [
            "a@1.0.0 is there twice; the first one is served",
            "c@latest is there twice; the first one is served",
            "domain \"a b\" is no host name; domains look like example.com, without port",
            "domain \"\" is no host name; domains look like example.com, without port",
            "hosts of b@1.0.0: \"X.COM\" belongs to a already",
            "hosts of b@1.0.0: \"*.x.com\" belongs to a already",
            "the name of A differs only in case from a, to which the hosts of that name belong",
        ]
    );
    assert_eq!(ask(&table, "x.com", "/"), "a@1.0.0 ");
    assert_eq!(ask(&table, "b.com", "/"), "b@1.0.0 ");
    assert_eq!(ask(&table, "a.localhost", "/"), "a@1.0.0 ");
    assert_eq!(ask(&table, "h", "/A/"), "A@1.0.0 /A");
}

#[test]
fn an_address_can_be_an_apps_host() {
    let table = table(&["a@1.0.0 127.0.0.1", "b@1.0.0"], &["localhost"]);
    for host in ["127.0.0.1", "127.0.0.1:8080"] {
        assert_eq!(ask(&table, host, "/b/"), "a@1.0.0 ");
    }
    for host in ["127.0.0.2", "[::1]:8080", "127.0.0.1.localhost", "h"] {
        assert_eq!(ask(&table, host, "/b/"), "b@1.0.0 /b");
    }
}

#[test]
fn invalid_hosts_are_reported_and_the_app_is_served() {
    for host in ["*", "*.", "a.*.com", "**.a.com", "a.com:80", "http://a.com", "ä.com", "a..com", ".a.com", "a b.com"]
    {
        assert_eq!(Pattern::parse(host), None, "{host}");
    }
    let mut bad = entry("a@1.0.0");
    bad.hosts = vec!["*.*.com".into(), "ok.com".into(), "x".repeat(64)];
    let (table, problems) = RouteTable::build(vec![bad], &[]);
    assert_eq!(problems.len(), 2);
    assert!(problems[0].to_string().contains("\"*.*.com\" is no host name"), "{}", problems[0]);
    assert_eq!(ask(&table, "ok.com", "/"), "a@1.0.0 ");
}

#[test]
fn ten_thousand_versions() {
    let entries = (0..10_000).map(|n| {
        let version: AppVersion = format!("{}.{}.{}", n % 7, n % 101, n).parse().unwrap();
        let (name, hosts) = (AppName::new(format!("app{}", n % 100)), vec![format!("app{}.example.com", n % 100)]);
        RouteEntry { name, version, hosts, active: RouteActivation::No, value: n }
    });
    let (table, problems) = RouteTable::build(entries.collect(), &["localhost".to_owned()]);
    assert_eq!(problems, []);
    let highest = |n: i32| (0..10_000).filter(|m| m % 100 == n).max_by_key(|m| (m % 7, m % 101, *m)).unwrap();
    for n in 0..100 {
        let expected = Resolution::App { value: &highest(n), prefix: 0 };
        assert_eq!(table.resolve(&format!("APP{n}.example.com"), "/"), expected);
        assert_eq!(table.resolve(&format!("app{n}.localhost"), "/"), expected);
    }
}

#[test]
fn hosts_are_normalised() {
    for (sent, name) in [("A.b:1", Some("a.b")), ("a.b", Some("a.b")), ("[::1]:1", None), ("a:b", None), ("1.2", None)]
    {
        assert_eq!(Host::from_request(sent).as_ref().map(Host::as_str), name, "{sent}");
    }
    assert_eq!(Pattern::parse("A.B."), Some(Pattern::Exact("a.b".into())));
    assert_eq!(Pattern::parse("127.0.0.1"), Some(Pattern::Address([127, 0, 0, 1].into())));
    assert_eq!(Pattern::parse("*.A.B"), Some(Pattern::Below("a.b".into())));
}

/// Any input: no panic, and a base is always a prefix of the path.
#[test]
fn garbage_is_harmless() {
    let table = table(&["a@1.0.0 a.com *.b.com", "@s/a@1.0.0", "b@2.0.0-rc"], &["localhost"]);
    let parts = [
        "/",
        "/",
        "a",
        "@",
        "@s",
        "b",
        "%",
        "%40",
        "%2F",
        "%2f",
        "%5E",
        "%ff",
        "1",
        "^1",
        ".",
        "..",
        ":",
        "80",
        "[",
        "]",
        "a.com",
        ".b.com",
        ".localhost",
        "_hearth",
        "é",
        "\u{10ffff}",
        "\0",
        " ",
        "latest",
        "||",
        "*",
        "A.COM",
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % limit
    };
    for _ in 0..50_000 {
        let host: String = (0..below(6)).map(|_| parts[below(parts.len())]).collect();
        let path: String = (0..below(9)).map(|_| parts[below(parts.len())]).collect();
        if let Resolution::App { prefix, .. } = table.resolve(&host, &path) {
            assert!(prefix == 0 || path[prefix..].starts_with('/'), "{host:?} {path:?} {prefix}");
        }
    }
}

#[test]
fn without_paths_only_hosts_lead_to_apps() {
    let table = table(&["a@1.0.0"], &["localhost"]).with_paths(Paths::Off);
    assert_eq!(ask(&table, "a.localhost", "/x"), "a@1.0.0 ");
    for path in ["/a/", "/a", "/a@1/", "/a@9/", "/a@!/"] {
        assert_eq!(ask(&table, "h", path), "NoApp", "{path}");
    }
}
