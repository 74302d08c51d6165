//! What must outlive JavaScript, and so runs none: the cells' supervision, the catalogue, deploys, crons, the admin API,
//! metrics, logs and the dashboard.
//!
//! | to understand | read |
//! |---|---|
//! | how everything is wired | `server.rs` |
//! | what can be asked for | `action.rs`, carried out by `control.rs`, `control/` |
//! | what is served, and why | `catalogue/`, `install.rs` |
//! | who serves it, and what of the disk it can read | `cells/`, `reach.rs` |
//! | how people and programs reach it | `admin/` |
//! | places for agents' code | `sandboxes/` |
//! | what the operator wants, and how it changes | `configuration.rs`, `control/reload.rs` |
//! | what is told | `journal.rs`, `event.rs`, `metrics/`, `otel/` |
#![forbid(unsafe_code)]

pub mod action;
pub mod admin;
mod catalogue;
mod configuration;
pub mod control;
mod crons;
mod event;
mod install;
mod journal;
mod metrics;
mod otel;
mod reach;
pub mod sandboxes;
mod server;

pub use configuration::{Configuration, ConfigurationError, ConfigurationSource, check_certificates};
pub use control::{CHECKED, Remembered, Successor};
pub use journal::Journal;
pub use server::{AdminConfig, Ended, Inherited, ServeConfig, ServeError, serve};
