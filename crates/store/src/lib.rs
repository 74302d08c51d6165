//! The records of control in a folder called DATA: active versions, uploaded versions, secrets,
//! tokens and cordoned owners. Also the uploads themselves: archives from untrusted clients and
//! their extraction.
//!
//! ```text
//! DATA/hearth.db            the records (SQLite, with -wal and -shm beside it)
//! DATA/lock                 held by the one server that uses this folder
//! DATA/secret.key           what the secrets in hearth.db are encrypted with (0600)
//! DATA/admin.token          the admin API's token (0600)
//! DATA/mcp.token            the token for MCP over HTTP (0600)
//! DATA/apps/NAME@V+rN/      revision N of an uploaded version
//! DATA/uploads/tmp-…        what is being received or thrown away; emptied at every start
//! ```
//!
//! Where to look:
//!
//! | question | file |
//! |---|---|
//! | what is kept, and what can be done with it? | `activation.rs`, `deployment.rs`, `secret.rs`, `token.rs`, `cordon.rs` |
//! | how is it kept? | `sqlite/` |
//! | what is a good archive? | `upload/` (`entry_path.rs`: names, `tar.rs`, `zip.rs`: formats, `extraction.rs`: limits) |
//! | how is a folder sent? | `pack.rs` |
//! | files that hold keys | `key_file.rs`, `token_file.rs` |
//!
//! All calls block: callers on an async runtime use its blocking threads.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod activation;
mod cordon;
mod deployment;
mod error;
mod key_file;
mod pack;
mod random;
mod secret;
pub mod sqlite;
mod token;
mod token_file;
pub mod upload;

pub use activation::{Activation, Activations, ActiveVersion};
pub use cordon::{Cordon, Cordons};
pub use deployment::{Deleted, Deployment, Deployments, NewDeployment, Revision, RevisionState, UploadHash};
pub use error::StoreError;
pub use key_file::{KeyFileOrigin, KeyFileWarning};
pub use pack::{Dependencies, LOCAL_SECRETS, PackError, Packed, pack};
pub use secret::{SecretError, Secrets};
pub use sqlite::SqliteStore;
pub use token::{PlainToken, StoredToken, TokenHash, TokenId, Tokens};
pub use token_file::{AdminToken, MCP_TOKEN_FILE};
pub use upload::{Spool, Unpacked, UploadError, UploadLimits, Uploads};

/// All traits of the store.
pub trait Store: Activations + Cordons + Deployments + Secrets + Tokens + Send + Sync {}

impl<S: Activations + Cordons + Deployments + Secrets + Tokens + Send + Sync> Store for S {}
