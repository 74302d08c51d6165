//! The fake agent: reads requests, answers them, one task per command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_agent::{Answer, CallId, Decoder, Failure, FailureKind, Language, Request, VERSION, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::FakeBehavior;
use super::files::Files;
use super::running::{self, CommandContext};

/// Sends answers. Clones share the stream.
#[derive(Clone)]
pub(super) struct FakeWriter {
    answers: mpsc::UnboundedSender<Answer>,
}

struct FakeAgent {
    writer: FakeWriter,
    files: Files,
    commands: HashMap<CallId, Command>,
    sessions: Arc<Mutex<HashMap<(Language, String), usize>>>,
}

struct Command {
    task: JoinHandle<()>,
    signals: watch::Sender<Option<u8>>,
}

pub(super) async fn run(stream: DuplexStream, behavior: watch::Receiver<FakeBehavior>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (answers, mut queue) = mpsc::unbounded_channel::<Answer>();
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
        let (mut decoder, mut buffer) = (Decoder::new(), vec![0; 64 << 10]);
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            decoder.push(&buffer[..count]);
            while let Ok(Some(request)) = decoder.message::<Request>() {
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
    pub(super) fn send(&self, answer: Answer) {
        // Fails only when the sandbox is gone.
        let _gone = self.answers.send(answer);
    }

    pub(super) fn fail(&self, id: CallId, kind: FailureKind, message: &str) {
        self.send(Answer::Failed { id, failure: Failure { kind, message: message.to_owned() } });
    }
}

impl FakeAgent {
    fn answer(&mut self, request: Request) {
        match request {
            Request::Hello { nonce, .. } => {
                let languages = vec![Language::Python, Language::JavaScript, Language::Bash, Language::Sh];
                self.writer.send(Answer::Hello { version: VERSION, nonce, languages });
            }
            Request::Ping { id } => self.writer.send(Answer::Pong { id }),
            Request::Warm { id, .. } | Request::Reseed { id, .. } | Request::SetClock { id, .. } => {
                self.writer.send(Answer::Done { id });
            }
            Request::Exec { id, exec } => {
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
            Request::Signal { id, signal } => {
                if let Some(command) = self.commands.get(&id) {
                    command.signals.send_replace(Some(signal.0));
                }
            }
            Request::Cancel { id } => {
                if let Some(command) = self.commands.get(&id) {
                    command.signals.send_replace(Some(9));
                }
                self.files.cancel(id);
            }
            Request::EndSession { id, language, session } => {
                self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&(language, session));
                self.writer.send(Answer::Done { id });
            }
            Request::Listen { id, port } => self.writer.send(Answer::Listening { id, port }),
            // No fake program reads as it goes, or connects to anything.
            Request::Stdin { .. } | Request::CloseStdin { .. } | Request::Passage { .. } => {}
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
