//! One fake command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_sandbox_agent::{
    AgentCallId, AgentReply, Blob, End, Exec, FailureKind, GuestCommand, Language, OutputStream, Signal, Stdin,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::agent::FakeWriter;

/// What a command needs.
pub(super) struct CommandContext {
    pub(super) id: AgentCallId,
    pub(super) writer: FakeWriter,
    pub(super) signals: watch::Receiver<Option<u8>>,
    pub(super) sessions: Arc<Mutex<HashMap<(Language, String), usize>>>,
}

/// How it ends by itself.
struct Ending {
    end: End,
    truncated: bool,
}

pub(super) async fn play(mut context: CommandContext, exec: Exec) {
    let began = Instant::now();
    let (id, writer, limit) = (context.id, context.writer.clone(), exec.timeout);
    let mut signals = context.signals.clone();
    let signalled = async {
        let signal = signals.wait_for(Option::is_some).await.ok().and_then(|signal| *signal);
        match signal {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    };
    let killed = |signal| Ending { end: End::Killed { signal: Signal(signal) }, truncated: false };
    let (ending, timed_out) = tokio::select! {
        ending = context.act(exec) => (ending, false),
        signal = signalled => (Some(killed(signal)), false),
        () = sleep(limit) => (Some(killed(9)), true),
    };
    if let Some(Ending { end, truncated }) = ending {
        writer.send(AgentReply::Exit { id, end, timed_out, truncated, duration: began.elapsed() });
    }
}

impl CommandContext {
    /// `None` when it could not be started, which was already answered.
    async fn act(&mut self, exec: Exec) -> Option<Ending> {
        let line = match exec.command {
            GuestCommand::Argv { ref argv } => argv.join(" "),
            GuestCommand::Shell { ref line } => line.clone(),
            GuestCommand::Code { language, ref source, ref session } => {
                self.code(language, &source.0, session.as_deref());
                return Some(exit(0));
            }
        };
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let number = || rest.trim().parse::<f64>().unwrap_or_default();
        match word {
            "echo" => self.write(OutputStream::Stdout, format!("{rest}\n").into_bytes()),
            "warn" => self.write(OutputStream::Stderr, format!("{rest}\n").into_bytes()),
            "fail" => {
                self.write(OutputStream::Stderr, format!("{rest}\n").into_bytes());
                return Some(exit(1));
            }
            "exit" => return Some(exit(number() as u8)),
            "die" => return Some(Ending { end: End::Killed { signal: Signal(number() as u8) }, truncated: false }),
            "sleep" => sleep(Duration::from_secs_f64(number())).await,
            "cat" => {
                if let Stdin::Bytes { bytes } = exec.stdin {
                    self.write(OutputStream::Stdout, bytes.0);
                }
            }
            "env" => {
                let value = exec.env.iter().find(|(name, _)| name == rest).map(|(_, value)| value.as_str());
                self.write(OutputStream::Stdout, format!("{}\n", value.unwrap_or_default()).into_bytes());
            }
            "pwd" => {
                self.write(OutputStream::Stdout, format!("{}\n", exec.cwd.as_deref().unwrap_or("/work")).into_bytes())
            }
            "flood" => {
                let half = usize::try_from(exec.output_limit.min(64 << 20) / 2).unwrap_or(0);
                self.write(OutputStream::Stdout, vec![b'y'; half]);
                self.writer.send(AgentReply::Omitted { id: self.id, stream: OutputStream::Stdout, bytes: 1000 });
                self.write(OutputStream::Stdout, vec![b'y'; half]);
                return Some(Ending { end: End::Code { code: 0 }, truncated: true });
            }
            unknown => {
                self.writer.fail(self.id, FailureKind::NotFound, &format!("there is no program {unknown:?}"));
                return None;
            }
        }
        Some(exit(0))
    }

    fn code(&self, language: Language, source: &[u8], session: Option<&str>) {
        let mut out = Vec::new();
        if let Some(session) = session {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let runs = sessions.entry((language, session.to_owned())).or_default();
            *runs += 1;
            out.extend_from_slice(format!("{runs} ").as_bytes());
        }
        out.extend_from_slice(format!("{language} ").as_bytes());
        out.extend_from_slice(source);
        self.write(OutputStream::Stdout, out);
    }

    fn write(&self, stream: OutputStream, bytes: Vec<u8>) {
        for piece in bytes.chunks(hearth_sandbox_agent::CHUNK) {
            self.writer.send(AgentReply::Output { id: self.id, stream, bytes: Blob(piece.to_vec()) });
        }
    }
}

fn exit(code: u8) -> Ending {
    Ending { end: End::Code { code }, truncated: false }
}
