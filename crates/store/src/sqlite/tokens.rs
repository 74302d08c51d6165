//! Tokens at rest: hashes only.

use hearth_core::AppName;
use rusqlite::params;

use crate::error::StoreError;
use crate::token::{PlainToken, StoredToken, TokenHash, TokenId, Tokens};

use super::{SqliteStore, now, time};

impl Tokens for SqliteStore {
    fn add_token(&self, app: &AppName, label: &str) -> Result<(TokenId, PlainToken), StoreError> {
        let token = PlainToken::random()?;
        let hash = TokenHash::from_token(token.reveal());
        self.database.write(|db| {
            db.execute(
                "INSERT INTO tokens (app, label, hash, created_at) VALUES (?, ?, ?, ?)",
                params![app.as_str(), label, hash.0, now()],
            )?;
            Ok((id(db.last_insert_rowid()), token))
        })
    }

    fn delete_token(&self, app: &AppName, id: TokenId) -> Result<(), StoreError> {
        let missing = || StoreError::NoToken { app: app.clone(), id };
        let key = i64::try_from(id.0).map_err(|_| missing())?;
        self.database.write(|db| {
            match db.execute("DELETE FROM tokens WHERE app = ? AND id = ?", params![app.as_str(), key])? {
                0 => Err(missing().into()),
                _ => Ok(()),
            }
        })
    }

    fn tokens(&self, app: &AppName) -> Result<Vec<StoredToken>, StoreError> {
        self.database.read(|db| {
            let mut rows = db.prepare("SELECT id, label, created_at FROM tokens WHERE app = ? ORDER BY id")?;
            let tokens = rows.query_map([app.as_str()], |row| {
                Ok(StoredToken { id: id(row.get(0)?), label: row.get(1)?, created_at: time(row.get(2)?) })
            })?;
            Ok(tokens.collect::<Result<_, _>>()?)
        })
    }

    fn token_hashes(&self, app: &AppName) -> Result<Vec<TokenHash>, StoreError> {
        self.database.read(|db| {
            let mut rows = db.prepare("SELECT hash FROM tokens WHERE app = ? ORDER BY id")?;
            let hashes = rows.query_map([app.as_str()], |row| Ok(TokenHash(row.get(0)?)))?;
            Ok(hashes.collect::<Result<_, _>>()?)
        })
    }
}

fn id(kept: i64) -> TokenId {
    TokenId(u64::try_from(kept).unwrap_or(0))
}
