//! Valid manifests, and the errors of invalid ones.

use super::*;
use crate::ConfigError;

fn parse(text: &str) -> Result<Manifest, ConfigErrors> {
    Manifest::parse(text, Path::new("manifest.yaml"))
}

fn good(text: &str) -> Manifest {
    parse(text).unwrap_or_else(|errors| panic!("{text:?}: {errors}"))
}

/// The single error of a manifest.
fn wrong(text: &str) -> String {
    let errors: Vec<String> = parse(text).expect_err(text).iter().map(ConfigError::to_string).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].clone()
}

fn assert_wrong(text: &str, expected: &str) {
    let found = wrong(text);
    assert!(found.contains(expected), "{text:?} says {found:?}, and not {expected:?}");
}

const EVERYTHING: &str = r#"
name: "@acme/shop"
version: 1.10
owner: acme
entrypoint: ./src/index.ts
env: { PORT: 8080, GREETING: "hi", DEBUG: true, EMPTY: "" }
timeout: 30
streamTimeout: 5m
ttl: 1h
idleTimeout: "30"
maxRequests: 1000
maxWorkers: 2
maxBodySize: 1.5mb
memory: 64 MB
cpu: 500ms
concurrency: 8
execution: pinned
isolation: process
rateLimit: 100/1m
lowMemory: true
auth: token
publicRoutes: [/health, /assets/**]
autoInstall: true
site: pages
injectBase: false
envPrefix: [PUBLIC_, APP_]
egress: [api.example.com, 10.0.0.0/8]
hosts: [Shop.example.com, "*.shop.example.com"]
crons: ["0 * * * *", "@daily"]
static: public/
"#;

#[test]
fn every_key_is_read() {
    let m = good(EVERYTHING);
    assert_eq!(m.name, Some(AppName::new("@acme/shop")));
    assert_eq!(m.version, Some(VersionName::new("1.10")));
    assert_eq!(m.owner, Some(Owner::new("acme")));
    assert_eq!(m.entrypoint, Some("src/index.ts".into()));
    let env = [("PORT", "8080"), ("GREETING", "hi"), ("DEBUG", "true"), ("EMPTY", "")];
    assert_eq!(m.env, Some(env.map(|(k, v)| (k.to_owned(), v.to_owned())).into()));
    assert_eq!(m.timeout, Some(Duration::from_secs(30)));
    assert_eq!(m.stream_timeout, Some(Duration::from_secs(300)));
    assert_eq!(m.lifetime, Some(Lifetime::Limited(Duration::from_secs(3600))));
    assert_eq!(m.idle_timeout, Some(Duration::from_secs(30)));
    assert_eq!(m.max_requests, Some(Bound::Limited(1000)));
    assert_eq!(m.max_workers, Some(Bound::Limited(2)));
    assert_eq!(m.max_body_size, Some(ByteSize(3 << 19)));
    assert_eq!(m.memory, Some(ByteSize::mb(64)));
    assert_eq!(m.cpu, Some(Duration::from_millis(500)));
    assert_eq!(m.concurrency, Some(8));
    assert_eq!(m.execution, Some(Execution::Pinned));
    assert_eq!(m.isolation, Some(Isolation::Process));
    assert_eq!(m.rate_limit, Some(Bound::Limited("100/1m".parse().unwrap())));
    assert_eq!(m.low_memory, Some(true));
    assert_eq!(m.auth, Some(Auth::Token));
    assert!(m.public_routes.as_ref().unwrap().matches("GET", "/health"));
    assert_eq!(m.auto_install, Some(true));
    assert_eq!((m.site, m.inject_base), (Some(SiteKind::Pages), Some(false)));
    assert_eq!(m.env_prefix, Some(vec!["PUBLIC_".to_owned(), "APP_".to_owned()]));
    assert_eq!(m.egress, Some(EgressPolicy::parse("api.example.com,10.0.0.0/8").unwrap()));
    assert_eq!(m.hosts.as_ref().unwrap()[0].to_string(), "shop.example.com");
    assert_eq!(m.crons.as_ref().unwrap().len(), 2);
    assert_eq!(m.static_folder, Some("public".into()));
    assert_eq!(m.source.positions.len(), EVERYTHING.trim().lines().count(), "each line has a key");
    assert_eq!(m.place("ttl").to_string(), "manifest.yaml:9:1: ttl: ");
}

#[test]
fn an_empty_file_is_an_empty_manifest() {
    for text in ["", "\n", "# nothing\n", "---\n", "{}", "~", "\u{feff}"] {
        let mut manifest = good(text);
        assert_eq!(std::mem::take(&mut manifest.source).file, Path::new("manifest.yaml"));
        assert_eq!(manifest, Manifest::default(), "{text:?}");
    }
}

#[test]
fn none_and_zero_are_different() {
    assert_eq!(good("ttl: 0").lifetime, Some(Lifetime::Ephemeral));
    assert_eq!(good("ttl: 0s").lifetime, Some(Lifetime::Ephemeral));
    assert_eq!(good("ttl: none").lifetime, Some(Lifetime::Unlimited));
    assert_eq!(good("maxRequests: none").max_requests, Some(Bound::Unlimited));
    assert_eq!(good("maxRequests: 0").max_requests, Some(Bound::Unlimited));
    assert_eq!(good("maxWorkers: none").max_workers, Some(Bound::Unlimited));
    assert_eq!(good("rateLimit: none").rate_limit, Some(Bound::Unlimited));
    assert_eq!(good("timeout: 0").timeout, Some(Duration::ZERO));
    assert_wrong("maxWorkers: 0", "0 is out of range: write a number from 1 to 1024");
    assert_wrong("maxBodySize: 0", "must be more than zero");
}

#[test]
fn a_single_value_is_a_list_of_one() {
    assert_eq!(good("crons: '@hourly'").crons.unwrap().len(), 1);
    assert_eq!(good("hosts: a.example").hosts.unwrap().len(), 1);
    assert_eq!(good("envPrefix: APP_").env_prefix.unwrap(), ["APP_"]);
    assert_eq!(good("egress: none").egress, Some(EgressPolicy::none()));
    assert_eq!(good("egress: [public, 10.0.0.5]").egress, Some(EgressPolicy::parse("public,10.0.0.5").unwrap()));
}

#[test]
fn unknown_keys_name_the_nearest() {
    assert_eq!(wrong("timout: 3"), "manifest.yaml:1:1: timout: unknown key: did you mean timeout?");
    assert_eq!(
        wrong("name: a\n\nidle_timeout: 3"),
        "manifest.yaml:3:1: idle_timeout: unknown key: did you mean idleTimeout?"
    );
    assert_wrong("max-workers: 3", "did you mean maxWorkers?");
    assert_wrong("Cron: []", "did you mean crons?");
    assert_wrong("whatever: 3", "unknown key: the known ones are name, version, owner, entrypoint");
    assert_wrong("\"a\\nb\": 3", "a\\nb: unknown key");
}

#[test]
fn errors_name_what_was_expected_and_found() {
    for (text, expected) in [
        ("timeout: abc", "manifest.yaml:1:10: timeout: \"abc\" is not a duration"),
        ("timeout: -1", "\"-1\" is not a duration"),
        ("timeout: [1]", "expected a duration, such as 30s, found a list"),
        ("timeout:\nname: a", "manifest.yaml:1:1: timeout: expected a duration, such as 30s, found nothing"),
        ("timeout: ~", "found nothing"),
        ("memory: 10m", "\"10m\" is not a size"),
        ("memory: {}", "expected a size, such as 128mb, found a map"),
        ("concurrency: \"8\"", "concurrency: expected a whole number, found the text \"8\""),
        ("concurrency: 1.5", "1.5 is out of range"),
        ("concurrency: -1", "-1 is out of range"),
        ("lowMemory: yes", "expected true or false, found the text \"yes\""),
        ("lowMemory: 1", "expected true or false, found the number 1"),
        ("entrypoint: true", "expected text, found true"),
        ("entrypoint: ''", "entrypoint: it is empty"),
        ("entrypoint: ../x.ts", "\"../x.ts\" leads out of the app's folder"),
        ("entrypoint: /etc/passwd", "is an absolute path"),
        ("static: .", "is the app's folder itself"),
        ("name: a b", "is not a name for an app"),
        ("version: a/b", "is not a version"),
        ("owner: 'a b'", "is not a name for an owner"),
        (
            "execution: poled",
            "\"poled\" is not known here: write auto, pinned, pooled, oneshot or shared: did you mean pooled?",
        ),
        ("isolation: Process", "write shared or process: did you mean process?"),
        ("auth: [token]", "expected a word, found a list"),
        ("auth: bearer", "write none or token"),
        ("auth:", "found nothing"),
        ("rateLimit: 100", "expected a rate, such as 100/1m, found the number 100"),
        ("rateLimit: fast", "\"fast\" is not a rate"),
        ("env: [A]", "expected a map of names and texts, found a list"),
        ("env:\n  A: [1]", "manifest.yaml:2:6: env.A: expected text, found a list"),
        ("env:\n  A:", "manifest.yaml:2:3: env.A: expected text, found nothing"),
        ("env: {\"A=B\": c}", "env.A=B: it has a character that cannot be in an environment: '='"),
        ("env: {A: \"\\0\"}", "character that cannot be in an environment"),
        ("egress: [api.example.com, 'http://x']", "manifest.yaml:1:27: egress[1]: \"http://x\" is no egress entry"),
        ("egress: [none, a.example]", "\"none\" cannot stand in an egress list"),
        ("egress: []", "the egress policy is empty"),
        ("hosts: [a.example, 'b.example:80']", "hosts[1]: \"b.example:80\" is not a host name: leave the port out"),
        ("crons: ['* * * *']", "crons[0]: \"* * * *\" is not a cron expression: it has 4 fields"),
        ("crons: [5]", "crons[0]: expected a cron expression"),
        ("publicRoutes: [health]", "publicRoutes[0]: \"health\" is not a pattern of paths: it must begin with /"),
        ("publicRoutes: {GTE: [/a]}", "publicRoutes.GTE: \"GTE\" is not known here"),
        ("publicRoutes: {GET: [/a, b]}", "publicRoutes.GET[1]: \"b\" is not a pattern"),
        ("ttl: 5s\ntimeout: 10s", "manifest.yaml:1:1: ttl: ttl (5s) is shorter than timeout (10s)"),
        ("ttl: 5s\ntimeout: 0", "ttl (5s) is shorter than timeout (off)"),
        ("- a", "manifest.yaml:1:1: expected a map of keys and values, found a list"),
        ("hello", "expected a map of keys and values, found the text \"hello\""),
        ("name: a\nname: b", "manifest.yaml:2:1: name: this key is written twice: the first is in line 1"),
        ("env: {A: 1, A: 2}", "manifest.yaml:1:13: env.A: this key is written twice"),
        ("name: [", "this is not YAML"),
        ("name: a\n  ttl: 3", "manifest.yaml:2:6: this is not YAML: mapping values are not allowed"),
        ("name: &a b", "anchors (&) and aliases (*) are not allowed"),
        ("name: *a", "anchors (&) and aliases (*) are not allowed"),
        ("crons: [* * * * *]", "in quotes if it begins with & or *"),
        ("crons:\n  - */5 * * * *", "manifest.yaml:2:9: anchors (&) and aliases (*) are not allowed"),
        ("hosts: *.example.com", "in quotes if it begins with & or *"),
        ("name: !!str b", "tags (!) are not allowed"),
        ("name: a\n---\nname: b", "there is a second document"),
        ("[a]: b", "a list or a map cannot be a key"),
    ] {
        assert_wrong(text, expected);
    }
}

#[test]
fn all_errors_are_reported_in_order() {
    let errors = parse("timeout: abc\nbogus: 1\nmemory: 10m\nenv:\n  A: []\n  A: b\nauth: x\n").unwrap_err();
    let keys: Vec<&str> = errors.iter().map(|error| error.place.key.as_str()).collect();
    assert_eq!(keys, ["timeout", "bogus", "memory", "env.A", "env.A", "auth"]);
    assert_eq!(errors.to_string().lines().count(), 6);
}

#[test]
fn large_files_are_refused_quickly() {
    let laughs: String = (1..40).map(|at| format!("a{at}: &a{at} [*a{0}, *a{0}]\n", at - 1)).collect();
    for (text, expected) in [
        ("a: b\n".repeat(300_000), "the file has 1.4mb, and may have 1mb"),
        ("[".repeat(100_000), "this is not YAML"),
        (format!("{}1{}", "[".repeat(17), "]".repeat(17)), "nested more than 16 deep"),
        ("- ".repeat(100_000), "nested more than 16 deep"),
        ("? ".repeat(100_000), "a list or a map cannot be a key"),
        (format!("[{}]", "a,".repeat(200_000)), "more than 100000 values"),
        (format!("a0: &a0 x\n{laughs}"), "anchors (&) and aliases (*) are not allowed"),
        (format!("crons: [{}]", "'@daily',".repeat(65)), "there are 65 here, and may be 64"),
        (format!("publicRoutes: [{}]", "/a,".repeat(257)), "there are 257 here, and may be 256"),
    ] {
        assert_wrong(&text, expected);
    }
    let many: String = (0..5_000).map(|at| format!("key{at}: 1\n")).collect();
    let errors = parse(&many).unwrap_err();
    assert_eq!(errors.iter().count(), 100);
    assert!(errors.to_string().ends_with("\nand 4900 more"));
}
