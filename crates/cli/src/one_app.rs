//! Resolves a file, its manifest and the flags to an app that the runtime can start. Flags rank above the manifest, as the
//! operator's settings of one app do in `hearth serve`.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use hearth_cell::{AppParts, SharedServices};
use hearth_config::{AppCeilings, AppOrigin, Env, Layers, Manifest, Resolved, Settings, parse_dotenv};
use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, Owner, VersionName};
use hearth_runtime::App;

use crate::manifest;
use crate::serve_options::AppDefaults;
use crate::settings::{fill_in_borrowed, override_with};

/// The settings of the app in `folder`; without a folder those of the flags.
pub fn settings(folder: Option<&Path>, flags: &AppDefaults, env: &[(String, String)]) -> anyhow::Result<Settings> {
    let (said, dotenv) = match folder {
        Some(folder) => (manifest::read(folder)?, dotenv(folder)?),
        None => (Manifest::default(), None),
    };
    let mut above = Manifest { egress: flags.egress.clone(), ..Manifest::default() };
    override_with(&mut above, flags);
    let mut defaults = Manifest::default();
    fill_in_borrowed(&mut defaults);
    let layers = Layers {
        app: Some(&above),
        manifest: &said,
        dotenv: dotenv.as_ref(),
        defaults: Some(&defaults),
        origin: AppOrigin::Served,
    };
    let resolved = Settings::resolve(&layers, &AppCeilings::default()).map_err(|errors| anyhow::anyhow!("{errors}"))?;
    let Resolved { mut settings, warnings } = resolved;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    // Variables of the command line are not filtered by name.
    settings.env.extend(env.iter().cloned());
    Ok(settings)
}

fn dotenv(folder: &Path) -> anyhow::Result<Option<Env>> {
    let file = folder.join(".env");
    match std::fs::read_to_string(&file) {
        Ok(text) => parse_dotenv(&text, &file).map(Some).map_err(|errors| anyhow::anyhow!("{errors}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

pub fn app(commons: &SharedServices, name: AppName, loader: Arc<dyn ModuleLoader>, settings: &Settings) -> Arc<App> {
    commons.app(AppParts {
        owner: Owner::from(&name),
        name,
        version: VersionName::new("latest"),
        loader,
        limits: hearth_cell::engine_limits(settings),
        env: settings.env.clone().into_iter().collect(),
        egress: settings.egress.clone(),
        assets: None,
    })
}

/// A display name: that of the file's folder, or of the file itself at the root.
pub fn name_of(folder: &Path, file: &Path) -> AppName {
    let name = folder.file_name().or_else(|| file.file_stem());
    AppName::new(name.map_or("app".into(), |name| name.to_string_lossy().into_owned()))
}
