//! What people write, read: an app's `manifest.yaml`, its `.env`, the operator's `hearth.yaml`.
//!
//! Where to look:
//!
//! | question | file |
//! |---|---|
//! | what may stand in a manifest? in `hearth.yaml`? | `manifest.rs`, `operator.rs`, `sandboxes.rs` |
//! | what did a new text of `hearth.yaml` change? | `changes.rs` |
//! | what does an app get in the end? | `settings.rs`, `resolve.rs` (whose word counts), `ceilings.rs` |
//! | what is wrong, and where? | `error.rs`, `notice.rs` (what is only worth a warning), `nearest.rs` |
//! | how is a file read? | `yaml.rs` (text to nodes), `fields.rs` (nodes by key), `value.rs` (nodes to values) |
//! | what is one value? | `cron.rs`, `otel.rs`, `public_routes.rs`, `rate.rs`, `host.rs`, `inside.rs`, `listen.rs`, `name.rs` |
//! | what is in an app's environment? | `dotenv.rs`, `filter.rs` |
//!
//! Invariants that hold across files:
//! - Files come from anybody: no input makes this crate panic, recurse without bound or take more than a moment.
//! - All that is wrong with a file is said at once, each with its file, line, column and key.
//! - A value that is not understood is an error; no default ever takes the place of something that somebody wrote.
#![forbid(unsafe_code)]

mod ceilings;
mod changes;
mod cron;
mod dotenv;
mod error;
mod fields;
mod filter;
mod host;
mod identity;
mod inside;
mod listen;
mod manifest;
mod name;
mod nearest;
mod notice;
mod operator;
mod otel;
mod public_routes;
mod rate;
mod resolve;
mod sandboxes;
mod settings;
mod value;
mod wire;
mod yaml;

pub use ceilings::Ceilings;
pub use changes::changed_keys;
pub use cron::{Cron, CronError, CronReason};
pub use dotenv::{DotenvError, parse_dotenv};
pub use error::{ConfigError, ConfigErrors, Place, Position, Problem};
pub use filter::{is_sensitive, remove_sensitive};
pub use host::{HostError, HostPattern, HostReason};
pub use identity::{PackageIdentity, package_identity};
pub use inside::PathError;
pub use listen::{ListenError, parse_listen};
pub use manifest::{Bound, Manifest, Source};
pub use name::NameError;
pub use nearest::nearest;
pub use notice::{Notice, Warning};
pub use operator::{AccessLog, Admin, Certificate, JailMode, LogFormat, MAX_ISOLATES, OperatorConfig};
pub use otel::{EndpointError, Otel, OtlpEndpoint, Ratio, RatioError};
pub use public_routes::{PublicRoutes, RouteError};
pub use rate::{RateError, RateSpec};
pub use resolve::{Layers, Origin, Resolved};
pub use sandboxes::{PackageSettings, SandboxDriver, SandboxLimits, SandboxPoolSettings, SandboxSettings, WarmShape};
pub use settings::{Auth, Env, Execution, Isolation, Lifetime, Settings, SiteKind};
