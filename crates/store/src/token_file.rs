//! The admin API's token in `DATA/admin.token`, and the token of MCP over HTTP in `DATA/mcp.token`.
//! The files can be read while a server runs, which is how the command line finds the first.

use std::path::Path;

use crate::error::StoreError;
use crate::key_file::{self, KeyFile, KeyFileOrigin, KeyFileWarning};
use crate::random::random;
use crate::token::PlainToken;
use hearth_core::hex;

const FILE: &str = "admin.token";
pub const MCP_TOKEN_FILE: &str = "mcp.token";

#[derive(Debug)]
pub struct AdminToken {
    pub token: PlainToken,
    pub origin: KeyFileOrigin,
    pub warning: Option<KeyFileWarning>,
}

impl AdminToken {
    /// The existing token; `None` if no server has made one yet.
    pub fn read(data: &Path) -> Result<Option<Self>, StoreError> {
        let path = data.join(FILE);
        key_file::read(&path)?.map(|file| Self::from_file(file, &path)).transpose()
    }

    /// The existing token, or a new one of 24 random bytes in hexadecimal.
    pub fn read_or_create(data: &Path) -> Result<Self, StoreError> {
        Self::read_or_create_at(&data.join(FILE))
    }

    /// The same for MCP: its clients run code in sandboxes and need no access to the admin API.
    pub fn read_or_create_for_mcp(data: &Path) -> Result<Self, StoreError> {
        Self::read_or_create_at(&data.join(MCP_TOKEN_FILE))
    }

    fn read_or_create_at(path: &Path) -> Result<Self, StoreError> {
        let create = || Ok(hex::encode(&random::<24>()?));
        let file = match key_file::read_or_create(path, create) {
            // A server whose data folder cannot be written to serves nevertheless.
            Err(error) if error.is_unwritable() && !path.exists() => KeyFile {
                text: create()?,
                origin: KeyFileOrigin::Created,
                warning: Some(KeyFileWarning::KeyNotKept { path: path.to_owned(), reason: error.to_string() }),
            },
            file => file?,
        };
        Self::from_file(file, path)
    }

    fn from_file(file: KeyFile, path: &Path) -> Result<Self, StoreError> {
        // It must be a valid header value.
        if !file.text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(StoreError::AdminToken { path: path.to_owned() });
        }
        Ok(Self { token: PlainToken::new(file.text), origin: file.origin, warning: file.warning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_on_first_use_and_kept() {
        let temp = tempfile::tempdir().unwrap();
        assert!(AdminToken::read(temp.path()).unwrap().is_none());
        let made = AdminToken::read_or_create(temp.path()).unwrap();
        assert_eq!((made.origin, made.token.reveal().len()), (KeyFileOrigin::Created, 48));
        assert_ne!(AdminToken::read_or_create_for_mcp(temp.path()).unwrap().token, made.token);
        let found = AdminToken::read(temp.path()).unwrap().unwrap();
        assert_eq!((found.origin, found.token), (KeyFileOrigin::Found, made.token));
        assert!(
            !format!("{:?}", AdminToken::read(temp.path()))
                .contains(AdminToken::read_or_create(temp.path()).unwrap().token.reveal())
        );
    }

    #[test]
    fn a_token_that_is_no_header_value_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(FILE), "two words").unwrap();
        assert!(matches!(AdminToken::read(temp.path()), Err(StoreError::AdminToken { .. })));
    }
}
