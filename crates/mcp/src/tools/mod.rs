//! What agents can do, one entry for each tool: its name, what it is for, what it takes and gives, and who carries it out.
//!
//! | file | |
//! |---|---|
//! | `entry.rs` | what a tool is |
//! | `sandboxes.rs` | create, destroy, list, look at one |
//! | `run.rs` | code and commands, waited for |
//! | `jobs.rs` | commands that go on meanwhile |
//! | `files.rs` | a sandbox's files, and links to them |

mod entry;
mod files;
mod jobs;
mod run;
mod sandboxes;

pub(crate) use entry::{Call, Done, call, list};
