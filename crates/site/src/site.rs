//! A site: from a request to the file that answers it.
//!
//! A path is a file; or a folder with a slash at its end, which is its index; or a folder without one, which is sent
//! there; or nothing, and then the fallback decides (`pages.rs`, where a site has many). A file that changes between being found and being opened is looked
//! for again, so that a response's headers and its body are of the same file.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use hearth_core::{Body, Headers, Method, Response};

use crate::caching::cache_control;
use crate::coding::{Extent, Variant, choose};
use crate::folder::{Folder, Place, Walk};
use crate::identity::Etag;
use crate::inject::{Injection, LARGEST_PAGE};
use crate::media::Media;
use crate::memory::{Content, Key, Memory};
use crate::path::{Ending, RequestPath, push_query};
use crate::refused::Refused;
use crate::representation::{Choice, Plan, Representation};
use crate::rules::{Audience, Fallback, SiteError, SiteRules};
use crate::spot::{OpenError, Spot};
use crate::stream::FileStream;

/// Larger files are never in memory as a whole.
const SMALL: u64 = 64 * 1024;
/// Looks at a file that changes each time.
const TRIES: usize = 5;
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
    memory: Memory,
}

/// What of a request concerns a site. It has no body, so that the request can still go to a worker afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub method: &'a Method,
    pub headers: &'a Headers,
    /// As sent, without the app's base and without the query; empty, or with a slash at its beginning.
    pub path: &'a str,
    pub query: Option<&'a str>,
    /// What stands before the path, for links: `/name` or `/name@1`; empty or `/` where the app has a host to itself.
    pub base: &'a str,
}

enum Lookup {
    File {
        spot: Spot,
        name: String,
    },
    /// It has another address: the same path with the other ending.
    Elsewhere(Ending),
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
        let site = Self { folder, index, fallback, injection, hidden, audience, memory: Memory::new(memory) };
        if fallback == Fallback::Spa {
            match site.index_of_top(&mut site.folder.walk()) {
                Ok(Some(_)) => {}
                Ok(None) => return Err(SiteError::NoIndex { folder: path, index: site.index }),
                Err(source) => return Err(SiteError::Index { folder: path, index: site.index, source }),
            }
        }
        Ok(site)
    }

    /// The folder that was opened, without links.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The answer, or `None` if it is not this site's to give: only where the fallback is a worker.
    pub async fn answer(&self, ask: Ask<'_>) -> Result<Option<Response>, Refused> {
        if !matches!(ask.method, Method::Get | Method::Head) {
            let refused = Refused::Method { method: ask.method.clone(), allow: ALLOW };
            return if self.fallback == Fallback::Worker { Ok(None) } else { Err(refused) };
        }
        let Ok(path) = RequestPath::parse(ask.path) else { return self.miss(ask).await };
        let href = href(ask.base);
        for _ in 0..TRIES {
            let sent = match self.find(&path, &href)? {
                Lookup::File { spot, name } => self.send(ask, spot, path.folders(), &name, &href).await,
                Lookup::Elsewhere(ending) => Ok(redirect(ask, &path, ending, &href)),
                Lookup::Nothing => return self.miss(ask).await,
            };
            match sent {
                Ok(response) => return Ok(Some(response)),
                Err(OpenError::Changed) => {}
                Err(OpenError::Denied) => return self.miss(ask).await,
                Err(OpenError::Io(error)) => return Err(error.into()),
            }
        }
        Err(Refused::Changing)
    }

    /// What is not here may be a worker's.
    async fn miss(&self, ask: Ask<'_>) -> Result<Option<Response>, Refused> {
        match self.fallback {
            Fallback::Worker => Ok(None),
            Fallback::Pages => self.not_found_page(ask).await.map(Some),
            Fallback::Spa | Fallback::NotFound => Err(Refused::NotFound),
        }
    }

    fn find(&self, path: &RequestPath, href: &str) -> Result<Lookup, Refused> {
        if let Some(names) = path.names().filter(|names| !self.is_hidden(names)) {
            let mut walk = self.folder.walk();
            let place = walk.go(names.iter().map(String::as_str))?;
            if let (Place::File(spot), Some(name), Ending::Name) = (&place, names.last(), path.ending) {
                return Ok(Lookup::File { spot: spot.clone(), name: name.clone() });
            }
            // Where everything else is the home page, a page of that name still comes first.
            let has_pages = matches!(self.fallback, Fallback::Pages | Fallback::Spa);
            let page = if has_pages { self.page_of(names)? } else { None };
            if let (Some((spot, name)), Ending::Name) = (&page, path.ending) {
                return Ok(Lookup::File { spot: spot.clone(), name: name.clone() });
            }
            let index = match (place, names.is_empty()) {
                (Place::Folder, true) => self.index_of_top(&mut walk)?.map(|spot| (spot, self.index.as_str())),
                (Place::Folder, false) => match walk.go([FOLDER_INDEX].into_iter())? {
                    Place::File(spot) => Some((spot, FOLDER_INDEX)),
                    _ => None,
                },
                _ => None,
            };
            if let Some((spot, name)) = index {
                // At the root of a host there is no path without a slash.
                let is_slashed = path.ending == Ending::Slash || (names.is_empty() && href == "/");
                let there = || Lookup::File { spot, name: name.to_owned() };
                return Ok(if is_slashed { there() } else { Lookup::Elsewhere(Ending::Slash) });
            }
            if page.is_some() {
                return Ok(Lookup::Elsewhere(Ending::Name));
            }
        }
        if self.fallback == Fallback::Spa && path.is_route() {
            if let Some(spot) = self.index_of_top(&mut self.folder.walk())? {
                return Ok(Lookup::File { spot, name: self.index.clone() });
            }
        }
        Ok(Lookup::Nothing)
    }

    fn index_of_top(&self, walk: &mut Walk<'_>) -> io::Result<Option<Spot>> {
        let names = self.index.split('/').filter(|name| !matches!(*name, "" | "."));
        Ok(match walk.go(names)? {
            Place::File(spot) => Some(spot),
            Place::Folder | Place::Nothing => None,
        })
    }

    fn is_hidden(&self, names: &[String]) -> bool {
        names.first().is_some_and(|name| self.hidden.iter().any(|hidden| hidden.eq_ignore_ascii_case(name)))
    }

    pub(crate) async fn send(
        &self,
        ask: Ask<'_>,
        spot: Spot,
        folders: &[String],
        name: &str,
        href: &str,
    ) -> Result<Response, OpenError> {
        let media = Media::of(name);
        let cache_control = cache_control(folders, name, media, self.audience);
        if let Some(injection) = &self.injection {
            if media.is_html() && spot.identity.size <= LARGEST_PAGE {
                let Content { bytes, etag } = self.page(spot, injection.clone(), href).await?;
                let length = bytes.len() as u64;
                // No date: what is injected changes without the file.
                let (coding, choice, modified) = (None, Choice::One, None);
                let page = Representation { media, coding, choice, cache_control, etag, modified, length };
                return Ok(match page.plan(ask.method, ask.headers) {
                    Plan::Done(response) => response,
                    Plan::Fill { response, start, length } => fill(response, slice(&bytes, start, length)),
                });
            }
        }
        let extent = if ask.headers.contains("range") { Extent::Part } else { Extent::Whole };
        let (coding, choice, spot) = match choose(&spot, media, ask.headers, extent) {
            Variant::Only => (None, Choice::One, spot),
            Variant::Plain => (None, Choice::ByEncoding, spot),
            Variant::Coded(coding, variant) => (Some(coding), Choice::ByEncoding, variant),
        };
        let (etag, modified, length) = (spot.identity.etag(), spot.identity.modified(), spot.identity.size);
        let file = Representation { media, coding, choice, cache_control, etag, modified, length };
        Ok(match file.plan(ask.method, ask.headers) {
            Plan::Done(response) => response,
            Plan::Fill { response, start, length } if spot.identity.size <= SMALL => {
                fill(response, slice(&self.small(spot).await?.bytes, start, length))
            }
            Plan::Fill { response, start, length } => {
                fill(response, Body::Stream(Box::new(FileStream::new(spot.open()?, start, length)?)))
            }
        })
    }

    /// A small file's content.
    async fn small(&self, spot: Spot) -> Result<Content, OpenError> {
        let key = Key { identity: spot.identity, base: None };
        self.remembered(key, move || Ok(Content { bytes: spot.read()?.into(), etag: spot.identity.etag() })).await
    }

    /// A page with what is injected.
    async fn page(&self, spot: Spot, injection: Arc<Injection>, href: &str) -> Result<Content, OpenError> {
        let key = Key { identity: spot.identity, base: Some(href.into()) };
        let href = href.to_owned();
        self.remembered(key, move || {
            let bytes = injection.apply(spot.read()?, &href);
            Ok(Content { etag: Etag::of_content(&bytes), bytes })
        })
        .await
    }

    async fn remembered(
        &self,
        key: Key,
        read: impl FnOnce() -> Result<Content, OpenError> + Send + 'static,
    ) -> Result<Content, OpenError> {
        if let Some(content) = self.memory.get(&key) {
            return Ok(content);
        }
        let now = SystemTime::now();
        let content = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
        self.memory.keep(key, &content, now);
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

fn redirect(ask: Ask<'_>, path: &RequestPath, ending: Ending, href: &str) -> Response {
    let mut location = format!("{href}{}", path.encoded(ending));
    if let Some(query) = ask.query {
        location.push('?');
        push_query(&mut location, query);
    }
    let mut headers = Headers::with_capacity(2, 64 + location.len());
    headers.push(b"location", location.as_bytes());
    // What is a folder today may be a file tomorrow.
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
