//! What a site serves, and how: all that is known when it is opened.

use std::io;
use std::path::PathBuf;

use hearth_core::ByteSize;

/// Names at the top of an app's folder that are nobody's business, for sites that are served from it.
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

/// Names at the top of a site that are instructions for other hosts. What they say is not done here.
pub const HOST_FILES: &[&str] = &["_headers", "_redirects", "_routes.json", "_worker.js"];

#[derive(Clone, Debug)]
pub struct SiteRules {
    /// Opened once, when the site is: another folder that later gets its name is another site.
    pub folder: PathBuf,
    /// What `/` is, below the folder. Folders further down have their `index.html`.
    pub index: String,
    pub fallback: Fallback,
    pub inject: Inject,
    /// Names at the top of the folder that are not served; upper and lower case are the same.
    pub hidden: Vec<String>,
    pub audience: Audience,
    /// Memory for the contents of small files and of pages that were injected into; 0 keeps none.
    pub memory: ByteSize,
}

/// What becomes of a request for what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// A path without an extension is the index, since the page's own router knows it; others are not found.
    Spa,
    /// The site has many pages, which are asked for without their `.html`; what is not there is its `404.html`.
    Pages,
    NotFound,
    /// It is not the site's: somebody else answers, as with every method but GET and HEAD.
    Worker,
}

/// What is put into HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inject {
    pub base: BaseTag,
    /// What `window.__env__` holds. Everybody can read it: the caller has chosen what may be seen.
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseTag {
    /// `<base href>` with the app's base, unless the page has its own.
    Insert,
    #[default]
    Leave,
}

/// Who may keep a copy on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Shared caches too.
    Public,
    /// Only the browser that asked: for apps that need a token.
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
    /// A folder whose files are served as they are, and nothing else.
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
