//! One connection of a program in a sandbox to the proxy: one request, then bytes in both
//! directions until either side ends.

use std::time::Duration;

use hearth_egress::FetchError;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::time::timeout;

use super::ProxyPolicy;
use super::head::{self, ProxyRequest};
use crate::driver::BidiStream;
use crate::hint::Hint;

/// Time for a program to send its request head.
const CONNECT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn serve_connection(mut connection: Box<dyn BidiStream>, policy: &ProxyPolicy) {
    // An error only means that the program or the server broke the connection.
    let _ended = serve(&mut connection, policy).await;
}

async fn serve(connection: &mut Box<dyn BidiStream>, policy: &ProxyPolicy) -> std::io::Result<()> {
    let (head, rest) = match timeout(CONNECT_REQUEST_TIMEOUT, read_head(connection)).await {
        Ok(read) => read?,
        Err(_) => return refuse(connection, "408 Request Timeout", "no request came").await,
    };
    let (authority, first) = match head::parse(&head) {
        Ok(ProxyRequest::Tunnel { authority }) => (authority, None),
        Ok(ProxyRequest::Request { authority, head }) => (authority, Some(head)),
        Ok(ProxyRequest::Package(asked)) => {
            return match &policy.mirror {
                Some(mirror) => mirror.serve(connection, policy, &asked).await,
                None => refuse(connection, "403 Forbidden", "there is no package mirror here").await,
            };
        }
        Err(reason) => return refuse(connection, "400 Bad Request", reason).await,
    };
    let mut server = match policy.dialer.dial(&authority).await {
        Ok(server) => server,
        Err(error) => {
            if let FetchError::Denied(denied) = &error {
                return denied_by(connection, policy, &denied.host).await;
            }
            let status = match error {
                FetchError::Url { .. } => "400 Bad Request",
                _ => "502 Bad Gateway",
            };
            return refuse(connection, status, &error.to_string()).await;
        }
    };
    match first {
        None => connection.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Some(head) => server.write_all(&head).await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(connection, &mut server).await?;
    Ok(())
}

/// The head, and what came after it.
async fn read_head(connection: &mut Box<dyn BidiStream>) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = head::end(&bytes) {
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() > head::MAX_HEAD_BYTES {
            // `parse` refuses it as a head without an end.
            return Ok((bytes, Vec::new()));
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Refuses the connection with the setting that would allow it, and records the refusal for the
/// result of the running command.
pub(super) async fn denied_by(
    connection: &mut Box<dyn BidiStream>,
    policy: &ProxyPolicy,
    host: &str,
) -> std::io::Result<()> {
    policy.refusals.record(host, policy.reach);
    let hint = Hint::Refused { host: host.to_owned(), reach: policy.reach };
    refuse(connection, "403 Forbidden", &hint.to_string()).await
}

pub(super) async fn refuse(connection: &mut Box<dyn BidiStream>, status: &str, reason: &str) -> std::io::Result<()> {
    let length = reason.len() + 1;
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(reason.as_bytes()).await?;
    connection.write_all(b"\n").await?;
    connection.shutdown().await
}
