//! Responses of the admin API, as far as they are shown. Unknown fields of a newer server are ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::RemoteError;

#[derive(Debug, Deserialize)]
pub(super) struct Catalogue {
    pub(super) apps: Vec<App>,
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
pub(super) struct App {
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) active: Option<String>,
    pub(super) versions: Vec<Version>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
    #[serde(default)]
    pub(super) active: bool,
    pub(super) kind: String,
    pub(super) state: State,
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    pub(super) folder: String,
    pub(super) source: String,
    pub(super) revision: Option<u64>,
    pub(super) revisions: Option<u64>,
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    #[serde(default)]
    pub(super) crons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Served,
    Installing,
    Failed,
}

#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    pub(super) app: Option<String>,
    pub(super) version: Option<String>,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) revision: u64,
    pub(super) files: u64,
    pub(super) size: u64,
    pub(super) active: Option<String>,
    /// A server that says nothing of it serves apps by path.
    pub(super) addresses: Option<Addresses>,
    pub(super) state: State,
}

/// Where clients find an app; none where nothing leads there.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Addresses {
    /// Of the active version.
    pub(super) active: Option<String>,
    pub(super) version: Option<String>,
}

impl Uploaded {
    pub(super) fn addresses(&self) -> Addresses {
        let by_path = || Addresses {
            active: Some(format!("/{}/", self.name)),
            version: Some(format!("/{}@{}/", self.name, self.version)),
        };
        self.addresses.clone().unwrap_or_else(by_path)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Activated {
    pub(super) name: String,
    pub(super) active: String,
    pub(super) revision: Option<u64>,
    /// Why its modules cannot be loaded.
    pub(super) failing: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Deleted {
    pub(super) name: String,
    pub(super) deleted: Vec<String>,
    /// How many were deleted with the last version.
    pub(super) secrets: usize,
    pub(super) tokens: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Worker {
    pub(super) id: String,
    pub(super) app: String,
    pub(super) version: String,
    pub(super) status: String,
    pub(super) age_ms: u64,
    pub(super) idle_ms: u64,
    pub(super) request_count: u64,
    pub(super) error_count: u64,
    pub(super) avg_response_time_ms: f64,
    pub(super) memory_bytes: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pool {
    pub(super) total: u64,
    pub(super) cached: u64,
    pub(super) capacity: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) created: u64,
    pub(super) live: u64,
    pub(super) evictions: u64,
    pub(super) running: u64,
    pub(super) queued: u64,
    pub(super) spares: Spares,
    pub(super) memory: Memory,
    pub(super) owners: BTreeMap<String, OwnerPool>,
    #[serde(default)]
    pub(super) stuck: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Spares {
    pub(super) wanted: u64,
    pub(super) ready: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Memory {
    pub(super) heaps: u64,
    pub(super) heaps_budget: u64,
    pub(super) buffers: u64,
    pub(super) budget: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct OwnerPool {
    pub(super) running: u64,
    pub(super) queued: u64,
    pub(super) entered: u64,
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) cached: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metrics {
    pub(super) active_workers: u64,
    pub(super) avg_response_time_ms: f64,
    pub(super) evictions: u64,
    pub(super) hit_rate: f64,
    #[serde(rename = "memoryUsageMB")]
    pub(super) memory_usage_mb: f64,
    pub(super) requests_per_second: f64,
    pub(super) total_requests: u64,
    pub(super) total_workers_created: u64,
    pub(super) total_workers_failed: u64,
    pub(super) total_workers_retired: u64,
    pub(super) uptime_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Crashes {
    pub(super) crashes: Vec<Crash>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Crash {
    pub(super) time: u64,
    pub(super) cell: u64,
    pub(super) status: String,
    #[serde(default)]
    pub(super) last_words: Vec<String>,
    /// The app that crashed the cell, if it is known.
    pub(super) app: Option<String>,
    pub(super) version: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) phase: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cordons {
    pub(super) cordons: Vec<Cordon>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cordon {
    pub(super) owner: String,
    pub(super) why: String,
    pub(super) state: String,
    pub(super) since: Option<u64>,
    pub(super) until: Option<u64>,
    pub(super) cell: Option<u64>,
    #[serde(default)]
    pub(super) losses: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Lines {
    pub(super) lines: Vec<hearth_log::LogRecord>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Happened {
    pub(super) events: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reloaded {
    pub(super) changed: Vec<String>,
    pub(super) needs_restart: Vec<String>,
    /// `kept` or `renewed`
    pub(super) certificates: String,
    /// `kept` or `replaced`
    pub(super) cells: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Secrets {
    pub(super) secrets: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tokens {
    pub(super) tokens: Vec<Token>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Token {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) created_at: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct NewToken {
    pub(super) id: String,
    pub(super) token: String,
    /// Whether the app requires tokens at all.
    #[serde(default = "yes")]
    pub(super) asked: bool,
}

/// The default for servers that do not send `asked`: they always require the token.
fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskResult {
    pub(super) success: bool,
    #[serde(default)]
    pub(super) data: serde_json::Value,
    pub(super) error: Option<String>,
}

/// The response of `hearth sandbox ls`.
#[derive(Debug, Deserialize)]
pub(super) struct SandboxList {
    pub(super) sandboxes: Vec<Sandbox>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sandbox {
    pub(super) sandbox_id: String,
    pub(super) state: String,
    pub(super) owner: String,
    pub(super) created_at: String,
    pub(super) idle_ms: u64,
    pub(super) jobs: usize,
    pub(super) memory_mib: u64,
    pub(super) memory_used: Option<u64>,
}

/// A page of a folder in a sandbox.
#[derive(Debug, Deserialize)]
pub(super) struct SandboxFolder {
    pub(super) entries: Vec<SandboxFile>,
    #[serde(default)]
    pub(super) next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SandboxFile {
    pub(super) name: String,
    /// `file`, `directory`, `symlink` or `other`
    pub(super) kind: String,
    /// Permissions in octal.
    pub(super) mode: String,
}

/// The exit code of `timeout`.
const TIMED_OUT: u8 = 124;

/// The result of a command in a sandbox.
#[derive(Debug, Deserialize)]
pub(super) struct RunResult {
    pub(super) exit_code: i32,
    pub(super) signal: Option<String>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) timed_out: bool,
    #[serde(default)]
    pub(super) session_lost: bool,
}

impl RunResult {
    /// The end of the command as a shell reports it: by its exit code, without a message.
    pub(super) fn ending(&self) -> Result<(), RemoteError> {
        let code = u8::try_from(self.exit_code).unwrap_or(1);
        match &self.signal {
            _ if self.timed_out => {
                let why = "it was still running at its deadline, and was ended: give it longer with --timeout";
                Err(RemoteError::Command { code: TIMED_OUT, why: Some(why.to_owned()) })
            }
            Some(signal) => Err(RemoteError::Command { code, why: Some(format!("it was ended by {signal}")) }),
            None if code != 0 => Err(RemoteError::Command { code, why: None }),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct SandboxStats {
    pub(super) held: usize,
    pub(super) limit: usize,
    pub(super) ready: usize,
    pub(super) booting: usize,
    pub(super) warm_hits: u64,
    pub(super) cold_misses: u64,
    pub(super) created: u64,
    pub(super) destroyed: u64,
    pub(super) failed: u64,
    pub(super) health: SandboxHealth,
}

#[derive(Debug, Deserialize)]
pub(super) struct SandboxHealth {
    pub(super) status: String,
    #[serde(default)]
    pub(super) reasons: Vec<String>,
}
