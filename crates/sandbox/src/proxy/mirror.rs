//! Answers what programs ask of a registry of packages: pages from the registry, which are kept for a moment, and files from
//! the shelf, where there are those that somebody has asked for before. The registry is asked over TLS, under the policy of the
//! sandbox that asks; pip and npm look at the hash of each file, which its page names.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_core::{Body, ByteSize, Headers, Method};
use hearth_egress::{Client, FetchError, Outgoing, RedirectMode};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Exit;
use super::carry::{denied_by, refuse};
use super::head::PackageRequest;
use super::registry::{Item, Registries, Registry};
use super::shelf::{Parcel, Shelf};
use crate::driver::ByteStream;

/// How long a page is taken for what the registry would say.
const FRESH: Duration = Duration::from_secs(60);
/// The longest page, how many are asked for at once, and all that are kept.
const LONGEST_PAGE: ByteSize = ByteSize::mb(32);
const ASKING: usize = 4;
const PAGES: ByteSize = ByteSize::mb(64);
/// The largest file.
const LARGEST_FILE: ByteSize = ByteSize::mb(2048);
/// Files on their way at once; others wait.
const COMING: usize = 4;
/// For a page, and for the head of a file's answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How packages are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageConfig {
    /// Where files of packages are kept for other sandboxes. `None`: registries are reached as any other host, and nothing is
    /// kept.
    pub folder: Option<PathBuf>,
    /// All of them together. Default 2 GB.
    pub size: ByteSize,
    pub registries: Registries,
}

impl Default for PackageConfig {
    fn default() -> Self {
        Self { folder: None, size: ByteSize::mb(2048), registries: Registries::default() }
    }
}

pub(super) struct Mirror {
    pub(super) registries: Registries,
    shelf: Arc<Shelf>,
    pages: Mutex<Pages>,
    asking: Semaphore,
    coming: Arc<Semaphore>,
}

/// By address and form, with the time at which they came.
type Pages = HashMap<(String, &'static str), (Instant, Page)>;

#[derive(Clone)]
struct Page {
    kind: String,
    text: Bytes,
}

/// Why there is no answer but this.
struct Refusal {
    status: &'static str,
    reason: String,
}

// === impl Mirror ===

impl Mirror {
    pub(super) fn new(registries: Registries, shelf: Arc<Shelf>) -> Self {
        let (asking, coming) = (Semaphore::new(ASKING), Arc::new(Semaphore::new(COMING)));
        Self { registries, shelf, pages: Mutex::default(), asking, coming }
    }

    pub(super) async fn serve(
        self: &Arc<Self>,
        connection: &mut Box<dyn ByteStream>,
        exit: &Exit,
        asked: &PackageRequest,
    ) -> std::io::Result<()> {
        let PackageRequest { registry, path, accept, method } = asked;
        if !self.registries.allowed(*registry, &exit.policy) {
            return denied_by(connection, exit, &self.registries.hosts(*registry)).await;
        }
        if method != "GET" {
            return refuse(connection, "405 Method Not Allowed", "packages can be fetched here, and nothing else")
                .await;
        }
        let refusal = match self.registries.item(*registry, path, accept) {
            None => Refusal { status: "404 Not Found", reason: "there is no such package or file".to_owned() },
            Some(Item::Page { url, accept }) => match self.page(&exit.client, *registry, url, accept).await {
                Ok(page) => return write_page(connection, &page).await,
                Err(refusal) => refusal,
            },
            Some(Item::File { url, place }) => match self.file(&exit.client, url, &place).await {
                Ok(parcel) => return write_file(connection, parcel).await,
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
        if let Some(page) = self.kept(&key) {
            return Ok(page);
        }
        let _turn = self.asking.acquire().await.expect("nobody closes this semaphore");
        // Somebody else may have asked for it meanwhile.
        if let Some(page) = self.kept(&key) {
            return Ok(page);
        }
        let (kind, body) = fetch(client, &key.0, accept).await?;
        let text = match timeout(PATIENCE, collect(body)).await {
            Ok(text) => text?,
            Err(_) => return Err(Refusal::gateway("the registry is too slow".to_owned())),
        };
        let page = Page { kind, text: Bytes::from(self.registries.localised(registry, &text)) };
        let mut pages = self.pages();
        pages.retain(|_, (since, _)| since.elapsed() < FRESH);
        let size: usize = pages.values().map(|(_, page)| page.text.len()).sum();
        if (size + page.text.len()) as u64 <= PAGES.bytes() {
            pages.insert(key, (Instant::now(), page.clone()));
        }
        Ok(page)
    }

    fn kept(&self, key: &(String, &'static str)) -> Option<Page> {
        self.pages().get(key).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, page)| page.clone())
    }

    async fn file(self: &Arc<Self>, client: &Client, url: String, place: &str) -> Result<Parcel, Refusal> {
        if let Some(parcel) = self.shelf.find(place) {
            return Ok(parcel);
        }
        let permit = self.coming.clone().acquire_owned().await.expect("nobody closes this semaphore");
        // Somebody else may have asked for it meanwhile.
        if let Some(parcel) = self.shelf.find(place) {
            return Ok(parcel);
        }
        let (_, body) = fetch(client, &url, "*/*").await?;
        let size = match &body {
            Body::Empty => Some(0),
            Body::Full(bytes) => Some(bytes.len() as u64),
            Body::Stream(stream) => stream.remaining(),
        };
        let (parcel, delivery) =
            self.shelf.expect(place, size).map_err(|error| Refusal::gateway(format!("it cannot be kept: {error}")))?;
        if let Some(delivery) = delivery {
            // Also when who asked for it goes away: others will want it.
            tokio::spawn(async move {
                delivery.take(body, LARGEST_FILE).await;
                drop(permit);
            });
        }
        Ok(parcel)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind and the body of what is there.
async fn fetch(client: &Client, url: &str, accept: &str) -> Result<(String, Body), Refusal> {
    let mut headers = Headers::new();
    headers.push(b"accept", accept.as_bytes());
    let (method, redirect) = (Method::Get, RedirectMode::Error);
    let outgoing = Outgoing { method, url: url.to_owned(), headers, body: Body::Empty, redirect };
    let response = match timeout(PATIENCE, client.send(outgoing)).await {
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
        if all.len() + piece.len() > LONGEST_PAGE.bytes() as usize {
            return Err(Refusal::gateway(format!("the page is longer than {LONGEST_PAGE}")));
        }
        all.extend_from_slice(&piece);
    }
    String::from_utf8(all).map_err(|_| Refusal::gateway("the page is not UTF-8".to_owned()))
}

async fn write_page(connection: &mut Box<dyn ByteStream>, page: &Page) -> std::io::Result<()> {
    let kind: String = page.kind.chars().filter(|c| !c.is_control()).collect();
    connection.write_all(head(&kind, Some(page.text.len() as u64)).as_bytes()).await?;
    connection.write_all(&page.text).await?;
    connection.shutdown().await
}

async fn write_file(connection: &mut Box<dyn ByteStream>, mut parcel: Parcel) -> std::io::Result<()> {
    connection.write_all(head("application/octet-stream", parcel.size).as_bytes()).await?;
    let mut at = 0;
    // A file that breaks off is shorter than its head says, and has another hash than its page says.
    while let Some(piece) = parcel.read(at).await? {
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
