//! The control process, which runs no JavaScript so that it survives crashes of cells: catalogue, deploys, crons, the admin
//! API, metrics, logs and the dashboard. Cells are supervised by `hearth-supervisor`.
//!
//! | to understand | read |
//! |---|---|
//! | how the parts are wired | `server.rs` |
//! | what the admin API can do | `action.rs`, executed by `control.rs`, `control/` |
//! | what is served, and why | `catalogue/`, `install.rs` |
//! | what cells may read of the disk | `readable_paths.rs` |
//! | the admin API and the dashboard | `admin/` |
//! | sandboxes for agents | `sandboxes/` |
//! | the operator's configuration and its reload | `configuration.rs`, `control/reload.rs` |
//! | logs, events, metrics, traces | `log_store.rs`, `event.rs`, `metrics/`, `otel/` |
#![forbid(unsafe_code)]

pub mod action;
pub mod admin;
mod catalogue;
mod configuration;
pub mod control;
mod crons;
mod event;
mod install;
mod log_store;
mod metrics;
mod otel;
mod readable_paths;
pub mod sandboxes;
mod server;

pub use configuration::{Configuration, ConfigurationError, ConfigurationSource, check_certificates};
pub use control::{CHECK_OUTPUT, ControlState, UpgradeTarget};
pub use log_store::LogStore;
pub use server::{AdminConfig, Inherited, ServeConfig, ServeError, ServerEnd, serve};
