//! One connection of a sandbox's program to the proxy: one request, then bytes in both directions until either side ends.

use std::time::Duration;

use hearth_egress::FetchError;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::time::timeout;

use super::Exit;
use super::head::{self, Asked};
use crate::driver::ByteStream;
use crate::hint::Hint;

/// How long a program may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn carry(mut connection: Box<dyn ByteStream>, exit: &Exit) {
    // A program that breaks its connection is its own matter; so is what it does then.
    let _ended = serve(&mut connection, exit).await;
}

async fn serve(connection: &mut Box<dyn ByteStream>, exit: &Exit) -> std::io::Result<()> {
    let (head, rest) = match timeout(PATIENCE, read_head(connection)).await {
        Ok(read) => read?,
        Err(_) => return refuse(connection, "408 Request Timeout", "no request came").await,
    };
    let (authority, first) = match head::parse(&head) {
        Ok(Asked::Tunnel { authority }) => (authority, None),
        Ok(Asked::Request { authority, head }) => (authority, Some(head)),
        Ok(Asked::Package(asked)) => {
            return match &exit.mirror {
                Some(mirror) => mirror.serve(connection, exit, &asked).await,
                None => refuse(connection, "403 Forbidden", "no packages are kept here").await,
            };
        }
        Err(reason) => return refuse(connection, "400 Bad Request", reason).await,
    };
    let mut server = match exit.dialer.dial(&authority).await {
        Ok(server) => server,
        Err(error) => {
            if let FetchError::Denied(denied) = &error {
                return denied_by(connection, exit, &denied.host).await;
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
async fn read_head(connection: &mut Box<dyn ByteStream>) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = head::end(&bytes) {
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() > head::LONGEST {
            // Taken for what it is: a head without an end.
            return Ok((bytes, Vec::new()));
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Says what would help, and remembers it for the result of whatever asked.
pub(super) async fn denied_by(connection: &mut Box<dyn ByteStream>, exit: &Exit, host: &str) -> std::io::Result<()> {
    exit.refusals.note(host, exit.reach);
    let hint = Hint::Refused { host: host.to_owned(), reach: exit.reach };
    refuse(connection, "403 Forbidden", &hint.to_string()).await
}

pub(super) async fn refuse(connection: &mut Box<dyn ByteStream>, status: &str, reason: &str) -> std::io::Result<()> {
    let length = reason.len() + 1;
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(reason.as_bytes()).await?;
    connection.write_all(b"\n").await?;
    connection.shutdown().await
}
