//! Answers requests to package registries: index pages from the registry, cached for a short time,
//! and files from the package cache. The registry is reached over TLS, under the egress policy of
//! the requesting sandbox. pip and npm check the hash of each file, which its page names.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_core::{Body, ByteSize, Headers, Method};
use hearth_egress::{Client, FetchError, FetchRequest, RedirectMode};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::ProxyPolicy;
use super::connection::{denied_by, refuse};
use super::head::PackageRequest;
use super::package_cache::{CachedFile, PackageCache};
use super::registry::{Item, Registries, Registry};
use crate::driver::BidiStream;

/// How long a cached page is served without asking the registry.
const PAGE_TTL: Duration = Duration::from_secs(60);
/// Size of a page, pages fetched at once, and size of all cached pages.
const MAX_PAGE_SIZE: ByteSize = ByteSize::mb(32);
const MAX_PAGE_FETCHES: usize = 4;
const MAX_PAGES_SIZE: ByteSize = ByteSize::mb(64);
const MAX_FILE_SIZE: ByteSize = ByteSize::mb(2048);
/// Files fetched at once; others wait.
const MAX_FILE_FETCHES: usize = 4;
/// For a page, and for the response head of a file.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Configuration of the package cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageConfig {
    /// The folder of the cache. `None`: registries are reached like any other host, and nothing is
    /// cached.
    pub folder: Option<PathBuf>,
    /// Size of the cache. Default 2 GB.
    pub size: ByteSize,
    pub registries: Registries,
}

impl Default for PackageConfig {
    fn default() -> Self {
        Self { folder: None, size: ByteSize::mb(2048), registries: Registries::default() }
    }
}

pub(super) struct RegistryMirror {
    pub(super) registries: Registries,
    cache: Arc<PackageCache>,
    pages: Mutex<Pages>,
    page_fetches: Semaphore,
    file_fetches: Arc<Semaphore>,
}

/// By URL and form, with the time at which they were fetched.
type Pages = HashMap<(String, &'static str), (Instant, Page)>;

#[derive(Clone)]
struct Page {
    kind: String,
    text: Bytes,
}

/// An error response.
struct Refusal {
    status: &'static str,
    reason: String,
}

// === impl RegistryMirror ===

impl RegistryMirror {
    pub(super) fn new(registries: Registries, cache: Arc<PackageCache>) -> Self {
        let (page_fetches, file_fetches) =
            (Semaphore::new(MAX_PAGE_FETCHES), Arc::new(Semaphore::new(MAX_FILE_FETCHES)));
        Self { registries, cache, pages: Mutex::default(), page_fetches, file_fetches }
    }

    pub(super) async fn serve(
        self: &Arc<Self>,
        connection: &mut Box<dyn BidiStream>,
        policy: &ProxyPolicy,
        asked: &PackageRequest,
    ) -> std::io::Result<()> {
        let PackageRequest { registry, path, accept, method } = asked;
        if !self.registries.allowed(*registry, &policy.egress) {
            return denied_by(connection, policy, &self.registries.hosts(*registry)).await;
        }
        if method != "GET" {
            return refuse(connection, "405 Method Not Allowed", "packages can be fetched here, and nothing else")
                .await;
        }
        let refusal = match self.registries.item(*registry, path, accept) {
            None => Refusal { status: "404 Not Found", reason: "there is no such package or file".to_owned() },
            Some(Item::Page { url, accept }) => match self.page(&policy.client, *registry, url, accept).await {
                Ok(page) => return write_page(connection, &page).await,
                Err(refusal) => refusal,
            },
            Some(Item::File { url, cache_path }) => match self.file(&policy.client, url, &cache_path).await {
                Ok(file) => return write_file(connection, file).await,
                Err(refusal) => refusal,
            },
        };
        refuse(connection, refusal.status, &refusal.reason).await
    }

    async fn page(
        &self,
        client: &Client,
        registry: Registry,
        url: String,
        accept: &'static str,
    ) -> Result<Page, Refusal> {
        let key = (url, accept);
        if let Some(page) = self.cached_page(&key) {
            return Ok(page);
        }
        let _permit = self.page_fetches.acquire().await.expect("this semaphore is never closed");
        // Another request may have fetched it meanwhile.
        if let Some(page) = self.cached_page(&key) {
            return Ok(page);
        }
        let (kind, body) = fetch(client, &key.0, accept).await?;
        let text = match timeout(RESPONSE_TIMEOUT, collect(body)).await {
            Ok(text) => text?,
            Err(_) => return Err(Refusal::gateway("the registry is too slow".to_owned())),
        };
        let page = Page { kind, text: Bytes::from(self.registries.with_mirror_urls(registry, &text)) };
        let mut pages = self.pages();
        pages.retain(|_, (since, _)| since.elapsed() < PAGE_TTL);
        let size: usize = pages.values().map(|(_, page)| page.text.len()).sum();
        if (size + page.text.len()) as u64 <= MAX_PAGES_SIZE.bytes() {
            pages.insert(key, (Instant::now(), page.clone()));
        }
        Ok(page)
    }

    fn cached_page(&self, key: &(String, &'static str)) -> Option<Page> {
        self.pages().get(key).filter(|(since, _)| since.elapsed() < PAGE_TTL).map(|(_, page)| page.clone())
    }

    async fn file(self: &Arc<Self>, client: &Client, url: String, cache_path: &str) -> Result<CachedFile, Refusal> {
        if let Some(cached) = self.cache.find(cache_path) {
            return Ok(cached);
        }
        let permit = self.file_fetches.clone().acquire_owned().await.expect("this semaphore is never closed");
        // Another request may have fetched it meanwhile.
        if let Some(cached) = self.cache.find(cache_path) {
            return Ok(cached);
        }
        let (_, body) = fetch(client, &url, "*/*").await?;
        let size = match &body {
            Body::Empty => Some(0),
            Body::Full(bytes) => Some(bytes.len() as u64),
            Body::Stream(stream) => stream.remaining(),
        };
        let failed = |error: std::io::Error| Refusal::gateway(format!("the file cannot be cached: {error}"));
        let (cached, writer) = self.cache.insert(cache_path, size).map_err(failed)?;
        if let Some(writer) = writer {
            // Completed even if the requesting program goes away: the file is cached for others.
            tokio::spawn(async move {
                writer.write(body, MAX_FILE_SIZE).await;
                drop(permit);
            });
        }
        Ok(cached)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content type and the body of the response.
async fn fetch(client: &Client, url: &str, accept: &str) -> Result<(String, Body), Refusal> {
    let mut headers = Headers::new();
    headers.push(b"accept", accept.as_bytes());
    let (method, redirect) = (Method::Get, RedirectMode::Error);
    let outgoing = FetchRequest { method, url: url.to_owned(), headers, body: Body::Empty, redirect };
    let response = match timeout(RESPONSE_TIMEOUT, client.send(outgoing)).await {
        Ok(Ok(incoming)) => incoming.response,
        Ok(Err(error @ FetchError::Denied(_))) => {
            return Err(Refusal { status: "403 Forbidden", reason: error.to_string() });
        }
        Ok(Err(error)) => return Err(Refusal::gateway(error.to_string())),
        Err(_) => return Err(Refusal::gateway("the registry does not answer".to_owned())),
    };
    match response.status {
        200 => {
            let kind = response.headers.get("content-type").map(|kind| String::from_utf8_lossy(kind).into_owned());
            Ok((kind.unwrap_or_else(|| "application/octet-stream".to_owned()), response.body))
        }
        404 => Err(Refusal { status: "404 Not Found", reason: "the registry has no such package or file".to_owned() }),
        status => Err(Refusal::gateway(format!("the registry answered with status {status}"))),
    }
}

async fn collect(mut body: Body) -> Result<String, Refusal> {
    let mut all = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| Refusal::gateway(error.to_string()))?;
        if all.len() + piece.len() > MAX_PAGE_SIZE.bytes() as usize {
            return Err(Refusal::gateway(format!("the page is longer than {MAX_PAGE_SIZE}")));
        }
        all.extend_from_slice(&piece);
    }
    String::from_utf8(all).map_err(|_| Refusal::gateway("the page is not UTF-8".to_owned()))
}

async fn write_page(connection: &mut Box<dyn BidiStream>, page: &Page) -> std::io::Result<()> {
    let kind: String = page.kind.chars().filter(|c| !c.is_control()).collect();
    connection.write_all(head(&kind, Some(page.text.len() as u64)).as_bytes()).await?;
    connection.write_all(&page.text).await?;
    connection.shutdown().await
}

async fn write_file(connection: &mut Box<dyn BidiStream>, mut file: CachedFile) -> std::io::Result<()> {
    connection.write_all(head("application/octet-stream", file.size).as_bytes()).await?;
    let mut at = 0;
    // A file that breaks off is shorter than its head says, and has another hash than its page
    // says, so the installer refuses it.
    while let Some(piece) = file.read(at).await? {
        connection.write_all(&piece).await?;
        at += piece.len() as u64;
    }
    connection.shutdown().await
}

fn head(kind: &str, length: Option<u64>) -> String {
    let length = length.map_or(String::new(), |length| format!("content-length: {length}\r\n"));
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{length}connection: close\r\n\r\n")
}

// === impl Refusal ===

impl Refusal {
    fn gateway(reason: String) -> Self {
        Self { status: "502 Bad Gateway", reason }
    }
}
