//! Parsers of configuration: an app's `manifest.yaml` and `.env`, and the operator's `hearth.yaml`.
//!
//! Where to look:
//!
//! | question | file |
//! |---|---|
//! | what may stand in a manifest? in `hearth.yaml`? | `manifest.rs`, `operator.rs`, `sandboxes.rs` |
//! | what did a new text of `hearth.yaml` change? | `diff.rs` |
//! | what does an app get in the end? | `settings.rs`, `resolve.rs` (whose word counts), `ceilings.rs` |
//! | what is wrong, and where? | `error.rs`, `warning.rs` (what is only worth a warning), `suggest.rs` |
//! | how is a file read? | `yaml.rs` (text to nodes), `fields.rs` (nodes by key), `value.rs` (nodes to values) |
//! | what is one value? | `cron.rs`, `otel.rs`, `public_routes.rs`, `rate.rs`, `host.rs`, `relative_path.rs`, `listen.rs`, `name.rs` |
//! | what is in an app's environment? | `dotenv.rs`, `env_filter.rs` |
//!
//! Invariants of all parsers:
//! - Files are untrusted: no input makes this crate panic, recurse without bound or take long.
//! - All errors of a file are reported at once, each with file, line, column and key.
//! - An invalid value is an error; a default never replaces a value that is present.
#![forbid(unsafe_code)]

mod as_text;
mod bindings;
mod ceilings;
mod cron;
mod diff;
mod dotenv;
mod env_filter;
mod error;
mod fields;
mod host;
mod listen;
mod manifest;
mod name;
mod operator;
mod otel;
mod package_json;
mod public_routes;
mod rate;
mod relative_path;
mod resolve;
mod sandboxes;
mod settings;
mod suggest;
mod value;
mod warning;
mod yaml;

pub use bindings::{BindingKind, Bindings};
pub use ceilings::AppCeilings;
pub use cron::{Cron, CronError, CronReason};
pub use diff::changed_keys;
pub use dotenv::{DotenvError, parse_dotenv};
pub use env_filter::{is_sensitive, remove_sensitive};
pub use error::{ConfigError, ConfigErrors, ConfigProblem, Position, SourceLocation};
pub use host::{HostError, HostPattern, HostReason};
pub use listen::{ListenError, parse_listen};
pub use manifest::{Bound, Manifest, Source};
pub use name::InvalidName;
pub use operator::{AccessLog, AdminListen, Certificate, JailMode, LogFormat, MAX_ISOLATES, OperatorConfig};
pub use otel::{EndpointError, Otel, OtlpEndpoint, Ratio, RatioError};
pub use package_json::{PackageIdentity, package_identity};
pub use public_routes::{PublicRoutes, RouteError};
pub use rate::{RateError, RateSpec};
pub use relative_path::RelativePathError;
pub use resolve::{AppOrigin, Layers, Resolved};
pub use sandboxes::{PackageSettings, SandboxDriver, SandboxLimits, SandboxPoolSettings, SandboxSettings, WarmShape};
pub use settings::{Auth, Env, Isolation, Lifetime, Settings, SiteKind};
pub use suggest::nearest;
pub use warning::{Warning, WarningKind};
