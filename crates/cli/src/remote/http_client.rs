//! The HTTP client of the admin API: requests over `hearth-egress` (hyper, rustls), with a blocking interface. All work is done
//! while a call waits, on a runtime of one thread.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Headers, Method};
use hearth_egress::{
    Client, Config, EgressPolicy, FetchError, FetchRequest, RedirectMode, RootError, certificates_from_pem,
};
use tokio::runtime::{Builder, Runtime};

use super::address::AdminAddress;
use super::error::RemoteError;

/// How often the progress of an upload is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Size of the pieces in which a request body is read.
const UPLOAD_CHUNK: usize = 64 * 1024;

pub(super) struct HttpClient {
    runtime: Arc<Runtime>,
    client: Client,
}

/// A response's body. Reading fails if the connection ends before the body does.
pub(super) struct ResponseBody {
    runtime: Arc<Runtime>,
    /// `None` after the end.
    body: Option<Body>,
    unread: Bytes,
}

/// A request's body, read while it is sent.
struct RequestBody {
    input: Box<dyn Read + Send>,
    remaining: u64,
    sent: Arc<AtomicU64>,
}

pub(super) struct Request<'a> {
    pub(super) method: &'a Method,
    pub(super) url: String,
    pub(super) token: &'a str,
    pub(super) body: Box<dyn Read + Send>,
    pub(super) length: u64,
}

// === impl HttpClient ===

impl HttpClient {
    /// For one server. Trusts Mozilla's certificate authorities, and those in `ca_file` (PEM).
    pub(super) fn new(address: &AdminAddress, ca_file: Option<&Path>) -> Result<Self, RemoteError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| RemoteError::Client(error.to_string()))?;
        // Redirects are not followed, so no URL is resolved.
        let mut config = Config::new(|_: &str, _: &str| None);
        if let Some(path) = ca_file {
            config.extra_roots = certificates(path)?;
        }
        let egress = config.build().map_err(|error| match ca_file {
            Some(path) => ca_error(path, &error),
            None => RemoteError::Client(error.to_string()),
        })?;
        // The address by name too: some ports are blocked for apps unless an entry names them.
        let policy = EgressPolicy::parse(&format!("0.0.0.0/0,::/0,{}", address.authority()));
        let client = egress.client(policy.unwrap_or_else(|_| EgressPolicy::all()));
        Ok(Self { runtime: Arc::new(runtime), client })
    }

    /// Sends the request and waits for the head of the response. Reports the bytes that were sent while it waits.
    pub(super) fn send(
        &self,
        request: Request<'_>,
        mut progress: impl FnMut(u64),
    ) -> Result<(u16, ResponseBody), FetchError> {
        let Request { method, url, token, body, length } = request;
        let mut headers = Headers::new();
        headers.push(b"authorization", format!("Bearer {token}").as_bytes());
        headers.push(b"user-agent", b"hearth");
        // Events must come as they happen: a compressor would hold them back.
        headers.push(b"accept-encoding", b"identity");
        let sent = Arc::new(AtomicU64::new(0));
        let body = match length {
            0 => Body::Empty,
            remaining => Body::Stream(Box::new(RequestBody { input: body, remaining, sent: sent.clone() })),
        };
        let outgoing = FetchRequest { method: method.clone(), url, headers, body, redirect: RedirectMode::Manual };
        let exchange = async {
            let mut response = std::pin::pin!(self.client.send(outgoing));
            loop {
                match tokio::time::timeout(PROGRESS_INTERVAL, &mut response).await {
                    Ok(response) => return response,
                    Err(_) => progress(sent.load(Ordering::Relaxed)),
                }
            }
        };
        let response = self.runtime.block_on(exchange)?.response;
        let body = ResponseBody { runtime: self.runtime.clone(), body: Some(response.body), unread: Bytes::new() };
        Ok((response.status, body))
    }
}

fn certificates(path: &Path) -> Result<Vec<hearth_egress::CertificateDer<'static>>, RemoteError> {
    let pem = std::fs::read(path);
    let pem = pem.map_err(|source| RemoteError::File { action: "read", path: path.to_owned(), source })?;
    certificates_from_pem(&pem).map_err(|error| ca_error(path, &error))
}

fn ca_error(path: &Path, error: &RootError) -> RemoteError {
    RemoteError::CaFile { path: path.to_owned(), reason: error.to_string() }
}

// === impl ResponseBody ===

impl Read for ResponseBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unread.is_empty() {
            match self.body.take() {
                None | Some(Body::Empty) => return Ok(0),
                Some(Body::Full(bytes)) => self.unread = bytes,
                Some(Body::Stream(mut stream)) => {
                    let next = self.runtime.block_on(std::future::poll_fn(|cx| stream.poll_next(cx)));
                    let Some(piece) = next else { return Ok(0) };
                    self.unread = piece.map_err(io::Error::other)?;
                    self.body = Some(Body::Stream(stream));
                }
            }
        }
        let count = buffer.len().min(self.unread.len());
        buffer[..count].copy_from_slice(&self.unread.split_to(count));
        Ok(count)
    }
}

// === impl RequestBody ===

impl ByteStream for RequestBody {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.remaining == 0 {
            return Poll::Ready(None);
        }
        let mut chunk = vec![0; UPLOAD_CHUNK.min(usize::try_from(self.remaining).unwrap_or(UPLOAD_CHUNK))];
        Poll::Ready(Some(match self.input.read(&mut chunk) {
            Ok(0) => Err(BodyError::Failed("the file became shorter while it was sent".to_owned())),
            Ok(read) => {
                chunk.truncate(read);
                self.remaining -= read as u64;
                self.sent.fetch_add(read as u64, Ordering::Relaxed);
                Ok(Bytes::from(chunk))
            }
            Err(error) => Err(BodyError::Failed(error.to_string())),
        }))
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.remaining)
    }
}
