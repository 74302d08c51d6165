//! The complete settings of an app, as control sends them to a cell. Zero turns a limit off.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hearth_core::execution::Execution;
use hearth_core::{ByteSize, Limits, Owner};
use hearth_egress_policy::EgressPolicy;
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::bindings::Bindings;
use crate::cron::Cron;
use crate::host::HostPattern;
use crate::public_routes::PublicRoutes;
use crate::rate::RateSpec;
use crate::value::Word;

/// Names and values, sorted by name.
pub type Env = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `None`: the app is its own owner.
    pub owner: Option<Owner>,
    /// Within the app's folder. `None`: the first of `index.ts`, `.tsx`, `.js`, `.mjs`,
    /// `index.html` that exists.
    pub entrypoint: Option<PathBuf>,
    /// Without the names that [`remove_sensitive`](crate::remove_sensitive) removed.
    pub env: Env,
    /// Until the response's head.
    pub timeout: Duration,
    /// The longest silence of a response body, request body or WebSocket.
    pub stream_timeout: Duration,
    pub lifetime: Lifetime,
    /// Never above a limited lifetime.
    pub idle_timeout: Duration,
    pub max_requests: Option<u64>,
    /// `None`: as many as threads. [`Settings::workers`] applies the ceiling, too.
    pub max_workers: Option<u16>,
    /// The maximum of `max_workers`, regardless of the number of threads.
    pub workers_ceiling: Option<u16>,
    /// Never zero.
    pub max_body_size: ByteSize,
    pub memory: ByteSize,
    pub cpu: Duration,
    pub concurrency: u32,
    pub execution: Execution,
    pub isolation: Isolation,
    /// Per client.
    pub rate_limit: Option<RateSpec>,
    pub low_memory: bool,
    pub auth: Auth,
    pub public_routes: PublicRoutes,
    pub auto_install: bool,
    /// The kind of an HTML entry.
    pub site: SiteKind,
    /// `None`: if the entry is HTML and the site a single-page app.
    pub inject_base: Option<bool>,
    pub env_prefix: Vec<String>,
    #[serde(with = "as_text::egress")]
    pub egress: EgressPolicy,
    pub hosts: Vec<HostPattern>,
    pub crons: Vec<Cron>,
    /// Within the app's folder.
    pub static_folder: Option<PathBuf>,
    pub bindings: Bindings,
}

/// The maximum lifetime of a worker, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lifetime {
    Unlimited,
    /// `ttl: 0`: a fresh context for each request.
    Ephemeral,
    /// Never zero.
    Limited(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    Shared,
    /// A cell of its own.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Auth {
    None,
    /// Requests need one of the app's tokens, except for its public routes.
    Token,
}

/// The kind of site that an HTML entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SiteKind {
    /// Multi-page if there is a `404.html` beside the entry, else a single-page app.
    Auto,
    /// A single-page app, whose router knows all paths.
    Spa,
    /// A multi-page site.
    Pages,
}

// === impl Settings ===

impl Settings {
    /// The maximum of concurrent workers on this number of threads.
    pub fn workers(&self, threads: u16) -> u16 {
        self.max_workers.unwrap_or(threads).min(self.workers_ceiling.unwrap_or(u16::MAX))
    }

    /// The limits that the engine enforces; those that no manifest sets are the defaults.
    pub fn limits(&self) -> Limits {
        Limits {
            cpu: self.cpu,
            wall: self.timeout,
            stream_silence: self.stream_timeout,
            heap: self.memory,
            concurrency: self.concurrency,
            ..Limits::default()
        }
    }
}

impl Default for Settings {
    /// The built-in defaults.
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            owner: None,
            entrypoint: None,
            env: Env::new(),
            timeout: limits.wall,
            stream_timeout: limits.stream_silence,
            lifetime: Lifetime::Unlimited,
            idle_timeout: Duration::from_secs(60),
            max_requests: None,
            max_workers: None,
            workers_ceiling: None,
            max_body_size: ByteSize::mb(10),
            memory: limits.heap,
            cpu: limits.cpu,
            concurrency: limits.concurrency,
            execution: Execution::Auto,
            isolation: Isolation::Shared,
            rate_limit: None,
            low_memory: false,
            auth: Auth::None,
            public_routes: PublicRoutes::default(),
            auto_install: false,
            site: SiteKind::Auto,
            inject_base: None,
            env_prefix: vec!["PUBLIC_".to_owned(), "VITE_".to_owned()],
            egress: EgressPolicy::public(),
            hosts: Vec::new(),
            crons: Vec::new(),
            static_folder: None,
            bindings: Bindings::new(),
        }
    }
}

// === words ===

impl Word for Execution {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("pinned", Self::Pinned),
        ("pooled", Self::Pooled),
        ("oneshot", Self::Oneshot),
        ("shared", Self::Shared),
    ];
}

impl Word for Isolation {
    const WORDS: &'static [(&'static str, Self)] = &[("shared", Self::Shared), ("process", Self::Process)];
}

impl Word for Auth {
    const WORDS: &'static [(&'static str, Self)] = &[("none", Self::None), ("token", Self::Token)];
}

impl Word for SiteKind {
    const WORDS: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("spa", Self::Spa), ("pages", Self::Pages)];
}
