//! The reactor through its public API, with connections that echo lines.
#![allow(clippy::unwrap_used)]

use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::BytesMut;
use hearth_reactor::{RawAcceptor, ReactorPool, ReactorSocket, ReadHint, defer_next_write, poll_budget};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// Says when it is dropped.
struct DropSignal(mpsc::UnboundedSender<()>);

impl Drop for DropSignal {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.send(());
    }
}

/// Echoes each line; panics on `panic`.
async fn echo(mut socket: ReactorSocket) -> io::Result<()> {
    let mut received = BytesMut::new();
    loop {
        while let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let line = received.split_to(end + 1);
            assert_ne!(&line[..], b"panic\n", "as the client asked for");
            defer_next_write();
            write_all(&mut socket, &line).await?;
        }
        poll_fn(poll_budget).await;
        let count = poll_fn(|cx| match socket.read_hint(&mut received) {
            ReadHint::Bytes(count) => Poll::Ready(Ok(count)),
            ReadHint::Nothing => Poll::Pending,
            ReadHint::Unknown => std::pin::pin!(socket.read_buf(&mut received)).poll(cx),
        });
        if count.await? == 0 {
            return Ok(());
        }
    }
}

async fn write_all(socket: &mut ReactorSocket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = poll_fn(|cx| Pin::new(&mut *socket).poll_write(cx, bytes)).await?;
        bytes = &bytes[count..];
    }
    Ok(())
}

/// A pool that serves echo connections, the address to connect to, and what hears of each connection's end.
async fn start() -> (Arc<ReactorPool>, std::net::SocketAddr, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = RawAcceptor::new(listener).unwrap();
    let pool = Arc::new(ReactorPool::default());
    let (sender, receiver) = mpsc::unbounded_channel();
    let reactors = pool.clone();
    tokio::spawn(async move {
        loop {
            let (socket, _) = acceptor.accept().await.unwrap();
            let signal = DropSignal(sender.clone());
            let serve = |socket| -> hearth_reactor::ConnectionFuture {
                Box::pin(async move {
                    let _signal = signal;
                    // A client that resets its connection is no failure of the test.
                    let _ = echo(socket).await;
                })
            };
            reactors.add(socket, serve).unwrap();
        }
    });
    (pool, address, receiver)
}

async fn exchange(client: &mut TcpStream, text: &str) {
    client.write_all(text.as_bytes()).await.unwrap();
    let mut answer = vec![0; text.len()];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, text.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_connection_gets_its_own_bytes_in_order() {
    let (pool, address, _ended) = start().await;
    let clients = (0..40).map(|number| {
        tokio::spawn(async move {
            let mut client = TcpStream::connect(address).await.unwrap();
            for round in 0..50 {
                let lines: String = (0..=round % 5).map(|n| format!("{number} {round} {n}\n")).collect();
                exchange(&mut client, &lines).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    pool.stop();
}

/// More than a buffer, more than a socket's buffer, and more than a connection's budget of operations.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_messages_pass_whole() {
    let (pool, address, _ended) = start().await;
    let text = format!("{}\n", "x".repeat(4 * 1024 * 1024));
    let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    let sent = text.clone();
    let writing = tokio::spawn(async move { writer.write_all(sent.as_bytes()).await.unwrap() });
    let mut answer = vec![0; text.len()];
    reader.read_exact(&mut answer).await.unwrap();
    assert!(answer == text.as_bytes());
    writing.await.unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    exchange(&mut client, &"a\n".repeat(1000)).await;
    pool.stop();
}

#[tokio::test]
async fn a_panic_ends_its_connection_alone() {
    let (pool, address, mut ended) = start().await;
    let (mut one, mut other) = (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
    exchange(&mut one, "one\n").await;
    exchange(&mut other, "other\n").await;
    one.write_all(b"panic\n").await.unwrap();
    assert_eq!(one.read(&mut [0; 16]).await.unwrap(), 0);
    ended.recv().await.unwrap();
    exchange(&mut other, "other\n").await;
    pool.stop();
}

#[tokio::test]
async fn stopping_ends_all_connections() {
    let (pool, address, mut ended) = start().await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = TcpStream::connect(address).await.unwrap();
        exchange(&mut client, "open\n").await;
        clients.push(client);
    }
    pool.stop();
    for client in &mut clients {
        ended.recv().await.unwrap();
        assert_eq!(client.read(&mut [0; 16]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_connection() {
    let (pool, address, mut ended) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    exchange(&mut client, "here\n").await;
    drop(client);
    ended.recv().await.unwrap();
    pool.stop();
}

#[tokio::test]
async fn outside_of_a_driver_there_is_no_budget() {
    defer_next_write();
    for _ in 0..1000 {
        assert!(poll_fn(|cx| Poll::Ready(poll_budget(cx))).await.is_ready());
    }
}
