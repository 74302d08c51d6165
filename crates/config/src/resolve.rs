//! Whose word counts. Above: what the operator says about this app. Then the app's manifest, then what the operator says about
//! all apps, then the built-in defaults. For `env` it is each name that counts, and `.env` lies above the manifest.
//!
//! What an app may not decide:
//! - more than the operator's ceilings (see [`Ceilings`]);
//! - its owner and its hosts, where it was uploaded: the operator does not know what is in it.

use std::fmt;
use std::time::Duration;

use hearth_core::Owner;
use hearth_egress::EgressPolicy;

use crate::ceilings::Ceilings;
use crate::error::{ConfigError, ConfigErrors, Problem};
use crate::filter::remove_sensitive;
use crate::manifest::{Bound, Manifest, is_below};
use crate::notice::{Notice, Warning};
use crate::settings::{Env, Lifetime, Settings};

/// All that is said about one app.
#[derive(Clone, Debug)]
pub struct Layers<'a> {
    /// `apps.NAME` of `hearth.yaml`.
    pub app: Option<&'a Manifest>,
    pub manifest: &'a Manifest,
    /// What `.env` beside the manifest says.
    pub dotenv: Option<&'a Env>,
    /// `defaults` of `hearth.yaml`.
    pub defaults: Option<&'a Manifest>,
    pub origin: Origin,
}

/// How an app came here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It lies in a folder that the operator serves.
    Served,
    /// Somebody sent it; the owner is who that was.
    Uploaded { owner: Option<Owner> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub settings: Settings,
    pub warnings: Vec<Warning>,
}

impl Settings {
    /// Fails where values that are each right do not go together.
    pub fn resolve(layers: &Layers<'_>, ceilings: &Ceilings) -> Result<Resolved, ConfigErrors> {
        Resolver { layers, warnings: Vec::new() }.resolve(ceilings)
    }
}

struct Resolver<'a> {
    layers: &'a Layers<'a>,
    warnings: Vec<Warning>,
}

/// A value, and who said it.
struct Said<'a, T> {
    value: T,
    by: &'a Manifest,
    rank: Rank,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// The operator, about this app.
    Operator,
    Manifest,
    Defaults,
}

/// What turns a limit off.
trait Zero: Copy + PartialOrd + Default + fmt::Debug {}
impl<T: Copy + PartialOrd + Default + fmt::Debug> Zero for T {}

// === impl Resolver ===

impl<'a> Resolver<'a> {
    fn resolve(mut self, ceilings: &Ceilings) -> Result<Resolved, ConfigErrors> {
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
        };
        Ok(Resolved { settings, warnings: self.warnings })
    }

    /// What the highest layer says that says something.
    fn said<T>(&self, get: impl Fn(&Manifest) -> Option<T>) -> Option<Said<'a, T>> {
        let Layers { app, manifest, defaults, .. } = self.layers;
        let layers = [(*app, Rank::Operator), (Some(*manifest), Rank::Manifest), (*defaults, Rank::Defaults)];
        layers.into_iter().find_map(|(layer, rank)| Some(Said { value: get(layer?)?, by: layer?, rank }))
    }

    fn get<T>(&self, get: impl Fn(&Manifest) -> Option<T>) -> Option<T> {
        self.said(get).map(|said| said.value)
    }

    fn warn(&mut self, by: &Manifest, key: &str, notice: Notice) {
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
            Some(Said { rank: Rank::Operator, .. }) => return value,
            Some(said) => self.warn(said.by, key, capped(&value, &ceiling)),
            // Nobody asked for more than there is.
            None => {}
        }
        ceiling
    }

    fn max_workers(&mut self, ceilings: &Ceilings) -> Option<u16> {
        let said = self.said(|m| m.max_workers)?;
        let value = Option::from(said.value);
        match (value, ceilings.max_workers.filter(|ceiling| *ceiling > 0)) {
            (Some(workers), Some(ceiling)) if workers > ceiling && said.rank != Rank::Operator => {
                self.warn(said.by, "maxWorkers", capped(&workers, &ceiling));
                Some(ceiling)
            }
            _ => value,
        }
    }

    /// For the number of threads, which nobody knows here; a number that the operator gave this app stands above it.
    fn workers_ceiling(&self, ceilings: &Ceilings) -> Option<u16> {
        let named = self.said(|m| m.max_workers).is_some_and(|said| said.rank == Rank::Operator);
        ceilings.max_workers.filter(|ceiling| *ceiling > 0 && !named)
    }

    fn idle_timeout(&mut self, default: Duration, lifetime: Lifetime) -> Duration {
        let said = self.said(|m| m.idle_timeout);
        let idle = said.as_ref().map_or(default, |said| said.value);
        match lifetime {
            Lifetime::Limited(ttl) if idle > ttl => {
                if let Some(said) = said {
                    self.warn(said.by, "idleTimeout", Notice::IdleAboveTtl { idle, ttl });
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
            Origin::Served => above.or_else(|| manifest.owner.clone()).or(below),
            Origin::Uploaded { owner } => {
                let owner = above.or_else(|| owner.clone()).or(below);
                if manifest.owner.is_some() && manifest.owner != owner {
                    self.warn(manifest, "owner", Notice::UploadedOwner);
                }
                owner
            }
        }
    }

    fn hosts(&mut self) -> Vec<crate::HostPattern> {
        let Layers { app, manifest, origin, .. } = self.layers;
        let granted = app.and_then(|app| app.hosts.clone());
        if *origin == Origin::Served {
            return granted.or_else(|| manifest.hosts.clone()).unwrap_or_default();
        }
        let granted = granted.unwrap_or_default();
        if manifest.hosts.iter().flatten().any(|host| !granted.contains(host)) {
            self.warn(manifest, "hosts", Notice::UploadedHosts);
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
            self.warn(manifest, "env", Notice::Sensitive { names });
        }
        env
    }

    fn egress(&mut self, default: EgressPolicy, ceilings: &Ceilings) -> EgressPolicy {
        let said = self.said(|m| m.egress.clone());
        let uploaded = (self.layers.origin != Origin::Served).then(EgressPolicy::public);
        let ceiling = ceilings.egress.clone().or(uploaded).unwrap_or_else(EgressPolicy::all);
        match said {
            None => default.within(&ceiling),
            Some(Said { value, rank: Rank::Operator, .. }) => value,
            Some(Said { value, by, .. }) => {
                if is_wider(&value, &ceiling) {
                    let notice = Notice::Capped { value: value.to_string(), ceiling: ceiling.to_string() };
                    self.warn(by, "egress", notice);
                }
                value.within(&ceiling)
            }
        }
    }
}

fn capped<T: Zero>(value: &T, ceiling: &T) -> Notice {
    let value = if *value == T::default() { "off".to_owned() } else { format!("{value:?}") };
    Notice::Capped { value, ceiling: format!("{ceiling:?}") }
}

fn outlives(said: Said<'_, Lifetime>, timeout: Duration) -> Result<Lifetime, ConfigErrors> {
    match said.value {
        Lifetime::Limited(ttl) if is_below(ttl, timeout) => {
            Err(ConfigError { place: said.by.place("ttl"), problem: Problem::TtlBelowTimeout { ttl, timeout } }.into())
        }
        lifetime => Ok(lifetime),
    }
}

/// Whether a policy plainly asks for more than its ceiling. Single hosts are not judged: what is denied says so when it is
/// tried, and names the ceiling.
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
