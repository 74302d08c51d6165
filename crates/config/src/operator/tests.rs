//! Valid and invalid `hearth.yaml` files.

use super::*;
use crate::{Bound, ConfigError, Lifetime, Ratio};
use hearth_egress_policy::EgressPolicy;

fn parse(text: &str) -> Result<OperatorConfig, ConfigErrors> {
    OperatorConfig::parse(text, Path::new("hearth.yaml"))
}

fn wrong(text: &str) -> Vec<String> {
    parse(text).expect_err(text).iter().map(ConfigError::to_string).collect()
}

const EVERYTHING: &str = r#"
listen: [127.0.0.1:8080, "[::]:8080"]
listen_tls: 0.0.0.0:443
admin: 127.0.0.1:9090
data: ./state
domains: [localhost, apps.example.com]
paths: false
threads: 4
cells: 2
standby: 0
stuck_grace: 100ms
stuck_limit: 5s
drain_timeout: 10
isolates: 500
spares: 3
memory_budget: 2gb
queue: 50
queue_timeout: 3s
max_queued: 40
max_per_owner: 20
max_fresh: 300
initial_heap: 10mb
egress: public
trusted_proxies: [10.0.0.0/8, "::1"]
access_log: json
log_format: text
tls:
  - { cert: a.pem, key: a.key }
  - cert: b.pem
    key: b.key
compression: false
max_connections: 10000
max_connections_per_client: 100
rate_limit: 1000/1m
head_timeout: 10s
keep_alive_timeout: 75s
body_timeout: 30s
write_timeout: 30s
max_body_size: 50mb
isolate_owners: true
jail: required
otel:
  endpoint: https://collector.example:4318/
  headers: { authorization: Bearer it }
  interval: 5s
  traces: 0.25
  service: shop
defaults: { ttl: 0, maxRequests: 1000 }
apps:
  shop: { owner: acme, hosts: [shop.example], memory: 256mb }
  "@acme/blog":
    timeout: 5s
ceilings: { memory: 512mb, cpu: 2s, timeout: 1m, max_workers: 4, concurrency: 64 }
"#;

#[test]
fn every_key_is_read() {
    let config = parse(EVERYTHING).unwrap_or_else(|errors| panic!("{errors}"));
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(config.listen.as_ref().map(Vec::len), Some(2));
    assert_eq!(config.listen_tls.as_ref().map(Vec::len), Some(1));
    assert_eq!(config.admin, Some(AdminListen::At("127.0.0.1:9090".parse().unwrap())));
    assert_eq!(config.data, Some("./state".into()));
    assert_eq!(config.paths, Some(false));
    assert_eq!(config.domains.as_ref().map(|domains| domains[1].name()), Some("apps.example.com"));
    assert_eq!((config.threads, config.cells, config.standby), (Some(4), Some(2), Some(0)));
    assert_eq!(config.stuck_grace, Some(Duration::from_millis(100)));
    assert_eq!((config.stuck_limit, config.drain_timeout, config.queue_timeout), (seconds(5), seconds(10), seconds(3)));
    assert_eq!((config.isolates, config.spares), (Some(500), Some(3)));
    assert_eq!(config.memory_budget, Some(ByteSize::mb(2048)));
    assert_eq!((config.queue, config.max_queued), (Some(50), Some(40)));
    assert_eq!((config.max_per_owner, config.max_fresh), (Some(20), Some(300)));
    assert_eq!(config.initial_heap, Some(ByteSize::mb(10)));
    assert_eq!(config.trusted_proxies.as_ref().map(Vec::len), Some(2));
    assert_eq!((config.access_log, config.log_format), (Some(AccessLog::Json), Some(LogFormat::Text)));
    let tls = config.tls.as_ref().unwrap();
    assert_eq!((tls[0].key.as_path(), tls[1].cert.as_path()), (Path::new("a.key"), Path::new("b.pem")));
    assert_eq!((config.compression, config.isolate_owners), (Some(false), Some(true)));
    let otel = config.otel.as_ref().unwrap();
    assert_eq!(otel.endpoint.of("traces"), "https://collector.example:4318/v1/traces");
    assert_eq!((otel.headers["authorization"].as_str(), otel.service.as_str()), ("Bearer it", "shop"));
    assert_eq!((otel.interval, otel.traces), (Duration::from_secs(5), "0.25".parse().unwrap()));
    assert_eq!((config.max_connections, config.max_connections_per_client), (Some(10_000), Some(100)));
    assert_eq!(config.rate_limit, Some("1000/1m".parse().unwrap()));
    assert_eq!((config.head_timeout, config.keep_alive_timeout), (seconds(10), seconds(75)));
    assert_eq!((config.body_timeout, config.write_timeout), (seconds(30), seconds(30)));
    assert_eq!(config.jail, Some(JailMode::Required));
    assert_eq!(config.defaults.lifetime, Some(Lifetime::Ephemeral));
    assert_eq!(config.defaults.max_requests, Some(Bound::Limited(1000)));
    let shop = &config.apps[&AppName::new("shop")];
    assert_eq!(shop.memory, Some(ByteSize::mb(256)));
    assert_eq!(shop.place("memory").to_string(), "hearth.yaml:50:47: apps.shop.memory: ");
    assert_eq!(config.apps.len(), 2);
    let expected = AppCeilings {
        memory: Some(ByteSize::mb(512)),
        cpu: seconds(2),
        timeout: seconds(60),
        max_body_size: ByteSize::mb(50),
        max_workers: Some(4),
        concurrency: Some(64),
        egress: Some(EgressPolicy::public()),
    };
    assert_eq!(config.ceilings, expected);
}

#[test]
fn an_empty_file_is_an_empty_configuration() {
    let config = parse("").unwrap();
    assert_eq!(config.apps.len(), 0);
    assert_eq!(config.ceilings, AppCeilings::default());
    assert_eq!(parse("listen: 0.0.0.0:80").unwrap().listen.unwrap().len(), 1);
    assert_eq!(parse("admin: off").unwrap().admin, Some(AdminListen::Off));
    assert_eq!(parse("tls: {cert: a, key: b}").unwrap().tls.unwrap().len(), 1);
}

#[test]
fn errors_name_file_line_column_and_key() {
    for (text, expected) in [
        ("lisen: x", "hearth.yaml:1:1: lisen: unknown key: did you mean listen?"),
        ("drainTimeout: 5s", "drainTimeout: unknown key: did you mean drain_timeout?"),
        ("listen: 80800", "hearth.yaml:1:9: listen: \"80800\" is not an address to listen on: write ADDRESS:PORT"),
        ("listen: [a:80]", "listen[0]: \"a:80\" is a name, and names are not looked up"),
        ("domains: ['*.example']", "domains[0]: \"*.example\" is not a host name: a domain has no *"),
        ("threads: 0", "threads: 0 is out of range: write a number from 1 to 1024"),
        ("threads: many", "expected a whole number, found the text \"many\""),
        ("stuck_limit: 0", "stuck_limit: it must be more than zero"),
        ("trusted_proxies: [10.0.0.1/8]", "trusted_proxies[0]: \"10.0.0.1/8\" is not a range of addresses"),
        ("access_log: false", "\"false\" is not known here: write off, text or json"),
        ("jail: requird", "did you mean required?"),
        ("tls: [{cert: a}]", "hearth.yaml:1:7: tls[0]: key is missing beside it"),
        ("tls: [{cert: a, key: b, hosts: [c.d]}]", "tls[0].hosts: unknown key: the known ones are cert, key"),
        ("tls: [{cert: a, key: 5}]", "tls[0].key: expected text, found the number 5"),
        ("rate_limit: none", "\"none\" is not a rate"),
        ("defaults: {idle_timeout: 1}", "defaults.idle_timeout: unknown key: did you mean idleTimeout?"),
        ("defaults: {name: a}", "defaults.name: this key cannot be set for all apps"),
        ("defaults: {hosts: [a.b]}", "defaults.hosts: this key cannot be set for all apps"),
        ("apps: {shop: {version: 1.0.0}}", "apps.shop.version: this key cannot be set for one app"),
        ("apps:\n  shop:\n    memory: 10m", "hearth.yaml:3:13: apps.shop.memory: \"10m\" is not a size"),
        ("apps: {'a b': {}}", "apps.a b: \"a b\" is not a name for an app"),
        ("apps: {shop: }", "apps.shop: expected a map of keys and values, found nothing"),
        ("apps: {shop: {}, shop: {}}", "apps.shop: this key is written twice"),
        ("ceilings: {maxWorkers: 3}", "ceilings.maxWorkers: unknown key: did you mean max_workers?"),
        ("ceilings: { memory: 1 }", "1 is too little for anything to run: write 8mb or more"),
        ("ceilings: { cpu: 1ms }", "1ms is too little for anything to run: write 10ms or more"),
        ("cell_memory: 1b", "1b is too little for anything to run: write 128mb or more"),
        ("ceilings: []", "ceilings: expected a map of keys and values, found a list"),
    ] {
        let found = wrong(text);
        assert!(found.len() == 1 && found[0].contains(expected), "{text:?} says {found:?}, and not {expected:?}");
    }
    assert_eq!(wrong("threads: x\nbogus: 1\napps: {a: {b: c, ttl: d}}").len(), 4);
}

#[test]
fn a_collector_needs_an_address() {
    let otel = |text: &str| parse(text).unwrap().otel.unwrap();
    let plain = otel("otel: { endpoint: http://127.0.0.1:4318 }");
    assert_eq!((plain.interval, plain.traces, plain.service.as_str()), (Duration::from_secs(30), Ratio::ALL, "hearth"));
    assert_eq!(otel("otel: { endpoint: http://a, traces: 0 }").traces, Ratio::NONE);
    for (text, part) in [
        ("otel: {}", "endpoint is missing"),
        ("otel: { endpoint: collector:4318 }", "no address of a collector"),
        ("otel: { endpoint: http://a, traces: 2 }", "from 0 (none) to 1 (all)"),
        ("otel: { endpoint: http://a, interval: 0 }", "more than zero"),
        ("otel: { endpoint: http://a, trace: 1 }", "traces"),
    ] {
        let said = wrong(text).join("\n");
        assert!(said.contains(part) && said.contains("otel"), "{text}: {said}");
    }
}
