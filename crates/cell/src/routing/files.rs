//! The files of an app that are served without a worker: a page with the files beside it, or the static folder of a worker.
//! Neither is ever outside of the app's folder, also through symbolic links.

use std::io;
use std::path::{Path, PathBuf};

use hearth_config::{Auth, Settings, SiteKind};
use hearth_ipc::VersionSpec;
use hearth_static::{
    APP_FILES, Audience, BaseTag, Fallback, HOST_FILES, Inject, NOT_FOUND_PAGE, Site, SiteError, SiteRules,
};

#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
    #[error(transparent)]
    Site(#[from] SiteError),
    #[error("the folder {} cannot be opened: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("the folder {} is a link that leads out of the app's folder", folder.display())]
    LeadsOut { folder: PathBuf },
}

/// The site is the folder of the page; if that is the app's folder, its manifest and code are not part of the site.
pub(super) fn page(spec: &VersionSpec, index: &Path) -> Result<Site, FilesError> {
    let folder = folder_inside_app(spec, index.parent().unwrap_or(Path::new("")))?;
    let fallback = match spec.settings.site {
        SiteKind::Spa => Fallback::Spa,
        SiteKind::Pages => Fallback::Pages,
        SiteKind::Auto if folder.join(NOT_FOUND_PAGE).is_file() => Fallback::Pages,
        SiteKind::Auto => Fallback::Spa,
    };
    let base = match (spec.settings.inject_base, fallback) {
        (Some(true), _) | (None, Fallback::Spa) => BaseTag::Insert,
        // A base tag would send the anchors and relative links of a nested page to the top.
        (Some(false), _) | (None, _) => BaseTag::Leave,
    };
    let site = Site::open(SiteRules {
        index: index.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        fallback,
        inject: Inject { base, env: public_env(spec) },
        hidden: APP_FILES.iter().map(|name| (*name).to_owned()).collect(),
        audience: audience(&spec.settings),
        ..SiteRules::new(folder)
    })?;
    check_still_inside(spec, site)
}

/// The static files of a worker are served unchanged, unless the app wants the base tag in its pages.
pub(super) fn assets(spec: &VersionSpec, folder: &Path) -> Result<Site, FilesError> {
    let inject = match spec.settings.inject_base {
        Some(true) => Inject { base: BaseTag::Insert, env: public_env(spec) },
        Some(false) | None => Inject::default(),
    };
    let site = Site::open(SiteRules {
        fallback: Fallback::Worker,
        inject,
        hidden: HOST_FILES.iter().map(|name| (*name).to_owned()).collect(),
        audience: audience(&spec.settings),
        ..SiteRules::new(folder_inside_app(spec, folder)?)
    })?;
    check_still_inside(spec, site)
}

/// The static files of a worker as its assets binding has them.
pub(super) fn bound(spec: &VersionSpec, folder: &Path) -> Result<Site, FilesError> {
    let site = Site::open(SiteRules {
        fallback: Fallback::Pages,
        hidden: HOST_FILES.iter().map(|name| (*name).to_owned()).collect(),
        audience: audience(&spec.settings),
        ..SiteRules::new(folder_inside_app(spec, folder)?)
    })?;
    check_still_inside(spec, site)
}

/// The real path of a folder of the app.
fn folder_inside_app(spec: &VersionSpec, folder: &Path) -> Result<PathBuf, FilesError> {
    let named = spec.folder.join(folder);
    let real = |path: &Path| {
        let failed = |source| FilesError::Folder { folder: path.to_owned(), source };
        path.canonicalize().map_err(failed)
    };
    let (top, found) = (real(&spec.folder)?, real(&named)?);
    if found.starts_with(&top) { Ok(found) } else { Err(FilesError::LeadsOut { folder: named }) }
}

/// Checked again after opening: a symbolic link may have replaced the folder meanwhile.
fn check_still_inside(spec: &VersionSpec, site: Site) -> Result<Site, FilesError> {
    let top =
        spec.folder.canonicalize().map_err(|source| FilesError::Folder { folder: spec.folder.clone(), source })?;
    if site.folder().starts_with(&top) {
        Ok(site)
    } else {
        Err(FilesError::LeadsOut { folder: site.folder().to_owned() })
    }
}

/// Variables that pages may see. Secrets are never among them, whatever their names: they are in the version's `env` alone.
fn public_env(spec: &VersionSpec) -> Vec<(String, String)> {
    let seen = |name: &str| spec.settings.env_prefix.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let public = spec.settings.env.iter().filter(|(name, _)| seen(name));
    public.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn audience(settings: &Settings) -> Audience {
    match settings.auth {
        Auth::None => Audience::Public,
        Auth::Token => Audience::Private,
    }
}
