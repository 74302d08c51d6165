//! `GET /metrics`, parsed more strictly than Prometheus does.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::tgz;
use crate::folder::{Folder, eventually, says};
use crate::server::Server;

/// A parsed page: the kind of each family, and all samples by name and labels.
struct Page {
    kinds: BTreeMap<String, String>,
    samples: BTreeMap<Series, f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    name: String,
    labels: BTreeMap<String, String>,
}

impl Page {
    fn fetch(server: &Server) -> Self {
        let reply = server.ask("GET", "/metrics", "");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        Self::parse(reply.text())
    }

    fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has a line end");
        let mut page = Self { kinds: BTreeMap::new(), samples: BTreeMap::new() };
        let (mut helped, mut family) = (BTreeSet::new(), String::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help text");
                assert!(!help.is_empty() && helped.insert(name.to_owned()), "HELP of {name} is there twice");
                name.clone_into(&mut family);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                assert_eq!(name, family, "TYPE follows HELP");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(page.kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "TYPE of {name} is there twice");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            } else {
                let (series, value) = sample(line);
                let kind = page.kinds.get(&family).unwrap_or_else(|| panic!("{line} has no type"));
                let of_family = match kind.as_str() {
                    "histogram" => {
                        ["_bucket", "_sum", "_count"].iter().any(|end| series.name == format!("{family}{end}"))
                    }
                    _ => series.name == family,
                };
                assert!(of_family, "{line} is not of {family}, whose lines are all in one place");
                assert!(kind != "counter" || value >= 0.0, "{line}");
                assert!(page.samples.insert(series, value).is_none(), "{line} is there twice");
            }
        }
        assert_eq!(helped, page.kinds.keys().cloned().collect());
        page.check_histograms();
        page
    }

    fn check_histograms(&self) {
        for name in self.kinds.iter().filter(|(_, kind)| *kind == "histogram").map(|(name, _)| name) {
            let mut buckets: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
            for (series, count) in self.samples.iter().filter(|(series, _)| series.name == format!("{name}_bucket")) {
                let mut labels = series.labels.clone();
                let bound = labels.remove("le").expect("a bucket has a bound");
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
                buckets.entry(labels).or_default().push((bound, *count));
            }
            assert!(!buckets.is_empty(), "{name} has no buckets");
            for (labels, mut buckets) in buckets {
                buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{name}{labels:?} is not cumulative");
                let last = buckets.last().unwrap();
                let of = |end: &str| self.samples[&Series { name: format!("{name}{end}"), labels: labels.clone() }];
                assert_eq!((last.0, last.1), (f64::INFINITY, of("_count")), "{name}{labels:?}");
                assert!(of("_sum") >= 0.0 && (of("_count") > 0.0 || of("_sum") == 0.0), "{name}{labels:?}");
            }
        }
    }

    /// A sample by its name and some of its labels.
    fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |series: &Series| {
            series.name == name
                && labels.iter().all(|(key, value)| series.labels.get(*key).is_some_and(|one| one == value))
        };
        let mut found = self.samples.iter().filter(|(series, _)| fits(series));
        let first = found.next().map(|(_, value)| *value);
        assert!(found.next().is_none(), "more than one {name} has {labels:?}");
        first
    }

    /// All counters, counts of histograms included.
    fn growing(&self) -> BTreeMap<&Series, f64> {
        let grows = |series: &Series| {
            series.name.ends_with("_total") || series.name.ends_with("_bucket") || series.name.ends_with("_count")
        };
        self.samples.iter().filter(|(series, _)| grows(series)).map(|(series, value)| (series, *value)).collect()
    }

    #[track_caller]
    fn assert_not_before(&self, earlier: &Self) {
        let now = self.growing();
        for (series, before) in earlier.growing() {
            let after = now.get(series).copied();
            assert!(after.is_some_and(|after| after >= before), "{series:?} went from {before} to {after:?}");
        }
    }
}

/// `name{label="value",…} 1.5`
fn sample(line: &str) -> (Series, f64) {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("no sample: {line}"));
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name) && name.starts_with("hearth_"), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("no label: {line}"));
            assert!(is_name(label), "{line}");
            let mut text = String::new();
            let mut chars = value.char_indices();
            let end = loop {
                match chars.next().unwrap_or_else(|| panic!("no end: {line}")) {
                    (at, '"') => break at + 1,
                    (_, '\\') => match chars.next().map(|(_, c)| c) {
                        Some('n') => text.push('\n'),
                        Some(c @ ('\\' | '"')) => text.push(c),
                        other => panic!("{other:?} is escaped: {line}"),
                    },
                    (_, c) => text.push(c),
                }
            };
            assert!(labels.insert(label.to_owned(), text).is_none(), "a label twice: {line}");
            rest = &value[end..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap_or_else(|| panic!("no end: {line}"));
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("no value: {line}"));
    (Series { name: name.to_owned(), labels }, value.parse().unwrap_or_else(|_| panic!("no number: {line}")))
}

const STATUSES: &str = r#"
    export default {
      fetch(request) {
        const path = new URL(request.url).pathname;
        if (path === "/throw") throw new Error("as it was told");
        return new Response("", { status: Number(path.slice(1)) || 200 });
      },
    };
"#;

#[test]
fn the_page_is_well_formed_and_counts_requests() {
    let folder = Folder::with(
        "metrics-page",
        &[
            ("app@1.0.0/index.js", STATUSES),
            ("@acme/shop/index.js", &says("shop")),
            ("quiet/index.js", &says("")),
            ("broken/manifest.yaml", "nonsense: 1\n"),
        ],
    );
    let server = folder.serve(&["--workers", "1"]);
    // There was no request yet.
    let page = Page::fetch(&server);
    assert_eq!(page.get("hearth_cells_lost_total", &[]), Some(0.0));
    let mut client = server.connect();
    for (path, times) in
        [("/app/", 5), ("/app/404", 3), ("/app/201", 2), ("/app/throw", 2), ("/@acme/shop/", 4), ("/missing/", 1)]
    {
        for _ in 0..times {
            client.get(path);
        }
    }
    let page = Page::fetch(&server);
    let app = [("app", "app"), ("version", "1.0.0")];
    let with = |label| [&app[..], &[label]].concat();
    for (status, count) in [("200", 5.0), ("404", 3.0), ("201", 2.0), ("502", 2.0)] {
        assert_eq!(page.get("hearth_requests_total", &with(("status", status))), Some(count), "{status}");
    }
    assert_eq!(page.get("hearth_requests_total", &[("app", "@acme/shop"), ("status", "200")]), Some(4.0));
    assert_eq!(page.get("hearth_failures_total", &with(("code", "app_failed"))), Some(2.0));
    assert_eq!(page.get("hearth_request_seconds_count", &app), Some(12.0));
    assert_eq!(page.get("hearth_cold_start_seconds_count", &app), Some(1.0));
    assert_eq!(page.get("hearth_requests_in_flight", &app), Some(0.0));
    assert_eq!(page.get("hearth_request_seconds_count", &[("app", "quiet")]), None);
    assert_eq!(page.get("hearth_connections_total", &[]), Some(1.0));
    assert_eq!((page.get("hearth_apps", &[]), page.get("hearth_versions", &[])), (Some(3.0), Some(3.0)));
    assert_eq!(page.get("hearth_catalogue_problems", &[]), Some(1.0));
    assert_eq!(
        (page.get("hearth_pool_misses_total", &[]), page.get("hearth_pool_hits_total", &[])),
        (Some(2.0), Some(14.0))
    );
}

#[test]
fn counters_never_decrease() {
    let folder =
        Folder::with("metrics-growing", &[("app/index.js", &says("one")), ("neighbour/index.js", &says("neighbour"))]);
    let server = folder.serve(&["--max-requests", "2"]);
    let visit = |path: &str| {
        for _ in 0..5 {
            assert_eq!(server.get(path).status, 200);
        }
    };
    let mut last = Page::fetch(&server);
    let mut look = |what: &str| {
        let now = Page::fetch(&server);
        eprintln!("{what}");
        now.assert_not_before(&last);
        last = now;
    };
    visit("/app/");
    visit("/neighbour/");
    look("visited");
    folder.say("app", "two");
    crate::folder::until_text(&server, "/app/", "two");
    look("the app's file has changed");
    let archive = |text: &str| tgz(&[("index.js", &says(text))]);
    for text in ["three", "four"] {
        assert_eq!(server.ask("POST", "/admin/apps?name=up&version=1.0.0", archive(text)).status, 201);
        visit("/up/");
        look("a version was uploaded");
    }
    server.ask_json("DELETE", "/admin/apps/up", "");
    look("an app was deleted");
    folder.remove("neighbour");
    crate::folder::until_status(&server, "/neighbour/", 404);
    look("an app was removed");
    for lost in 1..=2 {
        let cell = server.cell();
        assert!(std::process::Command::new("kill").args(["-KILL", &cell.to_string()]).status().unwrap().success());
        eventually(&server, "the lost cell is counted", || {
            Page::fetch(&server).get("hearth_cells_lost_total", &[]) == Some(f64::from(lost))
        });
        look("a cell was lost");
        visit("/app/");
        look("another one serves");
    }
}
