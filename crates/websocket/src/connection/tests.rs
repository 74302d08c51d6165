#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_core::websocket::{Message, Sent, socket_pair};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::*;

/// A client that writes frames by hand, an app's end, and the server's connection between them.
struct Stage {
    client: DuplexStream,
    read_buf: BytesMut,
    decoder: Decoder,
    encoder: Encoder,
    app: SocketEnd,
    connection: JoinHandle<Ended>,
}

fn text(text: &str) -> Message {
    Message::Text(text.to_owned())
}

impl Stage {
    fn new() -> Self {
        Self::with(Config::default(), Duration::ZERO)
    }

    fn with(config: Config, silence: Duration) -> Self {
        let (client, server) = duplex(4 * 1024);
        let (app, end) = socket_pair(silence);
        let connection = Connection::new(server, BytesMut::new(), Role::Server, Box::new(end), config);
        Self {
            client,
            read_buf: BytesMut::new(),
            decoder: Decoder::new(Role::Client, ByteSize::mb(32)),
            encoder: Encoder::new(Role::Client),
            app,
            connection: tokio::spawn(connection.run()),
        }
    }

    async fn send(&mut self, message: Message) {
        let mut write_queue = FrameQueue::default();
        self.encoder.message(message, &mut write_queue);
        self.client.write_all(&write_queue.take()).await.unwrap();
    }

    async fn close(&mut self, close: Close) {
        let mut write_queue = FrameQueue::default();
        self.encoder.close(&close, &mut write_queue);
        self.client.write_all(&write_queue.take()).await.unwrap();
    }

    /// What the client receives; `None` at the end of the stream.
    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(received) = self.decoder.decode(&mut self.read_buf).unwrap() {
                return Some(received);
            }
            if self.client.read_buf(&mut self.read_buf).await.unwrap() == 0 {
                return None;
            }
        }
    }

    async fn ended(self) -> Ended {
        drop(self.client);
        self.connection.await.unwrap()
    }
}

#[tokio::test]
async fn messages_go_both_ways_and_pings_are_answered() {
    let mut stage = Stage::new();
    stage.send(text("to the app")).await;
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Message(text("to the app"))));
    stage.app.sender.send(text("to the client"));
    assert_eq!(stage.receive().await, Some(Received::Message(text("to the client"))));
    let mut write_queue = FrameQueue::default();
    stage.encoder.ping(b"?", &mut write_queue);
    stage.client.write_all(&write_queue.take()).await.unwrap();
    assert_eq!(stage.receive().await, Some(Received::Pong(bytes::Bytes::from_static(b"?"))));
}

#[tokio::test]
async fn a_client_closes_and_gets_the_apps_answer() {
    let mut stage = Stage::new();
    stage.send(text("last")).await;
    stage.close(Close::new(4001, "bye")).await;
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Message(text("last"))));
    stage.app.sender.send(text("answer"));
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Close(Close::new(4001, "bye"))));
    stage.app.sender.close(Close::new(4001, "bye"));
    assert_eq!(stage.receive().await, Some(Received::Message(text("answer"))));
    assert_eq!(stage.receive().await, Some(Received::Close(Close::new(4001, "bye"))));
    assert_eq!(stage.receive().await, None);
    assert_eq!(stage.ended().await, Ended::Closed);
}

#[tokio::test]
async fn an_app_closes_and_gets_the_answer() {
    let mut stage = Stage::new();
    stage.app.sender.close(Close::new(3000, "enough"));
    assert_eq!(stage.receive().await, Some(Received::Close(Close::new(3000, "enough"))));
    stage.send(text("was on its way")).await;
    stage.close(Close::new(3000, "enough")).await;
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Close(Close::new(3000, "enough"))));
    assert_eq!(stage.receive().await, None);
    assert_eq!(stage.ended().await, Ended::Closed);
}

#[tokio::test(start_paused = true)]
async fn unanswered_close_frames_time_out() {
    let mut stage = Stage::new();
    stage.app.sender.close(Close::new(1000, ""));
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Failed(SocketFault::Unanswered)));
    assert_eq!(stage.connection.await.unwrap(), Ended::Failed(SocketFault::Unanswered));

    let mut stage = Stage::new();
    stage.close(Close::new(1000, "")).await;
    assert_eq!(stage.receive().await, Some(Received::Close(Close::new(1000, ""))), "for an app that does not look");
    assert_eq!(stage.ended().await, Ended::Closed);
}

#[tokio::test]
async fn a_connection_without_close_frames_is_lost() {
    let mut stage = Stage::new();
    let mut app = std::mem::replace(&mut stage.app, socket_pair(Duration::ZERO).0);
    assert_eq!(stage.ended().await, Ended::Failed(SocketFault::Lost));
    assert_eq!(app.receiver.next().await, Some(SocketEvent::Failed(SocketFault::Lost)));

    let mut stage = Stage::new();
    stage.app = socket_pair(Duration::ZERO).0;
    assert_eq!(stage.receive().await, Some(Received::Close(Close::new(1001, "the app is gone"))));
}

#[tokio::test]
async fn violations_are_reported_to_both_sides() {
    let mut stage = Stage::with(Config { max_message: ByteSize(1000), ..Config::default() }, Duration::ZERO);
    let limit = ByteSize(1000);
    // All of it is sent before anything is read.
    stage.send(Message::Binary(vec![0; 100_000].into())).await;
    let Some(Received::Close(close)) = stage.receive().await else { panic!("no goodbye") };
    assert_eq!(close.code, Some(1009));
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Failed(SocketFault::TooLarge { limit })));
    assert_eq!(stage.receive().await, None);
    assert_eq!(stage.ended().await, Ended::Failed(SocketFault::TooLarge { limit }));

    let mut stage = Stage::new();
    stage.client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let Some(Received::Close(close)) = stage.receive().await else { panic!("no goodbye") };
    assert_eq!(close.code, Some(1002));
    assert!(matches!(stage.app.receiver.next().await, Some(SocketEvent::Failed(SocketFault::Protocol(_)))));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_peer_is_pinged_and_a_dead_one_is_lost() {
    let mut stage = Stage::new();
    let begin = Instant::now();
    assert_eq!(stage.receive().await, Some(Received::Ping(bytes::Bytes::new())));
    assert_eq!(begin.elapsed().as_secs(), 30);
    let mut write_queue = FrameQueue::default();
    stage.encoder.pong(b"", &mut write_queue);
    stage.client.write_all(&write_queue.take()).await.unwrap();
    assert_eq!(stage.receive().await, Some(Received::Ping(bytes::Bytes::new())));
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Failed(SocketFault::Lost)));
    assert_eq!(begin.elapsed().as_secs(), 30 + 75);
}

#[tokio::test(start_paused = true)]
async fn silence_has_a_limit_despite_pings() {
    let limit = Duration::from_secs(40);
    let mut stage = Stage::with(Config::default(), limit);
    let begin = Instant::now();
    assert_eq!(stage.receive().await, Some(Received::Ping(bytes::Bytes::new())));
    stage.send(text("not silent")).await;
    assert!(matches!(stage.app.receiver.next().await, Some(SocketEvent::Message(_))));
    assert_eq!(stage.receive().await, Some(Received::Ping(bytes::Bytes::new())));
    let Some(Received::Close(close)) = stage.receive().await else { panic!("no goodbye") };
    assert_eq!((close.code, begin.elapsed().as_secs()), (Some(1001), 70));
    assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Failed(SocketFault::Silent { limit })));
}

#[tokio::test]
async fn an_app_that_does_not_receive_holds_back_its_peer() {
    let mut stage = Stage::new();
    let piece = Message::Binary(vec![0; 10_000].into());
    let mut sent = 0;
    loop {
        let all = tokio::select! {
            biased;
            () = stage.send(piece.clone()) => false,
            // All tasks that can run have run.
            () = async { for _ in 0..1000 { tokio::task::yield_now().await } } => true,
        };
        if all {
            break;
        }
        sent += 1;
    }
    let most = 2 * 1024 * 1024 / 10_000;
    assert!((50..most).contains(&sent), "{sent} messages");
    for _ in 0..sent {
        assert_eq!(stage.app.receiver.next().await, Some(SocketEvent::Message(piece.clone())));
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_dropped_when_the_app_gives_up() {
    let stage = Stage::new();
    let piece = Message::Binary(vec![0; 100_000].into());
    loop {
        match stage.app.sender.send(piece.clone()) {
            Sent::Yes => tokio::task::yield_now().await,
            Sent::Full => break,
            Sent::Closed => panic!("too early"),
        }
    }
    stage.app.sender.abandon(Close::new(1008, "too slow"));
    assert_eq!(stage.connection.await.unwrap(), Ended::Failed(SocketFault::Unanswered));
}

#[tokio::test]
async fn go_away_sends_a_close_frame_first() {
    let (client, server) = duplex(1024);
    let (mut app, end) = socket_pair(Duration::ZERO);
    let mut connection = Connection::new(server, BytesMut::new(), Role::Server, Box::new(end), Config::default());
    connection.go_away(&Close::new(1001, "restart"));
    tokio::spawn(connection.run());
    // The other side of the same code is a client.
    let (mut peer, end) = socket_pair(Duration::ZERO);
    tokio::spawn(Connection::new(client, BytesMut::new(), Role::Client, Box::new(end), Config::default()).run());
    assert_eq!(peer.receiver.next().await, Some(SocketEvent::Close(Close::new(1001, "restart"))));
    peer.sender.close(Close::new(1001, "restart"));
    assert_eq!(app.receiver.next().await, Some(SocketEvent::Close(Close::new(1001, "restart"))));
}

/// A client that has sent much, all of which can be read at once.
#[tokio::test]
async fn a_busy_connection_yields_to_other_tasks() {
    let (mut encoder, mut write_queue) = (Encoder::new(Role::Client).with(crate::Deflate::On), FrameQueue::default());
    for _ in 0..8 {
        encoder.message(Message::Binary(vec![0; 1 << 20].into()), &mut write_queue);
    }
    let read_buf = BytesMut::from(&write_queue.take()[..]);
    let (_client, server) = duplex(4 * 1024);
    let (mut app, end) = socket_pair(Duration::ZERO);
    let config = Config { deflate: crate::Deflate::On, ..Config::default() };
    let connection = tokio::spawn(Connection::new(server, read_buf, Role::Server, Box::new(end), config).run());
    // One thread, and this task competes for it.
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = turns.clone();
    let other = tokio::spawn(poll_fn(move |cx| -> Poll<()> {
        counter.fetch_add(1, Ordering::Relaxed);
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    let before = turns.load(Ordering::Relaxed);
    for _ in 0..8 {
        assert!(matches!(app.receiver.next().await, Some(SocketEvent::Message(_))));
    }
    assert!(turns.load(Ordering::Relaxed) - before >= 16, "{turns:?}");
    other.abort();
    connection.abort();
}
