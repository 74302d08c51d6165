//! Secrets at rest, and the key file that decrypts them.

use std::path::Path;

use hearth_core::AppName;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::StoreError;
use crate::key_file::{self, KeyFileWarning};
use crate::random::random;
use crate::secret::{self, Secrets};
use hearth_core::hex;

use super::SqliteStore;
use super::cipher::{Cipher, Ciphertext, SecretBinding};
use super::database::{Database, Fault};

const MARK: &[u8] = b"hearth";

impl Secrets for SqliteStore {
    fn set_secret(&self, app: &AppName, name: &str, value: &str) -> Result<(), StoreError> {
        secret::check(name, value)?;
        let sealed = self.cipher.seal(&SecretBinding::Secret { app: app.as_str(), name }, value.as_bytes())?;
        self.database.write(|db| {
            db.execute(
                "INSERT INTO secrets (app, name, nonce, value) VALUES (?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET nonce = excluded.nonce, value = excluded.value",
                params![app.as_str(), name, sealed.nonce, sealed.value],
            )?;
            Ok(())
        })
    }

    fn delete_secret(&self, app: &AppName, name: &str) -> Result<(), StoreError> {
        self.database.write(|db| {
            match db.execute("DELETE FROM secrets WHERE app = ? AND name = ?", [app.as_str(), name])? {
                0 => Err(StoreError::NoSecret { app: app.clone(), name: name.to_owned() }.into()),
                _ => Ok(()),
            }
        })
    }

    fn secret_names(&self, app: &AppName) -> Result<Vec<String>, StoreError> {
        self.database.read(|db| {
            let mut names = db.prepare("SELECT name FROM secrets WHERE app = ? ORDER BY name")?;
            Ok(names.query_map([app.as_str()], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
    }

    fn secrets(&self, app: &AppName) -> Result<Vec<(String, String)>, StoreError> {
        self.database.read(|db| {
            let mut rows = db.prepare("SELECT nonce, value, name FROM secrets WHERE app = ? ORDER BY name")?;
            let mut secrets = Vec::new();
            for row in rows.query_map([app.as_str()], |row| Ok((sealed(row)?, row.get::<_, String>(2)?)))? {
                let (sealed, name) = row?;
                let plain = self.cipher.open(&SecretBinding::Secret { app: app.as_str(), name: &name }, &sealed);
                let Some(value) = plain.and_then(|plain| String::from_utf8(plain).ok()) else {
                    return Err(StoreError::SecretDamaged { app: app.clone(), name }.into());
                };
                secrets.push((name, value));
            }
            Ok(secrets)
        })
    }
}

/// The key from `DATA/secret.key`, which is created unless existing secrets need another one.
pub(super) fn unlock(data: &Path, database: &Database) -> Result<(Cipher, Option<KeyFileWarning>), StoreError> {
    let path = data.join("secret.key");
    let secrets = database.read(count)?;
    if secrets > 0 && key_file::read(&path)?.is_none() {
        return Err(StoreError::KeyMissing { path, database: database.path().to_owned(), secrets });
    }
    let file = key_file::read_or_create(&path, || Ok(hex::encode(&random::<32>()?)))?;
    let key = hex::decode_array(&file.text).ok_or_else(|| StoreError::KeyMalformed { path: path.clone() })?;
    let cipher = Cipher::new(&key);
    let mark = database.read(mark)?;
    let fits = mark.is_some_and(|mark| cipher.open(&SecretBinding::Mark, &mark).as_deref() == Some(MARK));
    if !fits && secrets > 0 {
        return Err(StoreError::KeyWrong { path, database: database.path().to_owned(), secrets });
    }
    if !fits {
        let sealed = cipher.seal(&SecretBinding::Mark, MARK)?;
        database.write(|db| {
            let sql = "INSERT OR REPLACE INTO key_mark (id, nonce, value) VALUES (1, ?, ?)";
            db.execute(sql, params![sealed.nonce, sealed.value])?;
            Ok(())
        })?;
    }
    Ok((cipher, file.warning))
}

fn count(db: &Connection) -> Result<u64, Fault> {
    let count: i64 = db.query_row("SELECT count(*) FROM secrets", [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn mark(db: &Connection) -> Result<Option<Ciphertext>, Fault> {
    Ok(db.query_row("SELECT nonce, value FROM key_mark", [], sealed).optional()?)
}

fn sealed(row: &Row<'_>) -> rusqlite::Result<Ciphertext> {
    Ok(Ciphertext { nonce: row.get(0)?, value: row.get(1)? })
}
