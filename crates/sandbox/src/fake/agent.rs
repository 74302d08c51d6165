//! The fake agent: reads requests, answers them, one task per command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_sandbox_agent::{
    AgentCallId, AgentReply, AgentRequest, CallFailure, FailureKind, FrameDecoder, Language, VERSION, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::FakeBehavior;
use super::files::Files;
use super::running::{self, CommandContext};

/// Sends answers. Clones share the stream.
#[derive(Clone)]
pub(super) struct FakeWriter {
    answers: mpsc::UnboundedSender<AgentReply>,
}

struct FakeAgent {
    writer: FakeWriter,
    files: Files,
    commands: HashMap<AgentCallId, Command>,
    sessions: Arc<Mutex<HashMap<(Language, String), usize>>>,
}

struct Command {
    task: JoinHandle<()>,
    signals: watch::Sender<Option<u8>>,
}

pub(super) async fn run(stream: DuplexStream, behavior: watch::Receiver<FakeBehavior>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (answers, mut queue) = mpsc::unbounded_channel::<AgentReply>();
    let mut quiet = behavior.clone();
    let speak = async move {
        while let Some(answer) = queue.recv().await {
            if *behavior.borrow() == FakeBehavior::Wedged {
                continue;
            }
            let mut bytes = Vec::new();
            if encode(&answer, &mut bytes).is_err() || writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    let listen = async move {
        let mut fake = FakeAgent {
            writer: FakeWriter { answers },
            files: Files::new(),
            commands: HashMap::new(),
            sessions: Arc::default(),
        };
        let (mut decoder, mut buffer) = (FrameDecoder::new(), vec![0; 64 << 10]);
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            decoder.push(&buffer[..count]);
            while let Ok(Some(request)) = decoder.message::<AgentRequest>() {
                fake.answer(request);
            }
        }
    };
    tokio::select! {
        () = speak => {}
        () = listen => {}
        _ = quiet.wait_for(|behavior| *behavior == FakeBehavior::Dead) => {}
    }
}

impl FakeWriter {
    pub(super) fn send(&self, answer: AgentReply) {
        // Fails only when the sandbox is gone.
        let _gone = self.answers.send(answer);
    }

    pub(super) fn fail(&self, id: AgentCallId, kind: FailureKind, message: &str) {
        self.send(AgentReply::Failed { id, failure: CallFailure { kind, message: message.to_owned() } });
    }
}

impl FakeAgent {
    fn answer(&mut self, request: AgentRequest) {
        match request {
            AgentRequest::Hello { nonce, .. } => {
                let languages = vec![Language::Python, Language::JavaScript, Language::Bash, Language::Sh];
                self.writer.send(AgentReply::Hello { version: VERSION, nonce, languages });
            }
            AgentRequest::Ping { id } => self.writer.send(AgentReply::Pong { id }),
            AgentRequest::Warm { id, .. } | AgentRequest::Reseed { id, .. } | AgentRequest::SetClock { id, .. } => {
                self.writer.send(AgentReply::Done { id });
            }
            AgentRequest::Exec { id, exec } => {
                let signals = watch::Sender::new(None);
                let context = CommandContext {
                    id,
                    writer: self.writer.clone(),
                    signals: signals.subscribe(),
                    sessions: self.sessions.clone(),
                };
                let task = tokio::spawn(running::play(context, exec));
                self.commands.insert(id, Command { task, signals });
            }
            AgentRequest::Signal { id, signal } => {
                if let Some(command) = self.commands.get(&id) {
                    command.signals.send_replace(Some(signal.0));
                }
            }
            AgentRequest::Cancel { id } => {
                if let Some(command) = self.commands.get(&id) {
                    command.signals.send_replace(Some(9));
                }
                self.files.cancel(id);
            }
            AgentRequest::EndSession { id, language, session } => {
                self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&(language, session));
                self.writer.send(AgentReply::Done { id });
            }
            AgentRequest::Listen { id, port } => self.writer.send(AgentReply::Listening { id, port }),
            // No fake program reads as it goes, or connects to anything.
            AgentRequest::Stdin { .. } | AgentRequest::CloseStdin { .. } | AgentRequest::Tunnel { .. } => {}
            about_files => {
                if let Some(answer) = self.files.answer(about_files) {
                    self.writer.send(answer);
                }
            }
        }
    }
}

impl Drop for FakeAgent {
    fn drop(&mut self) {
        for command in self.commands.values() {
            command.task.abort();
        }
    }
}
