//! The host's end against an agent whose messages the test writes.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::time::Duration;

use hearth_sandbox_agent::{Blob, TUNNEL_WINDOW, ToGuest};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::super::calls::Calls;
use super::super::tests::{Peer, connected};
use super::super::{AgentConnection, Liveness};
use super::*;

type Connection = Box<dyn BidiStream>;

async fn opened() -> (Agent, Peer, Uplink) {
    let (agent, mut peer) = connected().await;
    let asking = agent.clone();
    let asked = tokio::spawn(async move { asking.open_tunnel().await });
    let AgentRequest::Listen { id, port } = peer.hear().await else { panic!("it is asked to listen") };
    peer.say(AgentReply::Listening { id, port }).await;
    let uplink = asked.await.unwrap().unwrap();
    assert_eq!(uplink.inside, PROXY_ADDR);
    (agent, peer, uplink)
}

async fn send(peer: &mut Peer, id: u32, word: FromGuest) {
    peer.say(AgentReply::Tunnel { conn: TunnelConnId(id), message: word }).await;
}

async fn dial(peer: &mut Peer, uplink: &mut Uplink, id: u32) -> Connection {
    send(peer, id, FromGuest::Opened {}).await;
    uplink.connections.recv().await.unwrap()
}

fn data(bytes: &[u8]) -> FromGuest {
    FromGuest::Data { bytes: Blob(bytes.to_vec()) }
}

/// The next message to a connection.
async fn next_message(peer: &mut Peer) -> (u32, ToGuest) {
    match peer.hear().await {
        AgentRequest::Tunnel { conn: passage, message: word } => (passage.0, word),
        other => panic!("{other:?}"),
    }
}

async fn end_of(agent: &Agent) -> String {
    SandboxError::from(agent.closed().await).to_string()
}

#[tokio::test]
async fn a_connection_is_a_stream_in_both_directions() {
    let (_agent, mut peer, mut uplink) = opened().await;
    let mut connection = dial(&mut peer, &mut uplink, 1).await;
    send(&mut peer, 1, data(b"ques")).await;
    send(&mut peer, 1, data(b"tion")).await;
    send(&mut peer, 1, FromGuest::End {}).await;
    let mut heard = String::new();
    connection.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "question");
    connection.write_all(b"answer").await.unwrap();
    connection.shutdown().await.unwrap();
    assert_eq!(next_message(&mut peer).await, (1, ToGuest::Data { bytes: Blob(b"answer".to_vec()) }));
    assert_eq!(next_message(&mut peer).await, (1, ToGuest::End {}));
    send(&mut peer, 1, FromGuest::Gone {}).await;
    // When the next one is there, the first is known to be gone. It is not closed twice.
    let second = dial(&mut peer, &mut uplink, 2).await;
    drop(connection);
    drop(second);
    assert_eq!(next_message(&mut peer).await, (2, ToGuest::Close {}));
    // It was under way when that was sent.
    send(&mut peer, 2, data(b"late")).await;
    send(&mut peer, 2, FromGuest::Gone {}).await;
    dial(&mut peer, &mut uplink, 3).await;
}

#[tokio::test]
async fn what_breaks_inside_breaks_outside() {
    let (agent, mut peer, mut uplink) = opened().await;
    let mut connection = dial(&mut peer, &mut uplink, 1).await;
    send(&mut peer, 1, data(b"half")).await;
    send(&mut peer, 1, FromGuest::Gone {}).await;
    let mut heard = Vec::new();
    let error = connection.read_to_end(&mut heard).await.unwrap_err();
    assert_eq!((heard.as_slice(), error.kind()), (&b"half"[..], ErrorKind::ConnectionReset));
    assert_eq!(connection.write_all(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    let mut connection = dial(&mut peer, &mut uplink, 2).await;
    drop(peer);
    end_of(&agent).await;
    assert_eq!(connection.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(uplink.connections.recv().await.is_none(), "there are no others");
}

#[tokio::test]
async fn no_more_is_sent_than_the_program_takes_and_calls_come_first() {
    let (agent, mut peer, mut uplink) = opened().await;
    let mut connection = dial(&mut peer, &mut uplink, 1).await;
    let sent: Vec<u8> = (0..3 * TUNNEL_WINDOW).map(|n| (n * 7 + n / 300) as u8).collect();
    let all = sent.clone();
    let writing = tokio::spawn(async move { connection.write_all(&all).await.map(|()| connection) });
    // Once as much as possible is buffered, a call is sent: it does not wait for all that.
    while agent.connection.tunnel.max_buffered() < TUNNEL_WINDOW / 4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(agent.liveness(Duration::from_secs(60)), Liveness::Alive);
    let mut heard = Vec::new();
    loop {
        match peer.hear().await {
            AgentRequest::Tunnel { message: ToGuest::Data { bytes }, .. } => heard.extend(bytes.0),
            AgentRequest::Ping { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(heard.len() < TUNNEL_WINDOW, "{} bytes came before it", heard.len());
    while heard.len() < sent.len() {
        let (_, ToGuest::Data { bytes }) = next_message(&mut peer).await else { panic!("there is more") };
        heard.extend(bytes.0);
        assert!(agent.connection.tunnel.max_buffered() <= TUNNEL_WINDOW);
        if heard.len() % TUNNEL_WINDOW == 0 {
            send(&mut peer, 1, FromGuest::Taken { bytes: TUNNEL_WINDOW as u32 }).await;
        }
    }
    assert!(heard == sent, "nothing is lost or changes its place");
    drop(writing.await.unwrap().unwrap());
    assert_eq!(next_message(&mut peer).await, (1, ToGuest::Close {}));
}

#[tokio::test]
async fn reads_are_acknowledged_and_each_connection_has_its_turn() {
    let (_agent, mut peer, mut uplink) = opened().await;
    let mut connection = dial(&mut peer, &mut uplink, 1).await;
    let (mut sent, mut told) = (0, 0);
    let mut heard = vec![0; TUNNEL_WINDOW / 2];
    while sent < 8 * TUNNEL_WINDOW {
        send(&mut peer, 1, data(&vec![b'x'; TUNNEL_WINDOW / 2])).await;
        sent += TUNNEL_WINDOW / 2;
        connection.read_exact(&mut heard).await.unwrap();
        while sent - told > TUNNEL_WINDOW / 2 {
            let (1, ToGuest::Taken { bytes }) = next_message(&mut peer).await else { panic!("it is told") };
            told += bytes as usize;
        }
    }
    let mut others = Vec::new();
    for id in 2..5 {
        others.push(dial(&mut peer, &mut uplink, id).await);
    }
    // One connection has much to send, and the others get their turn.
    connection.write_all(&vec![b'x'; TUNNEL_WINDOW]).await.unwrap();
    for other in &mut others {
        other.write_all(b"small").await.unwrap();
    }
    let (mut large, mut small) = (0, 0);
    while small < 3 {
        match next_message(&mut peer).await {
            (1, ToGuest::Data { bytes }) => large += bytes.0.len(),
            (_, ToGuest::Data { .. }) => small += 1,
            // For what was read last.
            (1, ToGuest::Taken { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(large < TUNNEL_WINDOW, "they did not wait for all of it");
}

#[tokio::test]
async fn an_agent_that_breaks_the_protocol_is_cut_off() {
    let open = FromGuest::Opened {};
    let (end, gone) = (FromGuest::End {}, FromGuest::Gone {});
    let much = data(&vec![0; TUNNEL_WINDOW + 1]);
    let scenes: [&[(u32, FromGuest)]; 12] = [
        &[(1, data(b"x"))],
        &[(1, gone.clone())],
        &[(1, open.clone()), (1, open.clone())],
        &[(2, open.clone()), (1, open.clone())],
        &[(1, open.clone()), (1, gone.clone()), (1, open.clone())],
        &[(1, open.clone()), (1, gone.clone()), (1, data(b"x"))],
        &[(1, open.clone()), (1, much)],
        &[(1, open.clone()), (1, data(b""))],
        &[(1, open.clone()), (1, end.clone()), (1, data(b"x"))],
        &[(1, open.clone()), (1, end.clone()), (1, end.clone())],
        &[(1, open.clone()), (1, FromGuest::Taken { bytes: 1 })],
        &[(1, open.clone()), (1, FromGuest::Taken { bytes: u32::MAX })],
    ];
    for scene in scenes {
        let (agent, mut peer, _uplink) = opened().await;
        for (id, word) in scene {
            send(&mut peer, *id, word.clone()).await;
        }
        assert_eq!(end_of(&agent).await, "the sandbox's agent is gone: it broke the protocol", "{scene:?}");
    }
    let (agent, mut peer, _uplink) = opened().await;
    for id in 0..=MAX_TUNNEL_CONNS as u32 {
        assert!(agent.is_open());
        send(&mut peer, id, open.clone()).await;
    }
    assert!(end_of(&agent).await.ends_with("it broke the protocol"));
    // This agent was not asked to listen.
    let (agent, mut peer) = connected().await;
    send(&mut peer, 1, open).await;
    assert!(end_of(&agent).await.ends_with("it broke the protocol"));
}

#[tokio::test]
async fn where_it_cannot_listen_there_is_no_sandbox() {
    let (agent, mut peer) = connected().await;
    let asking = agent.clone();
    let asked = tokio::spawn(async move { asking.open_tunnel().await.err() });
    let AgentRequest::Listen { id, .. } = peer.hear().await else { panic!("it is asked to listen") };
    let failure = hearth_sandbox_agent::CallFailure {
        kind: hearth_sandbox_agent::FailureKind::Other,
        message: "taken".to_owned(),
    };
    peer.say(AgentReply::Failed { id, failure }).await;
    let error = asked.await.unwrap().unwrap();
    assert_eq!(error.to_string(), "no sandbox can be started: there is no way to the proxy: taken");
    assert!(agent.is_open());
}

/// Messages of an agent in a simple form.
#[derive(Default)]
struct Law {
    passages: BTreeMap<u32, (usize, bool)>,
    last: Option<u32>,
}

impl Law {
    fn allows(&mut self, id: u32, word: &FromGuest) -> bool {
        let is_new = self.last.is_none_or(|last| last < id) && self.passages.len() < MAX_TUNNEL_CONNS;
        match (word, self.passages.get_mut(&id)) {
            (FromGuest::Opened {}, _) if is_new => {
                self.last = Some(id);
                self.passages.insert(id, (TUNNEL_WINDOW, false)).is_none()
            }
            (FromGuest::Data { bytes }, Some((room, false))) if (1..=*room).contains(&bytes.0.len()) => {
                *room -= bytes.0.len();
                true
            }
            (FromGuest::End {}, Some((_, ended @ false))) => {
                *ended = true;
                true
            }
            // Nothing was sent to any of them.
            (FromGuest::Taken { bytes: 0 }, Some(_)) => true,
            (FromGuest::Gone {}, Some(_)) => self.passages.remove(&id).is_some(),
            _ => false,
        }
    }
}

fn words() -> impl Strategy<Value = FromGuest> {
    let sizes = prop_oneof![4 => 1..2_000usize, 1 => Just(0), 2 => 30_000..70_000usize];
    prop_oneof![
        4 => Just(FromGuest::Opened {}),
        8 => sizes.prop_map(|size| data(&vec![7; size])),
        2 => Just(FromGuest::End {}),
        1 => (0..3u32).prop_map(|bytes| FromGuest::Taken { bytes }),
        3 => Just(FromGuest::Gone {}),
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_is_judged_as_the_law_has_it(said in prop::collection::vec((0..90u32, words(), 0..4u8), 0..200)) {
        let (ours, _theirs) = tokio::io::duplex(1 << 10);
        let (_, writer) = tokio::io::split(Box::new(ours) as Box<dyn BidiStream>);
        let connection = Arc::new(AgentConnection::new(Calls::new(), writer, Vec::new()));
        let (sender, mut connections) = mpsc::channel(MAX_TUNNEL_CONNS);
        connection.tunnel.open(sender);
        let (mut law, mut kept) = (Law::default(), VecDeque::new());
        for (at, (id, word, fate)) in said.into_iter().enumerate() {
            // Mostly ids that make sense.
            let id = match word {
                FromGuest::Opened {} if id > 5 => at as u32 + 100,
                _ => law.last.unwrap_or(0).saturating_sub(id / 30),
            };
            let allowed = law.allows(id, &word);
            let heard = connection.tunnel.receive(&connection, TunnelConnId(id), word);
            prop_assert_eq!(heard.is_ok(), allowed);
            prop_assert!(connection.tunnel.max_buffered() <= TUNNEL_WINDOW);
            if !allowed {
                break;
            }
            kept.extend(connections.try_recv().ok());
            // The proxy drops some streams.
            if fate == 0 {
                kept.pop_front();
            }
        }
        connection.close(super::super::Closed::Destroyed);
        prop_assert!(connection.tunnel.lock().conns.is_empty());
    }
}
