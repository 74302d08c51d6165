//! What a crashing process leaves behind, so that its supervisor knows which request did it. Contains
//! `unsafe` code: a shared page, and a signal handler.
//!
//! | file | what it holds |
//! |---|---|
//! | `breadcrumbs.rs` | a shared page that says what each thread is running, and outlives a crash |
//! | `crash_handler.rs` | the handler of fatal signals: marks the crashed thread in the page and alarms the supervisor |

pub mod breadcrumbs;
pub mod crash_handler;
