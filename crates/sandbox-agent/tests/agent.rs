//! The agent by itself, driven by a test client: the parts of the protocol that concern more than
//! one command.
#![allow(clippy::unwrap_used)]

#[path = "agent/tunnel.rs"]
mod tunnel;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use hearth_sandbox_agent::{
    AgentCallId, AgentReply, AgentRequest, Blob, End, Exec, FrameDecoder, GuestCommand, OutputStream, STDIN_WINDOW,
    Signal, Stdin, VERSION, encode,
};

struct Agent {
    process: Child,
    stream: UnixStream,
    decoder: FrameDecoder,
}

impl Agent {
    fn start() -> Self {
        let (stream, theirs) = UnixStream::pair().unwrap();
        // A message that never comes is a failure, not a test that hangs.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let process = Process::new(env!("CARGO_BIN_EXE_hearth-agent"))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut agent = Self { process, stream, decoder: FrameDecoder::new() };
        agent.greet(1);
        agent
    }

    fn greet(&mut self, nonce: u64) {
        self.ask(&AgentRequest::Hello { version: VERSION, nonce });
        while !matches!(self.answer(), AgentReply::Hello { nonce: other, .. } if other == nonce) {}
    }

    fn ask(&mut self, request: &AgentRequest) {
        let mut bytes = Vec::new();
        encode(request, &mut bytes).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    fn answer(&mut self) -> AgentReply {
        loop {
            if let Some(answer) = self.decoder.message().unwrap() {
                return answer;
            }
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "the agent is gone");
            self.decoder.push(&bytes[..count]);
        }
    }

    fn shell(&mut self, id: u64, line: &str, stdin: Stdin) {
        let exec = Exec {
            command: GuestCommand::Shell { line: line.to_owned() },
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            cwd: Some("/".to_owned()),
            stdin,
            timeout: Duration::from_secs(60),
            output_limit: 1 << 20,
        };
        self.ask(&AgentRequest::Exec { id: AgentCallId(id), exec });
    }

    /// What an exec printed, and its end. Of others nothing is expected meanwhile.
    fn end(&mut self, id: u64) -> (Vec<u8>, End) {
        let mut printed = Vec::new();
        loop {
            match self.answer() {
                AgentReply::Output { id: of, stream: OutputStream::Stdout, bytes } if of == AgentCallId(id) => {
                    printed.extend(bytes.0)
                }
                AgentReply::Exit { id: of, end, .. } if of == AgentCallId(id) => return (printed, end),
                // A shell tells of others that a signal ended.
                AgentReply::Output { stream: OutputStream::Stderr, .. } | AgentReply::Taken { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const INTERRUPTED: End = End::Killed { signal: Signal(2) };
const KILLED: End = End::Killed { signal: Signal(9) };

#[test]
fn input_comes_in_pieces_and_the_client_is_told_what_was_taken() {
    let mut agent = Agent::start();
    agent.shell(1, "wc -c", Stdin::Open {});
    let piece = STDIN_WINDOW / 2;
    let (mut sent, mut taken) = (0, 0);
    while sent < 4 * STDIN_WINDOW {
        agent.ask(&AgentRequest::Stdin { id: AgentCallId(1), bytes: Blob(vec![b'x'; piece]) });
        sent += piece;
        while sent - taken > piece {
            match agent.answer() {
                AgentReply::Taken { bytes, .. } => taken += bytes as usize,
                other => panic!("{other:?}"),
            }
        }
    }
    agent.ask(&AgentRequest::CloseStdin { id: AgentCallId(1) });
    assert_eq!(agent.end(1), (format!("{sent}\n").into_bytes(), End::Code { code: 0 }));
}

#[test]
fn a_program_that_reads_no_input_does_not_hold_its_client_up() {
    let mut agent = Agent::start();
    agent.shell(1, "exec <&-; echo closed; exec sleep 1000", Stdin::Open {});
    assert!(matches!(agent.answer(), AgentReply::Output { .. }));
    agent.ask(&AgentRequest::Stdin { id: AgentCallId(1), bytes: Blob(vec![b'x'; 1000]) });
    assert_eq!(agent.answer(), AgentReply::Taken { id: AgentCallId(1), bytes: 1000 });
    agent.ask(&AgentRequest::Cancel { id: AgentCallId(1) });
    assert_eq!(agent.end(1).1, INTERRUPTED);
}

#[test]
fn a_signal_reaches_the_program_and_a_cancel_ends_it() {
    let mut agent = Agent::start();
    agent.shell(1, "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done", Stdin::Empty {});
    assert!(matches!(agent.answer(), AgentReply::Output { .. }));
    agent.ask(&AgentRequest::Signal { id: AgentCallId(1), signal: Signal(15) });
    assert_eq!(agent.end(1), (b"caught\n".to_vec(), End::Code { code: 3 }));
    // An interrupt comes first; what ignores it is killed.
    agent.shell(2, "trap '' TERM INT; echo ready; exec sleep 1000", Stdin::Empty {});
    assert!(matches!(agent.answer(), AgentReply::Output { .. }));
    agent.ask(&AgentRequest::Cancel { id: AgentCallId(2) });
    assert_eq!(agent.end(2).1, KILLED);
    // Of what is over, nothing is said.
    agent.ask(&AgentRequest::Cancel { id: AgentCallId(2) });
    agent.ask(&AgentRequest::Signal { id: AgentCallId(1), signal: Signal(15) });
    agent.ask(&AgentRequest::Ping { id: AgentCallId(3) });
    assert_eq!(agent.answer(), AgentReply::Pong { id: AgentCallId(3) });
}

#[test]
fn a_new_greeting_ends_what_ran_and_nothing_is_said_of_it() {
    let mut agent = Agent::start();
    agent.shell(1, "echo before; exec sleep 1000", Stdin::Empty {});
    assert!(matches!(agent.answer(), AgentReply::Output { .. }));
    agent.greet(2);
    agent.shell(1, "echo after", Stdin::Empty {});
    assert_eq!(agent.end(1), (b"after\n".to_vec(), End::Code { code: 0 }));
}

#[test]
fn a_client_that_does_not_read_holds_the_program_up_and_not_the_agent() {
    let mut agent = Agent::start();
    let exec = Exec {
        command: GuestCommand::Argv { argv: ["head", "-c", "20000000", "/dev/zero"].map(str::to_owned).to_vec() },
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: Some("/".to_owned()),
        stdin: Stdin::Empty {},
        timeout: Duration::from_secs(60),
        output_limit: 1 << 30,
    };
    agent.ask(&AgentRequest::Exec { id: AgentCallId(1), exec });
    // Another is started while the client does not read; it is answered in its turn.
    agent.shell(2, "true", Stdin::Empty {});
    let (mut printed, mut ended) = (0, 0);
    while ended < 2 {
        match agent.answer() {
            AgentReply::Output { bytes, .. } => printed += bytes.0.len(),
            AgentReply::Exit { end, .. } => {
                assert_eq!(end, End::Code { code: 0 });
                ended += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(printed, 20_000_000);
}

#[test]
fn what_is_no_message_ends_the_agent() {
    let mut agent = Agent::start();
    agent.stream.write_all(&[3, 0, 0, 0, 255, 1, 2]).unwrap();
    assert!(!agent.process.wait().unwrap().success());
}
