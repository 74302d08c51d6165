//! The search for apps: at most three levels deep (scope, name, version), each sorted by name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hearth_core::AppName;

use super::name::{check_name, check_part};
use super::problem::{DiscoveryCause, DiscoveryProblem, hides};
use crate::versions::AppVersion;

/// Files that make a folder an app, besides an entry.
const MARKS: [&str; 3] = ["manifest.yaml", "manifest.yml", "package.json"];
const ENTRIES: [&str; 5] = ["index.ts", "index.tsx", "index.js", "index.mjs", "index.html"];

/// The result of a search, including duplicate versions.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// In the order of the roots, and within each by name.
    pub found: Vec<Found>,
    pub problems: Vec<DiscoveryProblem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// With its scope: `@acme/hello`.
    pub name: AppName,
    pub layout: Layout,
    /// `None` for a plain folder, whose version is in its own files.
    pub version: Option<AppVersion>,
    /// Canonical.
    pub folder: PathBuf,
    /// The path before links were resolved.
    pub path: PathBuf,
    /// The index of its root.
    pub root: usize,
}

/// In order of precedence among folders of the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// `name@1.2.3/`
    Flat,
    /// `name/1.2.3/`
    Nested,
    /// `name/`
    Plain,
}

/// Finds the apps in each of these folders.
pub fn discover(folders: &[PathBuf]) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for (root, folder) in folders.iter().enumerate() {
        Search { root, scope: "", catalogue: &mut catalogue }.names(folder);
    }
    catalogue
}

struct Search<'a> {
    root: usize,
    /// `@acme/`, or nothing.
    scope: &'a str,
    catalogue: &'a mut Catalogue,
}

// === impl Search ===

impl Search<'_> {
    /// Searches a root, or a scope in it.
    fn names(&mut self, folder: &Path) {
        for child in self.children(folder) {
            let (path, Some(name)) = (folder.join(&child), child.to_str()) else {
                self.problem(folder.join(&child), DiscoveryCause::NotText);
                continue;
            };
            let result = match name.strip_prefix('@') {
                Some(scope) if self.scope.is_empty() => self.scope(&path, scope),
                _ => self.app(&path, name),
            };
            if let Err(cause) = result {
                self.problem(path, cause);
            }
        }
    }

    fn scope(&mut self, path: &Path, scope: &str) -> Result<(), DiscoveryCause> {
        check_part(scope).map_err(DiscoveryCause::Name)?;
        let scope = format!("@{scope}/");
        Search { root: self.root, scope: &scope, catalogue: self.catalogue }.names(path);
        Ok(())
    }

    /// `name/` or `name@version/`.
    fn app(&mut self, path: &Path, text: &str) -> Result<(), DiscoveryCause> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version.parse().map_err(DiscoveryCause::Version)?)),
            None => (text, None),
        };
        check_name(&format!("{}{name}", self.scope)).map_err(DiscoveryCause::Name)?;
        let folder = fs::canonicalize(path)?;
        match (version, is_app(&folder)?) {
            (Some(_), false) => return Err(no_app(&folder)),
            (Some(version), true) => self.add(name, Layout::Flat, Some(version), (path, folder)),
            (None, true) => self.add(name, Layout::Plain, None, (path, folder)),
            (None, false) => self.versions(path, name, &folder),
        }
        Ok(())
    }

    /// The versions of a nested app. Other folders beside them are ignored.
    fn versions(&mut self, path: &Path, name: &str, folder: &Path) {
        for child in self.children(path) {
            let Some(version) = child.to_str().and_then(|child| child.parse().ok()) else { continue };
            let path = path.join(&child);
            let real = fs::canonicalize(&path).and_then(|real| Ok((is_app(&real)?, real)));
            match real.map_err(DiscoveryCause::from) {
                Ok((_, real)) if !real.starts_with(folder) => {
                    self.problem(path, DiscoveryCause::LeadsOut(folder.to_path_buf()));
                }
                Ok((false, real)) => self.problem(path, no_app(&real)),
                Ok((true, real)) => self.add(name, Layout::Nested, Some(version), (&path, real)),
                Err(cause) => self.problem(path, cause),
            }
        }
    }

    fn add(&mut self, name: &str, layout: Layout, version: Option<AppVersion>, place: (&Path, PathBuf)) {
        let name = AppName::new(format!("{}{name}", self.scope));
        let (path, folder) = (place.0.to_owned(), place.1);
        self.catalogue.found.push(Found { name, layout, version, folder, path, root: self.root });
    }

    fn problem(&mut self, path: PathBuf, cause: DiscoveryCause) {
        self.catalogue.problems.push(DiscoveryProblem::new(path, cause));
    }

    /// The folders in a folder, including links to folders, sorted, without hidden ones and
    /// packages.
    fn children(&mut self, folder: &Path) -> Vec<OsString> {
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                self.problem(folder.to_path_buf(), DiscoveryCause::NotAFolder);
                return Vec::new();
            }
            Err(error) => {
                self.problem(folder.to_path_buf(), error.into());
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") || name == "node_modules" {
                continue;
            }
            match is_folder(&entry) {
                Ok(true) => names.push(name),
                Ok(false) => {}
                // Removed in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound && entry.path().symlink_metadata().is_err() => {}
                Err(error) => self.problem(entry.path(), error.into()),
            }
        }
        names.sort();
        names
    }
}

fn is_folder(entry: &fs::DirEntry) -> io::Result<bool> {
    let kind = entry.file_type()?;
    if kind.is_symlink() { fs::metadata(entry.path()).map(|facts| facts.is_dir()) } else { Ok(kind.is_dir()) }
}

fn is_app(folder: &Path) -> io::Result<bool> {
    let source = folder.join("src");
    let own = MARKS.iter().chain(&ENTRIES).map(|name| folder.join(name));
    for file in own.chain(ENTRIES.iter().map(|name| source.join(name))) {
        match fs::metadata(&file) {
            Ok(facts) if facts.is_file() => return Ok(true),
            Err(error) if hides(&error) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(false)
}

/// Why a folder that is named like a version is not an app.
fn no_app(folder: &Path) -> DiscoveryCause {
    fs::read_dir(folder).map_or_else(DiscoveryCause::from, |_| DiscoveryCause::NoApp)
}
