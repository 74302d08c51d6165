//! An app's name and version by its `package.json`, used if neither folder nor manifest gives them.
//! The file is npm's, so an error in it does not keep the app from being served.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use hearth_core::{AppName, VersionName};
use serde_json::{Map, Value};

use crate::error::SourceLocation;
use crate::name;
use crate::warning::{Warning, WarningKind};
use crate::yaml::MAX_FILE_SIZE;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageIdentity {
    pub name: Option<AppName>,
    pub version: Option<VersionName>,
    /// The file exists but cannot be used.
    pub warning: Option<Warning>,
}

struct Package {
    name: Option<String>,
    version: Option<String>,
}

/// Name and version of the `package.json` in this folder; `None` if there is no such file.
pub fn package_identity(folder: &Path) -> PackageIdentity {
    let file = folder.join("package.json");
    match read(&file) {
        Ok(Some(package)) => PackageIdentity {
            name: package.name.filter(|name| name::app(name).is_ok()).map(AppName::from),
            version: package.version.filter(|version| name::version(version).is_ok()).map(VersionName::from),
            warning: None,
        },
        Ok(None) => PackageIdentity::default(),
        Err(reason) => {
            let place = SourceLocation { file, position: None, key: String::new() };
            let warning = Some(Warning { place, notice: WarningKind::Package(reason) });
            PackageIdentity { warning, ..PackageIdentity::default() }
        }
    }
}

fn read(file: &Path) -> Result<Option<Package>, String> {
    // A pipe of that name would block forever.
    if file.metadata().is_ok_and(|facts| !facts.is_file()) {
        return Err("it is not a file".to_owned());
    }
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    opened.take(MAX_FILE_SIZE.bytes() + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE_SIZE.bytes() {
        return Err(format!("it is larger than {MAX_FILE_SIZE}"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut take = |key: &str| match fields.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("its {key} is not text")),
    };
    Ok(Some(Package { name: take("name")?, version: take("version")? }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_package_gives_name_and_version_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert_eq!(package_identity(path), PackageIdentity::default());
        assert_eq!(package_identity(&path.join("no/folder")), PackageIdentity::default());
        for (text, name, version) in [
            (r#"{"name": "@a/shop", "version": "1.2.3", "private": true}"#, Some("@a/shop"), Some("1.2.3")),
            (r#"{"name": "../up"}"#, None, None),
            ("\u{feff}{}", None, None),
        ] {
            fs::write(path.join("package.json"), text).unwrap();
            let found = package_identity(path);
            assert_eq!(found.name.as_ref().map(AppName::as_str), name, "{text}");
            assert_eq!(found.version.as_ref().map(VersionName::as_str), version, "{text}");
            assert_eq!(found.warning, None, "{text}");
        }
        for text in ["{", "[]", r#"{"name": 5}"#, "\u{0}"] {
            fs::write(path.join("package.json"), text).unwrap();
            let warning = package_identity(path).warning.unwrap().to_string();
            assert!(warning.contains("package.json: its name and version are not used: "), "{warning}");
        }
        fs::write(path.join("package.json"), [0xff, 0xfe]).unwrap();
        assert!(package_identity(path).warning.is_some());
    }
}
