//! Secrets of an app under development: `.env.local` beside its manifest, for `hearth dev` alone. They are stored as a server's
//! secrets are: in the data folder, encrypted, and not filtered by name as `.env` is.

use std::io;
use std::path::{Path, PathBuf};

use hearth_config::{ConfigErrors, parse_dotenv};
use hearth_core::AppName;
use hearth_store::{LOCAL_SECRETS, Secrets, SqliteStore, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Malformed(#[from] ConfigErrors),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replaces the secrets in the data folder by those of these apps, each with its folder. Called before the server opens the
/// data folder.
pub fn put(data: &Path, apps: &[(AppName, PathBuf)]) -> Result<(), SecretsError> {
    let mut store = None;
    for (app, folder) in apps {
        let path = folder.join(LOCAL_SECRETS);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(SecretsError::Read { path, source }),
        };
        let secrets = parse_dotenv(&text, &path)?;
        let store = match &mut store {
            Some(store) => store,
            none => none.insert(SqliteStore::open(data)?),
        };
        for name in store.secret_names(app)? {
            store.delete_secret(app, &name)?;
        }
        for (name, value) in &secrets {
            store.set_secret(app, name, value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A child that another test has just forked holds a copy of the folder's lock until its exec.
    fn unlocked<T>(mut open: impl FnMut() -> Result<T, SecretsError>) -> Result<T, SecretsError> {
        loop {
            match open() {
                Err(SecretsError::Store(StoreError::InUse { .. })) => std::thread::yield_now(),
                result => return result,
            }
        }
    }

    #[test]
    fn the_file_says_all_there_are() {
        let temp = tempfile::tempdir().unwrap();
        let (data, folder) = (temp.path().join("data"), temp.path().join("app"));
        std::fs::create_dir(&folder).unwrap();
        let apps = [(AppName::new("app"), folder.clone())];
        let kept = || unlocked(|| Ok(SqliteStore::open(&data)?.secrets(&apps[0].0)?)).unwrap();
        let put = || unlocked(|| put(&data, &apps));
        put().unwrap();
        assert!(!data.exists(), "there was nothing to keep");
        for (text, expected) in [("API_KEY=one\nTOKEN=two\n", 2), ("API_KEY=three\n", 1)] {
            std::fs::write(folder.join(LOCAL_SECRETS), text).unwrap();
            put().unwrap();
            assert_eq!(kept().len(), expected);
        }
        assert_eq!(kept(), [("API_KEY".to_owned(), "three".to_owned())]);
        std::fs::write(folder.join(LOCAL_SECRETS), "API KEY").unwrap();
        assert!(put().unwrap_err().to_string().contains(".env.local:1"));
    }
}
