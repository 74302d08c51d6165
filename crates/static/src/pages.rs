//! Multi-page sites, as site generators write them: `/about` is `about.html`, and missing pages are
//! `404.html`.
//!
//! | asked for | there is | answer |
//! |---|---|---|
//! | `/about` | `about.html` | it |
//! | `/about` | `about/index.html` only | sent to `/about/` |
//! | `/about/` | `about/index.html` | it |
//! | `/about/` | `about.html` only | sent to `/about` |
//! | anything else | | the nearest `404.html`, from its folder upwards, with status 404 |
//!
//! Every page thus has one address, and its relative links resolve as its author intended.

use hearth_core::{Headers, Response};

use crate::file_error::FileError;
use crate::folder::Located;
use crate::found_file::{FoundFile, OpenError};
use crate::request_path::RequestPath;
use crate::site::{FileRequest, Site, href};

/// Its presence marks a site as multi-page; it is sent for missing pages.
pub const NOT_FOUND_PAGE: &str = "404.html";
const PAGE_SUFFIX: &str = ".html";

impl Site {
    /// The page at a path without its extension, and the file's name.
    pub(crate) fn page_of(&self, names: &[String]) -> Result<Option<(FoundFile, String)>, FileError> {
        let Some((last, folders)) = names.split_last() else { return Ok(None) };
        let name = format!("{last}{PAGE_SUFFIX}");
        let names = folders.iter().map(String::as_str).chain([name.as_str()]);
        Ok(match self.folder.walk().descend(names)? {
            Located::File(found) => Some((found, name)),
            Located::Folder | Located::Nothing => None,
        })
    }

    /// The site's page for missing files, if it has one.
    pub(crate) async fn not_found_page(&self, request: FileRequest<'_>) -> Result<Response, FileError> {
        let path = RequestPath::parse(request.path).ok();
        let names = path.as_ref().and_then(RequestPath::names).unwrap_or_default();
        let Some(found) = self.nearest_not_found(names)? else { return Err(FileError::NotFound) };
        // Conditions and ranges of the request do not apply to an error page.
        let mut headers = Headers::new();
        if let Some(codings) = request.headers.get("accept-encoding") {
            headers.push(b"accept-encoding", codings);
        }
        let request = FileRequest { headers: &headers, ..request };
        match self.send(request, found, &[], NOT_FOUND_PAGE, &href(request.base)).await {
            Ok(mut response) => {
                response.status = 404;
                for header in ["etag", "last-modified", "accept-ranges"] {
                    response.headers.remove(header);
                }
                Ok(response)
            }
            Err(OpenError::Changed | OpenError::Denied) => Err(FileError::NotFound),
            Err(OpenError::Io(error)) => Err(error.into()),
        }
    }

    fn nearest_not_found(&self, names: &[String]) -> Result<Option<FoundFile>, FileError> {
        let mut walk = self.folder.walk();
        let mut depth = 0;
        while depth < names.len() && matches!(walk.descend([names[depth].as_str()].into_iter())?, Located::Folder) {
            depth += 1;
        }
        for depth in (0..=depth).rev() {
            let names = names[..depth].iter().map(String::as_str).chain([NOT_FOUND_PAGE]);
            if let Located::File(found) = self.folder.walk().descend(names)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
