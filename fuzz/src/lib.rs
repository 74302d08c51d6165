//! What the fuzz targets check: a plain function of bytes each, which panics where a promise does not hold.
//!
//! These files are compiled twice: here, for libFuzzer (`fuzz_targets/`), and by `crates/fuzz-seeds`, whose test runs the
//! seeds and mutations of them with every `cargo test`, so that no target can rot.
#![forbid(unsafe_code)]

pub mod agent_protocol;
pub mod archive;
pub mod breadcrumbs;
pub mod cron;
pub mod dotenv;
pub mod egress_policy;
pub mod headers;
pub mod http_chunked;
pub mod http_head;
pub mod json;
pub mod manifest;
pub mod module_source;
pub mod module_specifier;
pub mod routes;
pub mod static_files;
pub mod units;
pub mod version_range;
pub mod websocket;
