//! The client against an agent whose answers the test writes.

use std::collections::VecDeque;

use bytes::Bytes;
use hearth_sandbox_agent::{Blob, End, Exec, FrameDecoder, GuestCommand, OutputStream, Signal, Stdin, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;
use crate::exec::ExecEvent;

/// The agent's end of the stream.
pub(super) struct Peer {
    stream: DuplexStream,
    decoder: FrameDecoder,
    heard: VecDeque<AgentRequest>,
}

impl Peer {
    pub(super) async fn hear(&mut self) -> AgentRequest {
        let mut buffer = vec![0; 64 << 10];
        loop {
            while let Some(request) = self.decoder.message().unwrap() {
                self.heard.push_back(request);
            }
            if let Some(request) = self.heard.pop_front() {
                return request;
            }
            let count = self.stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "the client hung up");
            self.decoder.push(&buffer[..count]);
        }
    }

    pub(super) async fn say(&mut self, answer: AgentReply) {
        let mut bytes = Vec::new();
        encode(&answer, &mut bytes).unwrap();
        self.stream.write_all(&bytes).await.unwrap();
    }

    async fn hear_exec(&mut self) -> AgentCallId {
        match self.hear().await {
            AgentRequest::Exec { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    async fn print(&mut self, id: AgentCallId, text: &str) {
        self.say(AgentReply::Output { id, stream: OutputStream::Stdout, bytes: Blob(text.as_bytes().to_vec()) }).await;
    }

    async fn exit(&mut self, id: AgentCallId, code: u8) {
        let (timed_out, truncated, duration) = (false, false, Duration::from_millis(1));
        self.say(AgentReply::Exit { id, end: End::Code { code }, timed_out, truncated, duration }).await;
    }
}

fn stream() -> (Box<dyn BidiStream>, Peer) {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    (Box::new(ours), Peer { stream: theirs, decoder: FrameDecoder::new(), heard: VecDeque::new() })
}

pub(super) async fn connected() -> (Agent, Peer) {
    let (ours, mut peer) = stream();
    let connecting = tokio::spawn(Agent::connect(ours));
    let AgentRequest::Hello { version, nonce } = peer.hear().await else { panic!("the first is a hello") };
    // Answers to an earlier client.
    peer.say(AgentReply::Pong { id: AgentCallId(7) }).await;
    peer.say(AgentReply::Hello { version, nonce: nonce ^ 1, languages: vec![] }).await;
    peer.say(AgentReply::Hello { version, nonce, languages: vec![Language::Sh] }).await;
    let agent = connecting.await.unwrap().unwrap();
    assert_eq!(agent.languages(), [Language::Sh]);
    (agent, peer)
}

fn command() -> Exec {
    Exec {
        command: GuestCommand::Shell { line: "true".to_owned() },
        env: vec![],
        cwd: None,
        stdin: Stdin::Empty {},
        timeout: Duration::from_secs(10),
        output_limit: 100,
    }
}

async fn text(run: &mut Run) -> Result<String, SandboxError> {
    let mut out = Vec::new();
    loop {
        match run.next().await? {
            ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes) => out.extend_from_slice(&bytes),
            ExecEvent::Omitted(..) | ExecEvent::SessionLost => {}
            ExecEvent::Ended(end) => return Ok(format!("{} {:?}", String::from_utf8_lossy(&out), end.exit_code)),
        }
    }
}

async fn ping(agent: &Agent) -> Result<(), SandboxError> {
    agent.liveness(CALL_TIMEOUT);
    agent.answered().await
}

fn lost(error: &SandboxError) -> bool {
    matches!(error, SandboxError::AgentLost { .. })
}

#[tokio::test]
async fn answers_reach_their_own_call_whatever_their_order() {
    let (agent, mut peer) = connected().await;
    let mut first = agent.exec(command()).await.unwrap();
    let mut second = agent.exec(command()).await.unwrap();
    let (one, two) = (peer.hear_exec().await, peer.hear_exec().await);
    peer.print(two, "two").await;
    peer.print(one, "one").await;
    peer.print(two, "!").await;
    peer.exit(two, 2).await;
    peer.exit(one, 1).await;
    assert_eq!(text(&mut first).await.unwrap(), "one Some(1)");
    assert_eq!(text(&mut second).await.unwrap(), "two! Some(2)");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_its_late_answers_are_discarded() {
    let (agent, mut peer) = connected().await;
    let dropped = agent.exec(command()).await.unwrap();
    let late = peer.hear_exec().await;
    drop(dropped);
    assert_eq!(peer.hear().await, AgentRequest::Cancel { id: late });
    let mut next = agent.exec(command()).await.unwrap();
    let id = peer.hear_exec().await;
    assert_ne!(id, late);
    peer.print(late, "late").await;
    peer.exit(late, 9).await;
    peer.print(id, "own").await;
    peer.exit(id, 0).await;
    assert_eq!(text(&mut next).await.unwrap(), "own Some(0)");
    drop(next);
    agent.signal(AgentCallId(99), Signal(15));
    let heard = peer.hear().await;
    assert_eq!(
        heard,
        AgentRequest::Signal { id: AgentCallId(99), signal: Signal(15) },
        "what has ended is not cancelled"
    );
}

#[tokio::test]
async fn when_the_agent_goes_every_call_ends_and_new_ones_do_not_begin() {
    let (agent, mut peer) = connected().await;
    let mut run = agent.exec(command()).await.unwrap();
    let id = peer.hear_exec().await;
    peer.print(id, "half").await;
    drop(peer);
    assert_eq!(run.next().await.unwrap(), ExecEvent::Stdout(Bytes::from_static(b"half")));
    assert!(lost(&run.next().await.unwrap_err()));
    assert!(matches!(agent.closed().await, Closed::Lost(_)));
    assert!(lost(&ping(&agent).await.unwrap_err()));
    assert!(lost(&agent.exec(command()).await.err().unwrap()));
    assert_eq!(agent.liveness(CALL_TIMEOUT), Liveness::Unresponsive);
}

#[tokio::test]
async fn closing_ends_every_call_with_the_first_reason() {
    let (agent, mut peer) = connected().await;
    let mut run = agent.exec(command()).await.unwrap();
    peer.hear_exec().await;
    agent.close(Closed::Destroyed);
    assert_eq!(run.next().await, Err(SandboxError::Destroyed));
    assert_eq!(ping(&agent).await, Err(SandboxError::Destroyed));
    agent.close(Closed::Lost("later".to_owned()));
    assert_eq!(ping(&agent).await, Err(SandboxError::Destroyed), "the first reason counts");
}

#[tokio::test]
async fn an_agent_that_breaks_the_protocol_is_cut_off() {
    // More output than was asked for.
    let (agent, mut peer) = connected().await;
    let mut run = agent.exec(command()).await.unwrap();
    let id = peer.hear_exec().await;
    for _ in 0..3 {
        let bytes = Blob(vec![0; hearth_sandbox_agent::CHUNK]);
        let mut frame = Vec::new();
        encode(&AgentReply::Output { id, stream: OutputStream::Stdout, bytes }, &mut frame).unwrap();
        // The connection may be cut off during the write.
        let _cut = peer.stream.write_all(&frame).await;
    }
    assert!(lost(&text(&mut run).await.unwrap_err()));

    // An answer to another question.
    let (agent, mut peer) = connected().await;
    let pinging = tokio::spawn({
        let agent = agent.clone();
        async move { ping(&agent).await }
    });
    let AgentRequest::Ping { id } = peer.hear().await else { panic!("a ping was sent") };
    peer.say(AgentReply::Done { id }).await;
    assert!(lost(&pinging.await.unwrap().unwrap_err()));
    assert!(!agent.is_open());

    // Bytes that are no message, and a second hello.
    for bytes in [vec![255; 64], {
        let mut hello = Vec::new();
        encode(&AgentReply::Hello { version: VERSION, nonce: 1, languages: vec![] }, &mut hello).unwrap();
        hello
    }] {
        let (agent, mut peer) = connected().await;
        peer.stream.write_all(&bytes).await.unwrap();
        assert!(matches!(agent.closed().await, Closed::Lost(_)));
    }
}

#[tokio::test]
async fn an_agent_of_another_version_is_refused() {
    let (ours, mut peer) = stream();
    let connecting = tokio::spawn(Agent::connect(ours));
    let AgentRequest::Hello { nonce, .. } = peer.hear().await else { panic!("the first is a hello") };
    peer.say(AgentReply::Hello { version: VERSION + 1, nonce, languages: vec![] }).await;
    let error = connecting.await.unwrap().err().unwrap();
    assert!(error.to_string().contains("version"), "{error}");
    let (ours, peer) = stream();
    drop(peer);
    assert!(lost(&Agent::connect(ours).await.err().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_silent_after_the_deadline_is_not_waited_for() {
    let (agent, mut peer) = connected().await;
    let mut run = agent.exec(command()).await.unwrap();
    let id = peer.hear_exec().await;
    let error = run.next().await.unwrap_err();
    assert_eq!(error, SandboxError::TimedOut { what: "the command", limit: Duration::from_secs(10) });
    drop(run);
    assert_eq!(peer.hear().await, AgentRequest::Cancel { id });
    assert!(matches!(agent.stat("/work").await, Err(SandboxError::TimedOut { what: "reading file information", .. })));
}

#[tokio::test(start_paused = true)]
async fn liveness_sends_one_ping_and_ends_after_a_long_silence() {
    let (agent, mut peer) = connected().await;
    let patience = Duration::from_secs(10);
    assert_eq!((agent.liveness(patience), agent.liveness(patience)), (Liveness::Alive, Liveness::Alive));
    let AgentRequest::Ping { id } = peer.hear().await else { panic!("a ping was sent") };
    peer.say(AgentReply::Pong { id }).await;
    tokio::time::sleep(patience * 2).await;
    assert_eq!(agent.liveness(patience), Liveness::Alive, "that was answered, and this asks anew");
    tokio::time::sleep(patience).await;
    assert_eq!(agent.liveness(patience), Liveness::Unresponsive);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused_and_the_connection_stays_open() {
    let (agent, mut peer) = connected().await;
    let source = Blob(vec![b'x'; hearth_sandbox_agent::MAX_MESSAGE_BYTES + 1]);
    let huge = GuestCommand::Code { language: Language::Sh, source, session: None };
    let error = agent.exec(Exec { command: huge, ..command() }).await.err().unwrap();
    assert!(matches!(error, SandboxError::TooLarge { .. }), "{error}");
    // The call that was not sent is cancelled, of which the agent knows nothing.
    assert!(matches!(peer.hear().await, AgentRequest::Cancel { .. }));
    let mut run = agent.exec(command()).await.unwrap();
    let id = peer.hear_exec().await;
    peer.exit(id, 0).await;
    assert_eq!(text(&mut run).await.unwrap(), " Some(0)");
}

#[tokio::test]
async fn a_write_that_is_refused_half_way_ends_there() {
    let (agent, mut peer) = connected().await;
    let content = Bytes::from(vec![7; 20 << 20]);
    let file = crate::files::WriteFile { path: "/work/big".to_owned(), content, mode: None };
    let writing = tokio::spawn({
        let agent = agent.clone();
        async move { agent.write_file(file).await }
    });
    let AgentRequest::Write { id, .. } = peer.hear().await else { panic!("a write begins") };
    let failure = CallFailure { kind: FailureKind::Full, message: "no space left".to_owned() };
    peer.say(AgentReply::Failed { id, failure }).await;
    let mut pieces = 0;
    while !writing.is_finished() {
        tokio::select! {
            _ = peer.hear() => pieces += 1,
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(writing.await.unwrap(), Err(SandboxError::NoSpace { path: "/work/big".to_owned() }));
    assert!(pieces < 80, "the rest was not sent: {pieces}");
    assert!(agent.is_open());
}
