//! Precedence of sources, and the warnings where a value does not apply.

use std::path::Path;

use hearth_core::ByteSize;

use super::*;
use crate::{Auth, OperatorConfig};

fn manifest(text: &str) -> Manifest {
    Manifest::parse(text, Path::new("manifest.yaml")).unwrap()
}

fn operator(text: &str) -> OperatorConfig {
    OperatorConfig::parse(text, Path::new("hearth.yaml")).unwrap()
}

/// The settings of an app called `shop`.
fn resolve(config: &OperatorConfig, text: &str, origin: AppOrigin) -> Result<Resolved, ConfigErrors> {
    let manifest = manifest(text);
    let app = config.apps.get(&hearth_core::AppName::new("shop"));
    let layers = Layers { app, manifest: &manifest, dotenv: None, defaults: Some(&config.defaults), origin };
    Settings::resolve(&layers, &config.ceilings)
}

fn served(config: &str, text: &str) -> (Settings, Vec<String>) {
    let Resolved { settings, warnings } = resolve(&operator(config), text, AppOrigin::Served).unwrap();
    (settings, warnings.iter().map(Warning::to_string).collect())
}

fn uploaded(config: &str, text: &str) -> (Settings, Vec<String>) {
    let origin = AppOrigin::Uploaded { owner: Some(Owner::new("bob")) };
    let Resolved { settings, warnings } = resolve(&operator(config), text, origin).unwrap();
    (settings, warnings.iter().map(Warning::to_string).collect())
}

#[test]
fn without_settings_the_defaults_apply() {
    let (settings, warnings) = served("", "");
    assert_eq!(settings, Settings::default());
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(settings.limits(), hearth_core::Limits::default());
    assert_eq!(settings.workers(4), 4);
}

#[test]
fn the_operator_is_above_the_manifest_and_the_manifest_above_the_defaults() {
    let config =
        "defaults: {timeout: 1, cpu: 1, concurrency: 1, ttl: 0, maxRequests: 1000}\napps: {shop: {timeout: 3}}";
    let (settings, _) = served(config, "timeout: 2\ncpu: 2");
    assert_eq!(settings.timeout, Duration::from_secs(3));
    assert_eq!(settings.cpu, Duration::from_secs(2));
    assert_eq!(settings.concurrency, 1);
    assert_eq!(settings.lifetime, Lifetime::Ephemeral);
    assert_eq!(settings.max_requests, Some(1000));
    let (settings, _) = served(config, "ttl: none\nmaxRequests: none");
    assert_eq!((settings.lifetime, settings.max_requests), (Lifetime::Unlimited, None));
}

#[test]
fn ceilings_limit_manifests() {
    let config =
        "ceilings: {memory: 64mb, cpu: 500ms, timeout: 10s, max_workers: 2, concurrency: 4}\nmax_body_size: 1mb";
    let written = "memory: 1gb\ncpu: 0\ntimeout: 1m\nmaxWorkers: 8\nconcurrency: 0\nmaxBodySize: 5mb";
    let (settings, warnings) = served(config, written);
    assert_eq!(settings.memory, ByteSize::mb(64));
    assert_eq!(settings.cpu, Duration::from_millis(500));
    assert_eq!(settings.timeout, Duration::from_secs(10));
    assert_eq!(settings.max_workers, Some(2));
    assert_eq!(settings.concurrency, 4);
    assert_eq!(settings.max_body_size, ByteSize::mb(1));
    assert_eq!(warnings.len(), 6, "{warnings:?}");
    let memory = "manifest.yaml:1:1: memory: 1gb is beyond the operator's ceiling: 64mb is used";
    assert!(warnings.contains(&memory.to_owned()), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("cpu: off is beyond")), "{warnings:?}");
    // Defaults are lowered without a warning.
    let (settings, warnings) = served(config, "");
    assert_eq!((settings.memory, settings.max_body_size), (ByteSize::mb(64), ByteSize::mb(1)));
    assert_eq!((settings.max_workers, settings.workers(8), settings.workers(1)), (None, 2, 1));
    assert_eq!(warnings, Vec::<String>::new());
    // Values within the ceiling are unchanged.
    let (settings, warnings) = served(config, "memory: 32mb\nmaxWorkers: 1");
    assert_eq!((settings.memory, settings.max_workers), (ByteSize::mb(32), Some(1)));
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn the_operator_may_exceed_ceilings_for_one_app() {
    let config = "ceilings: {memory: 64mb, max_workers: 2}\negress: public\n\
        apps: {shop: {memory: 1gb, maxWorkers: 8, egress: all}}";
    let (settings, warnings) = served(config, "memory: 2gb\negress: none");
    assert_eq!((settings.memory, settings.workers(4)), (ByteSize::mb(1024), 8));
    assert_eq!(settings.egress, EgressPolicy::all());
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn bodies_have_a_ceiling_by_default() {
    let (settings, warnings) = served("", "maxBodySize: 1gb");
    assert_eq!(settings.max_body_size, ByteSize::mb(100));
    assert_eq!(warnings, ["manifest.yaml:1:1: maxBodySize: 1gb is beyond the operator's ceiling: 100mb is used"]);
    assert_eq!(served("max_body_size: 2gb", "maxBodySize: 1gb").0.max_body_size, ByteSize::mb(1024));
}

#[test]
fn a_worker_outlives_its_requests_in_every_layer() {
    for (config, text, expected) in [
        ("", "ttl: 5s", "manifest.yaml:1:1: ttl: ttl (5s) is shorter than timeout (30s)"),
        ("defaults: {ttl: 5s}", "", "hearth.yaml:1:12: defaults.ttl: ttl (5s) is shorter than timeout (30s)"),
        ("apps: {shop: {timeout: 2m}}", "ttl: 1m", "manifest.yaml:1:1: ttl: ttl (60s) is shorter than timeout (120s)"),
    ] {
        let error = resolve(&operator(config), text, AppOrigin::Served).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    // The ceiling applies.
    assert!(resolve(&operator("ceilings: {timeout: 5s}"), "ttl: 5s\ntimeout: 5s", AppOrigin::Served).is_ok());
    assert!(resolve(&operator("ceilings: {timeout: 5s}"), "ttl: 5s", AppOrigin::Served).is_ok());
    assert!(resolve(&operator(""), "ttl: 0", AppOrigin::Served).is_ok());
}

#[test]
fn idle_is_not_above_ttl() {
    let (settings, warnings) = served("", "ttl: 45s\nidleTimeout: 1h");
    assert_eq!(settings.idle_timeout, Duration::from_secs(45));
    assert_eq!(warnings, ["manifest.yaml:2:1: idleTimeout: idleTimeout (3600s) is longer than ttl (45s): 45s is used"]);
    let (settings, warnings) = served("", "ttl: 45s");
    assert_eq!((settings.idle_timeout, warnings), (Duration::from_secs(45), Vec::new()));
    assert_eq!(served("", "ttl: 0\nidleTimeout: 1h").0.idle_timeout, Duration::from_secs(3600));
}

#[test]
fn an_uploaded_app_chooses_neither_owner_nor_hosts() {
    let text = "owner: alice\nhosts: [shop.example, other.example]";
    let (settings, warnings) = served("", text);
    assert_eq!((settings.owner, settings.hosts.len(), warnings.len()), (Some(Owner::new("alice")), 2, 0));
    let (settings, warnings) = uploaded("", text);
    assert_eq!((settings.owner, settings.hosts.len()), (Some(Owner::new("bob")), 0));
    assert!(warnings[0].contains("owner: ignored, because the app was uploaded"), "{warnings:?}");
    assert!(warnings[1].contains("hosts: ignored, because the app was uploaded"), "{warnings:?}");
    let (settings, warnings) = uploaded("apps: {shop: {owner: alice, hosts: [shop.example, other.example]}}", text);
    assert_eq!((settings.owner, settings.hosts.len(), warnings.len()), (Some(Owner::new("alice")), 2, 0));
}

#[test]
fn egress_stays_under_its_ceiling() {
    let (settings, warnings) = served("egress: public", "egress: all");
    assert_eq!(settings.egress, EgressPolicy::all().within(&EgressPolicy::public()));
    assert_eq!(warnings, ["manifest.yaml:1:1: egress: all is beyond the operator's ceiling: public is used"]);
    let (settings, warnings) = served("egress: none", "");
    assert_eq!((settings.egress.to_string(), warnings.len()), ("public within none".to_owned(), 0));
    assert_eq!(served("egress: public", "egress: api.example.com").1.len(), 0);
    assert_eq!(served("egress: [10.0.0.0/8]", "egress: public").1.len(), 1);
    // Without a setting of the operator, only uploaded apps are restricted.
    assert_eq!(served("", "egress: all").0.egress, EgressPolicy::all());
    assert_eq!(uploaded("", "egress: all").0.egress.to_string(), "all within public");
    assert_eq!(uploaded("egress: all", "egress: all").0.egress, EgressPolicy::all());
}

#[test]
fn the_environment_is_merged_by_name() {
    let config = operator("defaults: {env: {A: d, B: d, C: d, D: d}}\napps: {shop: {env: {A: o}}}");
    let manifest = manifest("env: {A: m, B: m, C: m, DB_URL: m, X_TOKEN: m}");
    let dotenv = crate::parse_dotenv("A=e\nB=e\nE=e\nAPI_KEY=e", Path::new(".env")).unwrap();
    let app = config.apps.values().next();
    let (defaults, origin) = (Some(&config.defaults), AppOrigin::Served);
    let layers = Layers { app, manifest: &manifest, dotenv: Some(&dotenv), defaults, origin };
    let Resolved { settings, warnings } = Settings::resolve(&layers, &config.ceilings).unwrap();
    let env: Vec<String> = settings.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=o", "B=e", "C=m", "D=d", "E=e"]);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().ends_with("API_KEY, DB_URL, X_TOKEN"), "{}", warnings[0]);
}

#[test]
fn settings_survive_serialisation() {
    let text = "owner: a\nentrypoint: a.ts\nenv: {A: b}\nttl: 1h\nmaxRequests: 5\nmaxWorkers: 2\nrateLimit: 5/1s\nauth: token\n\
        publicRoutes: {GET: [/a/*, /b/**], ALL: [/c]}\negress: all\nhosts: ['*.a.example']\ncrons: ['*/5 * * * * *', '@daily']\n\
        static: public\ninjectBase: true\nexecution: oneshot\nisolation: process\nmaxBodySize: 1b\n";
    let (settings, _) = served("egress: [public, 10.0.0.0/8]\nceilings: {max_workers: 1}", text);
    assert_eq!(settings.auth, Auth::Token);
    for settings in [settings, Settings::default()] {
        let sent = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&sent).unwrap(), settings, "{sent}");
    }
    assert!(serde_json::from_str::<crate::Cron>("\"61 * * * *\"").is_err());
}
