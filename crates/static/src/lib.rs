//! Static files, single-page apps and multi-page sites, served from a folder without JavaScript.
//!
//! ```text
//! path --RequestPath::parse--> names --Folder::walk--> a FoundFile (a regular file, never outside the folder)
//!      --coding, inject--> a Representation (type, validators, length) --condition, range--> a Response
//! ```
//! Names are looked up on the request's thread, since that takes a microsecond; contents are read
//! on tokio's blocking pool. Absolute paths are not used: every name is opened relative to the
//! folder that was opened first. Neither links nor concurrent renames lead out of it, and a jailed
//! cell needs no `/proc`.
#![forbid(unsafe_code)]

mod cache_control;
mod canonical;
mod conditional;
mod content_cache;
mod content_encoding;
mod etag;
mod file_error;
mod file_stream;
mod folder;
mod found_file;
mod html;
mod http_date;
mod inject;
mod mime;
mod pages;
mod representation;
mod request_path;
mod response_injection;
mod rules;
mod site;

pub use canonical::{Access, is_changed, open_canonical};
pub use file_error::FileError;
pub use mime::MimeType;
pub use pages::NOT_FOUND_PAGE;
pub use response_injection::inject_base;
pub use rules::{APP_FILES, Audience, BaseTag, Fallback, HOST_FILES, Inject, SiteError, SiteRules};
pub use site::{FileRequest, Site};
