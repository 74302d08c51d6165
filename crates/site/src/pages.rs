//! A site of many pages, as site generators write them: `/about` is `about.html`, and what is not there is `404.html`.
//!
//! | asked for | there is | answer |
//! |---|---|---|
//! | `/about` | `about.html` | it |
//! | `/about` | `about/index.html` only | sent to `/about/` |
//! | `/about/` | `about/index.html` | it |
//! | `/about/` | `about.html` only | sent to `/about` |
//! | anything else | | the nearest `404.html`, from its folder upwards, with status 404 |
//!
//! So each page has one address, and its relative links lead where they led when it was written.

use hearth_core::{Headers, Response};

use crate::folder::Place;
use crate::path::RequestPath;
use crate::refused::Refused;
use crate::site::{Ask, Site, href};
use crate::spot::{OpenError, Spot};

/// What says that a site has many pages, and is shown for what it has not.
pub const NOT_FOUND_PAGE: &str = "404.html";
const ENDING: &str = ".html";

impl Site {
    /// The page that is asked for without its ending, and its name.
    pub(crate) fn page_of(&self, names: &[String]) -> Result<Option<(Spot, String)>, Refused> {
        let Some((last, folders)) = names.split_last() else { return Ok(None) };
        let name = format!("{last}{ENDING}");
        let way = folders.iter().map(String::as_str).chain([name.as_str()]);
        Ok(match self.folder.walk().go(way)? {
            Place::File(spot) => Some((spot, name)),
            Place::Folder | Place::Nothing => None,
        })
    }

    /// The site's own word for what it has not, if it has one.
    pub(crate) async fn not_found_page(&self, ask: Ask<'_>) -> Result<Response, Refused> {
        let path = RequestPath::parse(ask.path).ok();
        let names = path.as_ref().and_then(RequestPath::names).unwrap_or_default();
        let Some(spot) = self.nearest_not_found(names)? else { return Err(Refused::NotFound) };
        // Nobody has a copy of what is not there, nor wants a part of it.
        let mut headers = Headers::new();
        if let Some(codings) = ask.headers.get("accept-encoding") {
            headers.push(b"accept-encoding", codings);
        }
        let ask = Ask { headers: &headers, ..ask };
        match self.send(ask, spot, &[], NOT_FOUND_PAGE, &href(ask.base)).await {
            Ok(mut response) => {
                response.status = 404;
                for header in ["etag", "last-modified", "accept-ranges"] {
                    response.headers.remove(header);
                }
                Ok(response)
            }
            Err(OpenError::Changed | OpenError::Denied) => Err(Refused::NotFound),
            Err(OpenError::Io(error)) => Err(error.into()),
        }
    }

    fn nearest_not_found(&self, names: &[String]) -> Result<Option<Spot>, Refused> {
        let mut walk = self.folder.walk();
        let mut depth = 0;
        while depth < names.len() && matches!(walk.go([names[depth].as_str()].into_iter())?, Place::Folder) {
            depth += 1;
        }
        for depth in (0..=depth).rev() {
            let way = names[..depth].iter().map(String::as_str).chain([NOT_FOUND_PAGE]);
            if let Place::File(spot) = self.folder.walk().go(way)? {
                return Ok(Some(spot));
            }
        }
        Ok(None)
    }
}
