//! `hearth serve FOLDER`: the apps in it, and which of them a request is for.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hearth_cell::AppHost;
use hearth_core::{Dispatch, Failure, Request, Response};

use crate::admin::path_of;

const ENTRIES: [&str; 6] = ["index.ts", "index.tsx", "index.js", "index.mjs", "src/index.ts", "src/index.js"];

/// An app on disk.
pub struct Found {
    pub name: String,
    pub entry: PathBuf,
}

/// The apps in `folder`, by name. Folders without an entry are left out.
pub fn find(folder: &Path) -> anyhow::Result<Vec<Found>> {
    let list = fs::read_dir(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    let mut found = Vec::new();
    for item in list {
        let path = item.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with('.') {
            continue;
        }
        if let Some(entry) = ENTRIES.iter().map(|entry| path.join(entry)).find(|entry| entry.is_file()) {
            found.push(Found { name: name.to_owned(), entry });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    if found.is_empty() {
        anyhow::bail!("{} has no app: an app is a folder in it with an index.ts or index.js", folder.display());
    }
    Ok(found)
}

/// The apps by the first part of the path.
pub struct Apps {
    pub by_name: HashMap<String, AppHost>,
}

impl Dispatch for Apps {
    async fn dispatch(&self, request: Request) -> Result<Response, Failure> {
        let name = path_of(&request.url).split('/').nth(1).unwrap_or_default();
        match self.by_name.get(name) {
            Some(app) => app.dispatch(request).await,
            None => Err(Failure::NoApp),
        }
    }
}
