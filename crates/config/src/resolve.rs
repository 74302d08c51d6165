//! Resolves the layers of settings by precedence. From top to bottom: the operator's settings for
//! this app, the app's manifest, the operator's defaults for all apps, the built-in defaults. `env`
//! is merged by name, with `.env` above the manifest.
//!
//! An app cannot set:
//! - more than the operator's ceilings (see [`AppCeilings`]);
//! - its owner and hosts if it was uploaded: the operator does not know its content.

use std::fmt;
use std::time::Duration;

use hearth_core::Owner;
use hearth_egress_policy::EgressPolicy;

use crate::bindings::Bindings;
use crate::ceilings::AppCeilings;
use crate::env_filter::remove_sensitive;
use crate::error::{ConfigError, ConfigErrors, ConfigProblem};
use crate::manifest::{Bound, Manifest, is_below};
use crate::settings::{Env, Lifetime, Settings};
use crate::warning::{Warning, WarningKind};

/// All settings of one app by source.
#[derive(Clone, Debug)]
pub struct Layers<'a> {
    /// `apps.NAME` of `hearth.yaml`.
    pub app: Option<&'a Manifest>,
    pub manifest: &'a Manifest,
    /// `.env` beside the manifest.
    pub dotenv: Option<&'a Env>,
    /// `defaults` of `hearth.yaml`.
    pub defaults: Option<&'a Manifest>,
    pub origin: AppOrigin,
}

/// How an app was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppOrigin {
    /// It is in a folder of the operator.
    Served,
    /// It was uploaded by this owner.
    Uploaded { owner: Option<Owner> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub settings: Settings,
    pub warnings: Vec<Warning>,
}

impl Settings {
    /// Fails if values are valid each but contradict each other.
    pub fn resolve(layers: &Layers<'_>, ceilings: &AppCeilings) -> Result<Resolved, ConfigErrors> {
        Resolver { layers, warnings: Vec::new() }.resolve(ceilings)
    }
}

struct Resolver<'a> {
    layers: &'a Layers<'a>,
    warnings: Vec<Warning>,
}

/// A value and its source.
struct Sourced<'a, T> {
    value: T,
    by: &'a Manifest,
    rank: Precedence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Precedence {
    /// The operator, for this app.
    Operator,
    Manifest,
    Defaults,
}

/// The value that turns a limit off.
trait Zero: Copy + PartialOrd + Default + fmt::Debug {}
impl<T: Copy + PartialOrd + Default + fmt::Debug> Zero for T {}

// === impl Resolver ===

impl<'a> Resolver<'a> {
    fn resolve(mut self, ceilings: &AppCeilings) -> Result<Resolved, ConfigErrors> {
        let base = Settings::default();
        let timeout = self.capped("timeout", |m| m.timeout, base.timeout, ceilings.timeout);
        let lifetime = self.said(|m| m.lifetime);
        let lifetime = lifetime.map_or(Ok(base.lifetime), |said| outlives(said, timeout))?;
        let settings = Settings {
            owner: self.owner(),
            entrypoint: self.get(|m| m.entrypoint.clone()),
            env: self.env(),
            timeout,
            stream_timeout: self.get(|m| m.stream_timeout).unwrap_or(base.stream_timeout),
            lifetime,
            idle_timeout: self.idle_timeout(base.idle_timeout, lifetime),
            max_requests: self.get(|m| m.max_requests).and_then(Bound::into),
            max_workers: self.max_workers(ceilings),
            workers_ceiling: self.workers_ceiling(ceilings),
            max_body_size: self.capped(
                "maxBodySize",
                |m| m.max_body_size,
                base.max_body_size,
                Some(ceilings.max_body_size),
            ),
            memory: self.capped("memory", |m| m.memory, base.memory, ceilings.memory),
            cpu: self.capped("cpu", |m| m.cpu, base.cpu, ceilings.cpu),
            concurrency: self.capped("concurrency", |m| m.concurrency, base.concurrency, ceilings.concurrency),
            execution: self.get(|m| m.execution).unwrap_or(base.execution),
            isolation: self.get(|m| m.isolation).unwrap_or(base.isolation),
            rate_limit: self.get(|m| m.rate_limit).and_then(Bound::into),
            low_memory: self.get(|m| m.low_memory).unwrap_or(base.low_memory),
            auth: self.get(|m| m.auth).unwrap_or(base.auth),
            public_routes: self.get(|m| m.public_routes.clone()).unwrap_or(base.public_routes),
            auto_install: self.get(|m| m.auto_install).unwrap_or(base.auto_install),
            site: self.get(|m| m.site).unwrap_or(base.site),
            inject_base: self.get(|m| m.inject_base),
            env_prefix: self.get(|m| m.env_prefix.clone()).unwrap_or(base.env_prefix),
            egress: self.egress(base.egress, ceilings),
            hosts: self.hosts(),
            crons: self.get(|m| m.crons.clone()).unwrap_or(base.crons),
            static_folder: self.get(|m| m.static_folder.clone()),
            bindings: self.bindings()?,
        };
        Ok(Resolved { settings, warnings: self.warnings })
    }

    /// Each has what it is bound to.
    fn bindings(&self) -> Result<Bindings, ConfigErrors> {
        let Some(Sourced { value, by, .. }) = self.said(|m| m.bindings.clone()) else { return Ok(Bindings::new()) };
        let folder = self.get(|m| m.static_folder.clone());
        match value.keys().next() {
            Some(name) if folder.is_none() => {
                let problem = ConfigProblem::NoAssets { name: name.clone() };
                Err(ConfigError { place: by.place("bindings"), problem }.into())
            }
            _ => Ok(value),
        }
    }

    /// The value of the highest layer that has one.
    fn said<T>(&self, get: impl Fn(&Manifest) -> Option<T>) -> Option<Sourced<'a, T>> {
        let Layers { app, manifest, defaults, .. } = self.layers;
        let layers =
            [(*app, Precedence::Operator), (Some(*manifest), Precedence::Manifest), (*defaults, Precedence::Defaults)];
        layers.into_iter().find_map(|(layer, rank)| Some(Sourced { value: get(layer?)?, by: layer?, rank }))
    }

    fn get<T>(&self, get: impl Fn(&Manifest) -> Option<T>) -> Option<T> {
        self.said(get).map(|said| said.value)
    }

    fn warn(&mut self, by: &Manifest, key: &str, notice: WarningKind) {
        self.warnings.push(Warning { place: by.place(key), notice });
    }

    fn capped<T: Zero>(
        &mut self,
        key: &str,
        get: impl Fn(&Manifest) -> Option<T>,
        default: T,
        ceiling: Option<T>,
    ) -> T {
        let said = self.said(get);
        let value = said.as_ref().map_or(default, |said| said.value);
        let ceiling = match ceiling.filter(|ceiling| *ceiling != T::default()) {
            Some(ceiling) if value == T::default() || value > ceiling => ceiling,
            _ => return value,
        };
        match said {
            Some(Sourced { rank: Precedence::Operator, .. }) => return value,
            Some(said) => self.warn(said.by, key, capped(&value, &ceiling)),
            // A default above a ceiling is lowered without a warning.
            None => {}
        }
        ceiling
    }

    fn max_workers(&mut self, ceilings: &AppCeilings) -> Option<u16> {
        let said = self.said(|m| m.max_workers)?;
        let value = Option::from(said.value);
        match (value, ceilings.max_workers.filter(|ceiling| *ceiling > 0)) {
            (Some(workers), Some(ceiling)) if workers > ceiling && said.rank != Precedence::Operator => {
                self.warn(said.by, "maxWorkers", capped(&workers, &ceiling));
                Some(ceiling)
            }
            _ => value,
        }
    }

    /// Depends on the number of threads, which is unknown here; the operator's number for this app
    /// overrides it.
    fn workers_ceiling(&self, ceilings: &AppCeilings) -> Option<u16> {
        let named = self.said(|m| m.max_workers).is_some_and(|said| said.rank == Precedence::Operator);
        ceilings.max_workers.filter(|ceiling| *ceiling > 0 && !named)
    }

    fn idle_timeout(&mut self, default: Duration, lifetime: Lifetime) -> Duration {
        let said = self.said(|m| m.idle_timeout);
        let idle = said.as_ref().map_or(default, |said| said.value);
        match lifetime {
            Lifetime::Limited(ttl) if idle > ttl => {
                if let Some(said) = said {
                    self.warn(said.by, "idleTimeout", WarningKind::IdleAboveTtl { idle, ttl });
                }
                ttl
            }
            _ => idle,
        }
    }

    fn owner(&mut self) -> Option<Owner> {
        let Layers { app, manifest, defaults, origin, .. } = self.layers;
        let above = app.and_then(|app| app.owner.clone());
        let below = defaults.and_then(|defaults| defaults.owner.clone());
        match origin {
            AppOrigin::Served => above.or_else(|| manifest.owner.clone()).or(below),
            AppOrigin::Uploaded { owner } => {
                let owner = above.or_else(|| owner.clone()).or(below);
                if manifest.owner.is_some() && manifest.owner != owner {
                    self.warn(manifest, "owner", WarningKind::UploadedOwner);
                }
                owner
            }
        }
    }

    fn hosts(&mut self) -> Vec<crate::HostPattern> {
        let Layers { app, manifest, origin, .. } = self.layers;
        let granted = app.and_then(|app| app.hosts.clone());
        if *origin == AppOrigin::Served {
            return granted.or_else(|| manifest.hosts.clone()).unwrap_or_default();
        }
        let granted = granted.unwrap_or_default();
        if manifest.hosts.iter().flatten().any(|host| !granted.contains(host)) {
            self.warn(manifest, "hosts", WarningKind::UploadedHosts);
        }
        granted
    }

    fn env(&mut self) -> Env {
        let Layers { app, manifest, dotenv, defaults, .. } = self.layers;
        let own = |layer: Option<&'a Manifest>| layer.and_then(|layer| layer.env.as_ref());
        let layers = [own(*defaults), own(Some(manifest)), *dotenv, own(*app)];
        let mut env: Env = layers.into_iter().flatten().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let names = remove_sensitive(&mut env);
        if !names.is_empty() {
            self.warn(manifest, "env", WarningKind::Sensitive { names });
        }
        env
    }

    fn egress(&mut self, default: EgressPolicy, ceilings: &AppCeilings) -> EgressPolicy {
        let said = self.said(|m| m.egress.clone());
        let uploaded = (self.layers.origin != AppOrigin::Served).then(EgressPolicy::public);
        let ceiling = ceilings.egress.clone().or(uploaded).unwrap_or_else(EgressPolicy::all);
        match said {
            None => default.within(&ceiling),
            Some(Sourced { value, rank: Precedence::Operator, .. }) => value,
            Some(Sourced { value, by, .. }) => {
                if is_wider(&value, &ceiling) {
                    let notice = WarningKind::Capped { value: value.to_string(), ceiling: ceiling.to_string() };
                    self.warn(by, "egress", notice);
                }
                value.within(&ceiling)
            }
        }
    }
}

fn capped<T: Zero>(value: &T, ceiling: &T) -> WarningKind {
    let value = if *value == T::default() { "off".to_owned() } else { format!("{value:?}") };
    WarningKind::Capped { value, ceiling: format!("{ceiling:?}") }
}

fn outlives(said: Sourced<'_, Lifetime>, timeout: Duration) -> Result<Lifetime, ConfigErrors> {
    match said.value {
        Lifetime::Limited(ttl) if is_below(ttl, timeout) => {
            Err(ConfigError { place: said.by.place("ttl"), problem: ConfigProblem::TtlBelowTimeout { ttl, timeout } }
                .into())
        }
        lifetime => Ok(lifetime),
    }
}

/// Whether a policy clearly exceeds its ceiling. Single hosts are not checked: a connection that is
/// denied later names the ceiling.
fn is_wider(own: &EgressPolicy, ceiling: &EgressPolicy) -> bool {
    let has = |policy: &EgressPolicy, word: &str| policy.to_string().split(',').any(|entry| entry == word);
    if has(ceiling, "all") || has(own, "none") {
        return false;
    }
    has(own, "all") || has(ceiling, "none") || (has(own, "public") && !has(ceiling, "public"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "resolve/tests.rs"]
mod tests;
