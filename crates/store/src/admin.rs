//! The admin API's token, in `DATA/admin.token`, and that of MCP over HTTP, in `DATA/mcp.token`. They can be read while a
//! server runs: that is how the command line finds the first.

use std::path::Path;

use crate::error::StoreError;
use crate::hex;
use crate::keyfile::{self, KeyFile, Note, Origin};
use crate::token::PlainToken;

const FILE: &str = "admin.token";
pub const MCP_TOKEN_FILE: &str = "mcp.token";

#[derive(Debug)]
pub struct AdminToken {
    pub token: PlainToken,
    pub origin: Origin,
    pub note: Option<Note>,
}

impl AdminToken {
    /// The token that is there; `None` if no server has made one yet.
    pub fn read(data: &Path) -> Result<Option<Self>, StoreError> {
        let path = data.join(FILE);
        keyfile::read(&path)?.map(|file| Self::from_file(file, &path)).transpose()
    }

    /// The token that is there, or a new one: 24 random bytes, in hexadecimal.
    pub fn read_or_make(data: &Path) -> Result<Self, StoreError> {
        Self::read_or_make_at(&data.join(FILE))
    }

    /// The same for MCP: who runs code in sandboxes need not administer the server.
    pub fn read_or_make_for_mcp(data: &Path) -> Result<Self, StoreError> {
        Self::read_or_make_at(&data.join(MCP_TOKEN_FILE))
    }

    fn read_or_make_at(path: &Path) -> Result<Self, StoreError> {
        let file = keyfile::read_or_make(path, || Ok(hex::encode(&hex::random::<24>()?)))?;
        Self::from_file(file, path)
    }

    fn from_file(file: KeyFile, path: &Path) -> Result<Self, StoreError> {
        // It must fit into a header as it is.
        if !file.text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(StoreError::AdminToken { path: path.to_owned() });
        }
        Ok(Self { token: PlainToken::new(file.text), origin: file.origin, note: file.note })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_on_first_use_and_kept() {
        let temp = tempfile::tempdir().unwrap();
        assert!(AdminToken::read(temp.path()).unwrap().is_none());
        let made = AdminToken::read_or_make(temp.path()).unwrap();
        assert_eq!((made.origin, made.token.reveal().len()), (Origin::Made, 48));
        assert_ne!(AdminToken::read_or_make_for_mcp(temp.path()).unwrap().token, made.token);
        let found = AdminToken::read(temp.path()).unwrap().unwrap();
        assert_eq!((found.origin, found.token), (Origin::Found, made.token));
        assert!(
            !format!("{:?}", AdminToken::read(temp.path()))
                .contains(AdminToken::read_or_make(temp.path()).unwrap().token.reveal())
        );
    }

    #[test]
    fn one_that_fits_no_header_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(FILE), "two words").unwrap();
        assert!(matches!(AdminToken::read(temp.path()), Err(StoreError::AdminToken { .. })));
    }
}
