//! A manifest, or what else is YAML.
//!
//! - It is read or refused, as a manifest and as `hearth.yaml`; the parser below never panics.
//! - Errors point into the file, one line each, and there are always some.
//! - What is read keeps its promises once it is resolved: under its ceilings, inside its folder, without secrets; ttl, timeout
//!   and idle timeout go together; an uploaded app chooses neither owner nor hosts.

use std::path::{Component, Path};
use std::time::Duration;

use hearth_config::{
    AppCeilings, AppOrigin, ConfigErrors, ConfigProblem, Layers, Lifetime, Manifest, OperatorConfig, Settings,
    is_sensitive,
};
use hearth_core::ByteSize;

const FILE: &str = "manifest.yaml";

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(errors) = OperatorConfig::parse(&text, Path::new(FILE)) {
        points_into(&errors, &text);
    }
    match Manifest::parse(&text, Path::new(FILE)) {
        Ok(manifest) => {
            resolved(&manifest, AppOrigin::Served);
            resolved(&manifest, AppOrigin::Uploaded { owner: None });
        }
        Err(errors) => points_into(&errors, &text),
    }
}

fn resolved(manifest: &Manifest, origin: AppOrigin) {
    let ceilings = AppCeilings {
        memory: Some(ByteSize::mb(64)),
        cpu: Some(Duration::from_secs(2)),
        timeout: Some(Duration::from_secs(20)),
        max_workers: Some(3),
        concurrency: Some(10),
        ..AppCeilings::default()
    };
    let uploaded = origin != AppOrigin::Served;
    let layers = Layers { app: None, manifest, dotenv: None, defaults: None, origin };
    let settings = match Settings::resolve(&layers, &ceilings) {
        Ok(resolved) => resolved.settings,
        Err(errors) => return assert!(errors.to_string().contains("is shorter than timeout"), "{errors}"),
    };
    for (value, most) in [(settings.memory, ByteSize::mb(64)), (settings.max_body_size, ByteSize::mb(100))] {
        assert!(value.bytes() > 0 && value <= most, "{value}");
    }
    for (value, most) in [(settings.cpu, ceilings.cpu), (settings.timeout, ceilings.timeout)] {
        assert!(!value.is_zero() && Some(value) <= most, "{value:?}");
    }
    assert!((1..=10).contains(&settings.concurrency) && (1..=3).contains(&settings.workers(8)));
    if let Lifetime::Limited(ttl) = settings.lifetime {
        assert!(ttl >= settings.timeout && ttl >= settings.idle_timeout);
    }
    assert!(!settings.env.keys().any(|name| is_sensitive(name)));
    for path in settings.entrypoint.iter().chain(&settings.static_folder) {
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{path:?}");
    }
    assert!(!uploaded || (settings.owner.is_none() && settings.hosts.is_empty()));
    let metadata = "169.254.169.254".parse().expect("an address");
    assert!(!uploaded || settings.egress.check("metadata", metadata, 80).is_err(), "{}", settings.egress);
}

fn points_into(errors: &ConfigErrors, text: &str) {
    let lines = text.split(['\n', '\r']).count();
    assert!(errors.iter().next().is_some());
    for error in errors.iter() {
        assert_ne!(error.problem, ConfigProblem::Parser, "the parser panicked");
        let at = error.place.position.expect("errors of files have a position");
        assert!((1..=lines + 1).contains(&at.line) && at.column > 0, "{error}: there are {lines} lines");
        assert!(!error.to_string().contains('\n'), "{error} is one line");
    }
}
