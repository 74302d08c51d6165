//! What control must remember, in a folder called DATA: which version of an app is active, versions that were uploaded,
//! secrets and tokens, and who is shut away. And uploads themselves: archives from strangers, unpacked with care.
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
//! | how is it kept? | `embedded/` |
//! | what is a good archive? | `upload/` (`path.rs`: names, `tar.rs`, `zip.rs`: formats, `tree.rs`: limits) |
//! | how is a folder sent? | `pack.rs` |
//! | files that hold keys | `keyfile.rs`, `admin.rs` |
//!
//! Everything blocks: callers on an async runtime use its blocking threads.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod activation;
mod admin;
mod cordon;
mod deployment;
pub mod embedded;
mod error;
mod hex;
mod keyfile;
mod pack;
mod secret;
mod token;
pub mod upload;

pub use activation::{Activation, Activations, Release};
pub use admin::{AdminToken, MCP_TOKEN_FILE};
pub use cordon::{Cordon, Cordons};
pub use deployment::{ContentHash, Deleted, Deployment, Deployments, NewDeployment, Revision, Standing};
pub use embedded::Embedded;
pub use error::StoreError;
pub use keyfile::{Note, Origin};
pub use pack::{Dependencies, LOCAL_SECRETS, PackError, Packed, pack};
pub use secret::{SecretFault, Secrets};
pub use token::{PlainToken, Token, TokenHash, TokenId, Tokens};
pub use upload::{Spool, Unpacked, UploadError, UploadLimits, Uploads};

/// All that is remembered.
pub trait Store: Activations + Cordons + Deployments + Secrets + Tokens + Send + Sync {}

impl<S: Activations + Cordons + Deployments + Secrets + Tokens + Send + Sync> Store for S {}
