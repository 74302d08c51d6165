//! Connections to the proxy outside, with programs that this test plays: it and the agent have one loopback.

use std::net::{Shutdown, TcpStream};

use hearth_sandbox_agent::{FromGuest, MAX_TUNNEL_CONNS, TUNNEL_WINDOW, ToGuest, TunnelConnId};

use super::*;

impl Agent {
    /// Opens the door, on any port. Says which.
    fn listen(&mut self) -> u16 {
        self.ask(&AgentRequest::Listen { id: AgentCallId(900), port: 0 });
        match self.answer() {
            AgentReply::Listening { id: AgentCallId(900), port } => port,
            other => panic!("{other:?}"),
        }
    }

    fn pass(&mut self, passage: TunnelConnId, word: ToGuest) {
        self.ask(&AgentRequest::Tunnel { conn: passage, message: word });
    }

    fn word(&mut self) -> (TunnelConnId, FromGuest) {
        match self.answer() {
            AgentReply::Tunnel { conn: passage, message: word } => (passage, word),
            other => panic!("{other:?}"),
        }
    }

    fn opened(&mut self) -> TunnelConnId {
        let (passage, word) = self.word();
        assert_eq!(word, FromGuest::Opened {});
        passage
    }

    /// So many bytes of a passage.
    fn data(&mut self, passage: TunnelConnId, count: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < count {
            match self.word() {
                (of, FromGuest::Data { bytes }) if of == passage => all.extend(bytes.0),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(all.len(), count);
        all
    }

    /// It answers, and says nothing else before.
    fn is_awake(&mut self, id: u64) {
        self.ask(&AgentRequest::Ping { id: AgentCallId(id) });
        assert_eq!(self.answer(), AgentReply::Pong { id: AgentCallId(id) });
    }
}

fn connect(port: u16) -> TcpStream {
    let program = TcpStream::connect(("127.0.0.1", port)).unwrap();
    program.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    program.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    program
}

fn data(bytes: &[u8]) -> ToGuest {
    ToGuest::Data { bytes: Blob(bytes.to_vec()) }
}

#[test]
fn both_directions_are_carried_and_end_by_themselves() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let mut program = connect(port);
    let passage = agent.opened();
    program.write_all(b"question").unwrap();
    assert_eq!(agent.data(passage, 8), b"question");
    agent.pass(passage, data(b"ans"));
    agent.pass(passage, data(b"wer"));
    program.shutdown(Shutdown::Write).unwrap();
    assert_eq!(agent.word(), (passage, FromGuest::End {}));
    agent.pass(passage, data(b", late"));
    agent.pass(passage, ToGuest::End {});
    assert_eq!(agent.word(), (passage, FromGuest::Gone {}));
    let mut heard = String::new();
    program.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "answer, late");
    // Of what is gone nothing is said any more.
    agent.pass(passage, data(b"x"));
    agent.pass(passage, ToGuest::Close {});
    agent.is_awake(1);
}

#[test]
fn a_client_that_takes_nothing_is_sent_a_window_and_then_answers_only() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let mut program = connect(port);
    let passage = agent.opened();
    let all: Vec<u8> = (0..5 * TUNNEL_WINDOW).map(|n| (n * 7 + n / 300) as u8).collect();
    let sent = all.clone();
    let writer = std::thread::spawn(move || program.write_all(&sent).map(|()| program));
    let mut heard = agent.data(passage, TUNNEL_WINDOW);
    agent.is_awake(1);
    agent.is_awake(2);
    while heard.len() < all.len() {
        agent.pass(passage, ToGuest::Taken { bytes: TUNNEL_WINDOW as u32 / 2 });
        let next = (TUNNEL_WINDOW / 2).min(all.len() - heard.len());
        heard.extend(agent.data(passage, next));
    }
    assert!(heard == all, "nothing is lost or changes its place");
    drop(writer.join().unwrap().unwrap());
    // While there is no room nothing is read, not even the end.
    agent.is_awake(3);
    agent.pass(passage, ToGuest::Taken { bytes: 1 });
    assert_eq!(agent.word(), (passage, FromGuest::End {}));
    agent.pass(passage, ToGuest::Close {});
    assert_eq!(agent.word(), (passage, FromGuest::Gone {}));
}

#[test]
fn a_program_that_does_not_read_delays_no_other() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let mut slow = connect(port);
    let passage = agent.opened();
    let piece = vec![b'x'; TUNNEL_WINDOW / 8];
    let (mut sent, mut taken) = (0, 0);
    // Until neither the system nor the agent has room; how much the system has is its own matter.
    while sent - taken + piece.len() <= TUNNEL_WINDOW {
        agent.pass(passage, data(&piece));
        sent += piece.len();
        agent.ask(&AgentRequest::Ping { id: AgentCallId(sent as u64) });
        loop {
            match agent.answer() {
                AgentReply::Tunnel { message: FromGuest::Taken { bytes }, .. } => taken += bytes as usize,
                AgentReply::Pong { .. } => break,
                other => panic!("{other:?}"),
            }
        }
    }
    let mut other = connect(port);
    let second = agent.opened();
    other.write_all(b"hello").unwrap();
    assert_eq!(agent.data(second, 5), b"hello");
    let mut heard = vec![0; sent];
    slow.read_exact(&mut heard).unwrap();
    assert!(heard.iter().all(|byte| *byte == b'x'));
}

#[test]
fn a_client_that_sends_more_than_there_is_room_for_loses_the_passage() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let mut program = connect(port);
    let passage = agent.opened();
    agent.pass(passage, data(&vec![b'x'; TUNNEL_WINDOW + 1]));
    assert_eq!(agent.word(), (passage, FromGuest::Gone {}));
    assert_eq!(program.read(&mut [0; 10]).unwrap_or(0), 0);
    let _program = connect(port);
    let passage = agent.opened();
    agent.pass(passage, ToGuest::Taken { bytes: 1 });
    assert_eq!(agent.word(), (passage, FromGuest::Gone {}));
}

#[test]
fn what_was_sent_before_the_close_still_reaches_the_program() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let mut program = connect(port);
    let passage = agent.opened();
    let last = vec![b'l'; TUNNEL_WINDOW];
    agent.pass(passage, data(&last));
    agent.pass(passage, ToGuest::Close {});
    let mut heard = Vec::new();
    program.read_to_end(&mut heard).unwrap();
    assert!(heard == last);
    while agent.word() != (passage, FromGuest::Gone {}) {}
}

#[test]
fn a_program_that_dies_is_noticed() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let program = connect(port);
    let passage = agent.opened();
    // It has not read this: its end is then told at once.
    agent.pass(passage, data(b"unread"));
    agent.is_awake(1);
    drop(program);
    let (of, word) = agent.word();
    assert_eq!(of, passage);
    if word == (FromGuest::End {}) {
        // The system may tell of the end first.
        agent.pass(passage, data(b"more"));
        agent.pass(passage, ToGuest::End {});
        assert_eq!(agent.word(), (passage, FromGuest::Gone {}));
    } else {
        assert_eq!(word, FromGuest::Gone {});
    }
}

#[test]
fn so_many_at_once_and_others_wait() {
    let mut agent = Agent::start();
    let port = agent.listen();
    let mut programs: Vec<_> = (0..MAX_TUNNEL_CONNS + 5).map(|_| connect(port)).collect();
    let passages: Vec<_> = (0..MAX_TUNNEL_CONNS).map(|_| agent.opened()).collect();
    assert!(passages.is_sorted());
    agent.is_awake(1);
    agent.pass(passages[3], ToGuest::Close {});
    assert_eq!(agent.word(), (passages[3], FromGuest::Gone {}));
    assert!(agent.opened() > passages[MAX_TUNNEL_CONNS - 1], "no id is used twice");
    agent.is_awake(2);
    // The first of those that waited is served as any other.
    programs[MAX_TUNNEL_CONNS].write_all(b"late").unwrap();
    let (_, word) = agent.word();
    assert_eq!(word, FromGuest::Data { bytes: Blob(b"late".to_vec()) });
}

#[test]
fn the_listener_is_opened_once_and_closes_for_the_next_client() {
    let mut agent = Agent::start();
    let port = agent.listen();
    agent.ask(&AgentRequest::Listen { id: AgentCallId(5), port: 0 });
    assert!(matches!(agent.answer(), AgentReply::Failed { id: AgentCallId(5), .. }));
    let mut program = connect(port);
    agent.opened();
    agent.greet(2);
    assert_eq!(program.read(&mut [0; 10]).unwrap_or(0), 0, "its connection is closed");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    // The next client finds everything as the first did.
    let port = agent.listen();
    let _program = connect(port);
    assert_eq!(agent.opened(), TunnelConnId(1));
}
