//! Static files, single-page apps and sites of many pages, served from a folder without any JavaScript.
//!
//! ```text
//! path --RequestPath::parse--> names --Folder::walk--> a Spot (a regular file, never outside the folder)
//!      --coding, inject--> a Representation (type, validators, length) --condition, range--> a Response
//! ```
//! Names are looked up where the request is, since that costs a microsecond; contents are read on tokio's blocking pool.
//! Nothing is found by a path of the system: every name is opened below the folder that was opened at first, so neither
//! a link nor a rename between two calls leads out of it, and no `/proc` is needed in a jailed cell.
#![forbid(unsafe_code)]

mod answers;
mod caching;
mod canonical;
mod coding;
mod condition;
mod date;
mod folder;
mod html;
mod identity;
mod inject;
mod media;
mod memory;
mod pages;
mod path;
mod refused;
mod representation;
mod rules;
mod site;
mod spot;
mod stream;

pub use answers::inject_base;
pub use canonical::{Access, is_changed, open_canonical};
pub use media::Media;
pub use pages::NOT_FOUND_PAGE;
pub use refused::Refused;
pub use rules::{APP_FILES, Audience, BaseTag, Fallback, HOST_FILES, Inject, SiteError, SiteRules};
pub use site::{Ask, Site};
