//! Reads the manifest in an app's folder, for commands that need the app's own settings.

use std::io;
use std::path::{Path, PathBuf};

use hearth_apps::MANIFESTS;
use hearth_config::{ConfigErrors, Manifest};

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error("cannot read {}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
}

/// The default manifest if there is no file.
pub fn read(folder: &Path) -> Result<Manifest, ManifestError> {
    for name in MANIFESTS {
        let file = folder.join(name);
        match std::fs::read_to_string(&file) {
            Ok(text) => return Ok(Manifest::parse(&text, &file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(ManifestError::Io { file, source }),
        }
    }
    Ok(Manifest::default())
}
