//! A site: maps a request to a file and sends it.
//!
//! A path is a file; a folder with a trailing slash, whose index is sent; a folder without one,
//! which is redirected; or missing, and then the fallback decides (`pages.rs` for multi-page
//! sites). A file that changes between lookup and opening is looked up again, so that headers and
//! body are of the same file.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use hearth_core::{Body, Headers, Method, Response};

use crate::cache_control::cache_control;
use crate::content_cache::{Content, ContentCache, Key};
use crate::content_encoding::{Extent, Variant, choose};
use crate::etag::Etag;
use crate::file_error::FileError;
use crate::file_stream::FileStream;
use crate::folder::{Folder, FolderWalk, Located};
use crate::found_file::{FoundFile, OpenError};
use crate::inject::{Injection, MAX_INJECTED_PAGE};
use crate::mime::MimeType;
use crate::representation::{Choice, Plan, Representation};
use crate::request_path::{PathEnd, RequestPath, push_query};
use crate::rules::{Audience, Fallback, SiteError, SiteRules};

/// Larger files are streamed and never in memory as a whole.
const MAX_CACHED_FILE: u64 = 64 * 1024;
/// Lookups of a file that changes each time.
const MAX_ATTEMPTS: usize = 5;
const ALLOW: &str = "GET, HEAD";
const FOLDER_INDEX: &str = "index.html";

#[derive(Debug)]
pub struct Site {
    pub(crate) folder: Folder,
    index: String,
    fallback: Fallback,
    injection: Option<Arc<Injection>>,
    hidden: Vec<String>,
    audience: Audience,
    cache: ContentCache,
}

/// The part of a request that a site needs. It has no body, so that the request can still go to a
/// worker afterwards.
#[derive(Clone, Copy, Debug)]
pub struct FileRequest<'a> {
    pub method: &'a Method,
    pub headers: &'a Headers,
    /// As sent, without the app's base and the query; empty, or with a leading slash.
    pub path: &'a str,
    pub query: Option<&'a str>,
    /// The prefix of the path in links: `/name` or `/name@1`; empty or `/` if the app has a host of
    /// its own.
    pub base: &'a str,
}

enum Lookup {
    File {
        found: FoundFile,
        name: String,
    },
    /// The file has another address: the same path with the other end.
    Redirect(PathEnd),
    Nothing,
}

// === impl Site ===

impl Site {
    pub fn open(rules: SiteRules) -> Result<Self, SiteError> {
        let SiteRules { folder: path, index, fallback, inject, hidden, audience, memory } = rules;
        let folder = match Folder::open(&path) {
            Ok(folder) => folder,
            Err(source) => return Err(SiteError::Folder { folder: path, source }),
        };
        let injection = Injection::new(&inject).map(Arc::new);
        let site = Self { folder, index, fallback, injection, hidden, audience, cache: ContentCache::new(memory) };
        if fallback == Fallback::Spa {
            match site.index_of_top(&mut site.folder.walk()) {
                Ok(Some(_)) => {}
                Ok(None) => return Err(SiteError::NoIndex { folder: path, index: site.index }),
                Err(source) => return Err(SiteError::Index { folder: path, index: site.index, source }),
            }
        }
        Ok(site)
    }

    /// The canonical path of the site's folder.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The response, or `None` if the worker should answer, which only happens with the worker
    /// fallback.
    pub async fn answer(&self, request: FileRequest<'_>) -> Result<Option<Response>, FileError> {
        if !matches!(request.method, Method::Get | Method::Head) {
            let error = FileError::Method { method: request.method.clone(), allow: ALLOW };
            return if self.fallback == Fallback::Worker { Ok(None) } else { Err(error) };
        }
        let Ok(path) = RequestPath::parse(request.path) else { return self.miss(request).await };
        let href = href(request.base);
        for _ in 0..MAX_ATTEMPTS {
            let sent = match self.find(&path, &href)? {
                Lookup::File { found, name } => self.send(request, found, path.folders(), &name, &href).await,
                Lookup::Redirect(ending) => Ok(redirect(request, &path, ending, &href)),
                Lookup::Nothing => return self.miss(request).await,
            };
            match sent {
                Ok(response) => return Ok(Some(response)),
                Err(OpenError::Changed) => {}
                Err(OpenError::Denied) => return self.miss(request).await,
                Err(OpenError::Io(error)) => return Err(error.into()),
            }
        }
        Err(FileError::Changing)
    }

    /// The response for a missing file.
    async fn miss(&self, request: FileRequest<'_>) -> Result<Option<Response>, FileError> {
        match self.fallback {
            Fallback::Worker => Ok(None),
            Fallback::Pages => self.not_found_page(request).await.map(Some),
            Fallback::Spa | Fallback::NotFound => Err(FileError::NotFound),
        }
    }

    fn find(&self, path: &RequestPath, href: &str) -> Result<Lookup, FileError> {
        if let Some(names) = path.names().filter(|names| !self.is_hidden(names)) {
            let mut walk = self.folder.walk();
            let place = walk.descend(names.iter().map(String::as_str))?;
            if let (Located::File(found), Some(name), PathEnd::Name) = (&place, names.last(), path.ending) {
                return Ok(Lookup::File { found: found.clone(), name: name.clone() });
            }
            // Even where the fallback is the index, a page of that name comes first.
            let has_pages = matches!(self.fallback, Fallback::Pages | Fallback::Spa);
            let page = if has_pages { self.page_of(names)? } else { None };
            if let (Some((found, name)), PathEnd::Name) = (&page, path.ending) {
                return Ok(Lookup::File { found: found.clone(), name: name.clone() });
            }
            let index = match (place, names.is_empty()) {
                (Located::Folder, true) => self.index_of_top(&mut walk)?.map(|found| (found, self.index.as_str())),
                (Located::Folder, false) => match walk.descend([FOLDER_INDEX].into_iter())? {
                    Located::File(found) => Some((found, FOLDER_INDEX)),
                    _ => None,
                },
                _ => None,
            };
            if let Some((found, name)) = index {
                // At the root of a host there is no path without a slash.
                let is_slashed = path.ending == PathEnd::Slash || (names.is_empty() && href == "/");
                let lookup = || Lookup::File { found, name: name.to_owned() };
                return Ok(if is_slashed { lookup() } else { Lookup::Redirect(PathEnd::Slash) });
            }
            if page.is_some() {
                return Ok(Lookup::Redirect(PathEnd::Name));
            }
        }
        if self.fallback == Fallback::Spa
            && path.is_route()
            && let Some(found) = self.index_of_top(&mut self.folder.walk())?
        {
            return Ok(Lookup::File { found, name: self.index.clone() });
        }
        Ok(Lookup::Nothing)
    }

    fn index_of_top(&self, walk: &mut FolderWalk<'_>) -> io::Result<Option<FoundFile>> {
        let names = self.index.split('/').filter(|name| !matches!(*name, "" | "."));
        Ok(match walk.descend(names)? {
            Located::File(found) => Some(found),
            Located::Folder | Located::Nothing => None,
        })
    }

    fn is_hidden(&self, names: &[String]) -> bool {
        names.first().is_some_and(|name| self.hidden.iter().any(|hidden| hidden.eq_ignore_ascii_case(name)))
    }

    pub(crate) async fn send(
        &self,
        request: FileRequest<'_>,
        found: FoundFile,
        folders: &[String],
        name: &str,
        href: &str,
    ) -> Result<Response, OpenError> {
        let media = MimeType::from_name(name);
        let cache_control = cache_control(folders, name, media, self.audience);
        if let Some(injection) = &self.injection
            && media.is_html()
            && found.identity.size <= MAX_INJECTED_PAGE
        {
            let Content { bytes, etag } = self.injected_page(found, injection.clone(), href).await?;
            let length = bytes.len() as u64;
            // No date: the injected text changes without the file.
            let (coding, choice, modified) = (None, Choice::One, None);
            let page = Representation { media, coding, choice, cache_control, etag, modified, length };
            return Ok(match page.plan(request.method, request.headers) {
                Plan::Done(response) => response,
                Plan::Fill { response, start, length } => fill(response, slice(&bytes, start, length)),
            });
        }
        let extent = if request.headers.contains("range") { Extent::Part } else { Extent::Whole };
        let (coding, choice, found) = match choose(&found, media, request.headers, extent) {
            Variant::Only => (None, Choice::One, found),
            Variant::Plain => (None, Choice::ByEncoding, found),
            Variant::Coded(coding, variant) => (Some(coding), Choice::ByEncoding, variant),
        };
        let (etag, modified, length) = (found.identity.etag(), found.identity.modified(), found.identity.size);
        let file = Representation { media, coding, choice, cache_control, etag, modified, length };
        Ok(match file.plan(request.method, request.headers) {
            Plan::Done(response) => response,
            Plan::Fill { response, start, length } if found.identity.size <= MAX_CACHED_FILE => {
                fill(response, slice(&self.small_file(found).await?.bytes, start, length))
            }
            Plan::Fill { response, start, length } => {
                fill(response, Body::Stream(Box::new(FileStream::new(found.open()?, start, length)?)))
            }
        })
    }

    /// The content of a small file.
    async fn small_file(&self, found: FoundFile) -> Result<Content, OpenError> {
        let key = Key { identity: found.identity, base: None };
        self.cached(key, move || Ok(Content { bytes: found.read()?.into(), etag: found.identity.etag() })).await
    }

    /// The content of a page with its injection.
    async fn injected_page(
        &self,
        found: FoundFile,
        injection: Arc<Injection>,
        href: &str,
    ) -> Result<Content, OpenError> {
        let key = Key { identity: found.identity, base: Some(href.into()) };
        let href = href.to_owned();
        self.cached(key, move || {
            let bytes = injection.apply(found.read()?, &href);
            Ok(Content { etag: Etag::from_content(&bytes), bytes })
        })
        .await
    }

    async fn cached(
        &self,
        key: Key,
        read: impl FnOnce() -> Result<Content, OpenError> + Send + 'static,
    ) -> Result<Content, OpenError> {
        if let Some(content) = self.cache.get(&key) {
            return Ok(content);
        }
        let now = SystemTime::now();
        let content = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
        self.cache.insert(key, &content, now);
        Ok(content)
    }
}

/// The base as a path from the root of the host, with one slash at both ends.
pub(crate) fn href(base: &str) -> String {
    match base.trim_matches('/') {
        "" => "/".to_owned(),
        base => format!("/{base}/"),
    }
}

fn redirect(request: FileRequest<'_>, path: &RequestPath, ending: PathEnd, href: &str) -> Response {
    let mut location = format!("{href}{}", path.encoded(ending));
    if let Some(query) = request.query {
        location.push('?');
        push_query(&mut location, query);
    }
    let mut headers = Headers::with_capacity(2, 64 + location.len());
    headers.push(b"location", location.as_bytes());
    // A folder may become a file, so caches must revalidate.
    headers.push(b"cache-control", b"no-cache");
    Response::new(308, headers, Body::Empty)
}

fn slice(bytes: &Bytes, start: u64, length: u64) -> Body {
    bytes.slice(start as usize..(start + length) as usize).into()
}

fn fill(mut response: Response, body: Body) -> Response {
    response.body = body;
    response
}

#[cfg(test)]
mod tests;
