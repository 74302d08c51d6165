//! What must outlive JavaScript, and so runs none: the cells' supervision, the catalogue, deploys, crons, the admin API,
//! metrics, logs and the dashboard.
//!
//! | to understand | read |
//! |---|---|
//! | how everything is wired | `server.rs` |
//! | what can be asked for | `action.rs`, carried out by `control.rs`, `control/` |
//! | what is served, and why | `catalogue/`, `install.rs` |
//! | who serves it | `cells/` |
//! | how people and programs reach it | `admin/` |
//! | what is told | `journal.rs`, `event.rs`, `metrics/` |
#![forbid(unsafe_code)]

pub mod action;
pub mod admin;
mod catalogue;
mod cells;
pub mod control;
mod crons;
mod event;
mod install;
mod journal;
mod metrics;
mod server;

pub use journal::Journal;
pub use server::{AdminConfig, ServeConfig, ServeError, serve};
