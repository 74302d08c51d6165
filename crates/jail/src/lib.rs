//! What a jailed process gives up. Contains `unsafe` code: system calls without a wrapper in the
//! standard library.
//!
//! | file | what it holds |
//! |---|---|
//! | `privileges.rs` | gives up capabilities and new privileges |
//! | `landlock.rs` | Landlock rulesets: reachable files, ports and processes |
//! | `seccomp/` | seccomp filters: allowed system calls |
//! | `kernel_features.rs` | which of these features the running kernel has |
//! | `escape_probe.rs` | tries what a jailed process must not be able to do |

pub mod escape_probe;
pub mod kernel_features;
pub mod landlock;
pub mod privileges;
pub mod seccomp;
