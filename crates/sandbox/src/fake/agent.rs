//! The played agent: reads requests, answers them, one task per command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_agent::{Answer, CallId, Decoder, Failure, FailureKind, Language, Request, VERSION, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::Mood;
use super::files::Files;
use super::running::{self, Stage};

/// Where answers go. Clones lead to the same stream.
#[derive(Clone)]
pub(super) struct Mouth {
    answers: mpsc::UnboundedSender<Answer>,
}

struct Played {
    mouth: Mouth,
    files: Files,
    commands: HashMap<CallId, Command>,
    sessions: Arc<Mutex<HashMap<(Language, String), usize>>>,
}

struct Command {
    task: JoinHandle<()>,
    signals: watch::Sender<Option<u8>>,
}

pub(super) async fn run(stream: DuplexStream, mood: watch::Receiver<Mood>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (answers, mut queue) = mpsc::unbounded_channel::<Answer>();
    let mut quiet = mood.clone();
    let speak = async move {
        while let Some(answer) = queue.recv().await {
            if *mood.borrow() == Mood::Wedged {
                continue;
            }
            let mut bytes = Vec::new();
            if encode(&answer, &mut bytes).is_err() || writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    let listen = async move {
        let mut played = Played {
            mouth: Mouth { answers },
            files: Files::new(),
            commands: HashMap::new(),
            sessions: Arc::default(),
        };
        let (mut decoder, mut buffer) = (Decoder::new(), vec![0; 64 << 10]);
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            decoder.push(&buffer[..count]);
            while let Ok(Some(request)) = decoder.message::<Request>() {
                played.answer(request);
            }
        }
    };
    tokio::select! {
        () = speak => {}
        () = listen => {}
        _ = quiet.wait_for(|mood| *mood == Mood::Dead) => {}
    }
}

impl Mouth {
    pub(super) fn say(&self, answer: Answer) {
        // Nobody listens only when the sandbox is gone.
        let _gone = self.answers.send(answer);
    }

    pub(super) fn fail(&self, id: CallId, kind: FailureKind, message: &str) {
        self.say(Answer::Failed { id, failure: Failure { kind, message: message.to_owned() } });
    }
}

impl Played {
    fn answer(&mut self, request: Request) {
        match request {
            Request::Hello { nonce, .. } => {
                let languages = vec![Language::Python, Language::JavaScript, Language::Bash, Language::Sh];
                self.mouth.say(Answer::Hello { version: VERSION, nonce, languages });
            }
            Request::Ping { id } => self.mouth.say(Answer::Pong { id }),
            Request::Warm { id, .. } | Request::Reseed { id, .. } | Request::SetClock { id, .. } => {
                self.mouth.say(Answer::Done { id });
            }
            Request::Exec { id, exec } => {
                let signals = watch::Sender::new(None);
                let stage = Stage {
                    id,
                    mouth: self.mouth.clone(),
                    signals: signals.subscribe(),
                    sessions: self.sessions.clone(),
                };
                let task = tokio::spawn(running::play(stage, exec));
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
                self.mouth.say(Answer::Done { id });
            }
            Request::Listen { id, port } => self.mouth.say(Answer::Listening { id, port }),
            // No program here reads as it goes, or connects to anything.
            Request::Stdin { .. } | Request::CloseStdin { .. } | Request::Passage { .. } => {}
            about_files => {
                if let Some(answer) = self.files.answer(about_files) {
                    self.mouth.say(answer);
                }
            }
        }
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        for command in self.commands.values() {
            command.task.abort();
        }
    }
}
