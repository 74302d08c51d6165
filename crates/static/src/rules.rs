//! The rules of a site, fixed when it is opened.

use std::io;
use std::path::PathBuf;

use hearth_core::ByteSize;

/// Names at the top of an app's folder that are not served if the site is that folder.
pub const APP_FILES: &[&str] = &[
    "manifest.yaml",
    "manifest.yml",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "bun.lock",
    "bun.lockb",
    "yarn.lock",
    "pnpm-lock.yaml",
    "node_modules",
    "_headers",
    "_redirects",
    "_routes.json",
    "_worker.js",
];

/// Configuration files for other hosts at the top of a site. They have no effect here.
pub const HOST_FILES: &[&str] = &["_headers", "_redirects", "_routes.json", "_worker.js"];

#[derive(Clone, Debug)]
pub struct SiteRules {
    /// Opened once, with the site: a folder that takes its name later is not served.
    pub folder: PathBuf,
    /// The file for `/`, relative to the folder. Folders below have their `index.html`.
    pub index: String,
    pub fallback: Fallback,
    pub inject: Inject,
    /// Names at the top of the folder that are not served, compared without regard to case.
    pub hidden: Vec<String>,
    pub audience: Audience,
    /// Memory for the contents of small files and of pages with injections; 0 disables the cache.
    pub memory: ByteSize,
}

/// What a request for a missing file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Paths without an extension get the index, since the page's router may know them; others get
    /// 404.
    Spa,
    /// Multi-page: pages are found without `.html`; missing ones get the site's `404.html`.
    Pages,
    NotFound,
    /// The worker answers, as for all methods except GET and HEAD.
    Worker,
}

/// What is injected into HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inject {
    pub base: BaseTag,
    /// The content of `window.__env__`. It is public: the caller has selected it.
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseTag {
    /// `<base href>` with the app's base, unless the page has its own.
    Insert,
    #[default]
    Leave,
}

/// Which caches may store responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Shared caches, too.
    Public,
    /// Only the browser that sent the request: for apps that require a token.
    Private,
}

#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error("the folder {folder:?} cannot be opened")]
    Folder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the page {index:?} is no file inside {folder:?}")]
    NoIndex { folder: PathBuf, index: String },
    #[error("the page {index:?} in {folder:?} cannot be read")]
    Index {
        folder: PathBuf,
        index: String,
        #[source]
        source: io::Error,
    },
}

// === impl SiteRules ===

impl SiteRules {
    /// Serves the files of a folder unchanged, without a fallback.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            index: "index.html".to_owned(),
            fallback: Fallback::NotFound,
            inject: Inject::default(),
            hidden: Vec::new(),
            audience: Audience::Public,
            memory: ByteSize::mb(8),
        }
    }
}
