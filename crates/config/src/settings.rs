//! What an app gets and what it may use, with nothing left open: what control hands to a cell. A zero turns a limit off.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hearth_core::{ByteSize, Limits, Owner};
use hearth_egress::EgressPolicy;
use serde::{Deserialize, Serialize};

use crate::cron::Cron;
use crate::host::HostPattern;
use crate::public_routes::PublicRoutes;
use crate::rate::RateSpec;
use crate::value::Word;
use crate::wire;

/// Names and values, in the order of the names.
pub type Env = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `None`: the app is its own owner.
    pub owner: Option<Owner>,
    /// Within the app's folder. `None`: the first of `index.ts`, `.tsx`, `.js`, `.mjs`, `index.html` that is there.
    pub entrypoint: Option<PathBuf>,
    /// Without what [`remove_sensitive`](crate::remove_sensitive) took away.
    pub env: Env,
    /// Until the response's head.
    pub timeout: Duration,
    /// Longest silence of a response body, request body or WebSocket.
    pub stream_timeout: Duration,
    pub lifetime: Lifetime,
    /// Never above a limited lifetime.
    pub idle_timeout: Duration,
    pub max_requests: Option<u64>,
    /// `None`: as many as threads. [`Settings::workers`] counts the ceiling, too.
    pub max_workers: Option<u16>,
    /// The most that `max_workers` may be, whatever the number of threads.
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
    /// What an HTML entry is.
    pub site: SiteKind,
    /// `None`: where the entry is HTML and the site a single page.
    pub inject_base: Option<bool>,
    pub env_prefix: Vec<String>,
    #[serde(with = "wire::egress")]
    pub egress: EgressPolicy,
    pub hosts: Vec<HostPattern>,
    pub crons: Vec<Cron>,
    /// Within the app's folder.
    pub static_folder: Option<PathBuf>,
}

/// How long a worker may live, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lifetime {
    Unlimited,
    /// `ttl: 0`: a fresh context for each request.
    Ephemeral,
    /// Never zero.
    Limited(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Execution {
    /// The better of the next two.
    Auto,
    Pinned,
    Pooled,
    Oneshot,
    Shared,
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
    /// Requests need one of the app's tokens, but for its public routes.
    Token,
}

/// What an HTML entry is the beginning of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SiteKind {
    /// Many pages where there is a `404.html` beside the entry, else a single-page app.
    Auto,
    /// A single-page app: its router knows every path.
    Spa,
    /// A site of many pages.
    Pages,
}

// === impl Settings ===

impl Settings {
    /// The most workers at once on so many threads.
    pub fn workers(&self, threads: u16) -> u16 {
        self.max_workers.unwrap_or(threads).min(self.workers_ceiling.unwrap_or(u16::MAX))
    }

    /// The limits that the engine keeps; those that no manifest sets are the defaults.
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
    /// What an app gets that says nothing.
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
