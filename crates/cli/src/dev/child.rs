//! The server's process. It runs in a process group of its own, so that Ctrl-C reaches only `hearth dev`, which asks it to end
//! and waits. If `hearth dev` is killed the kernel ends the server (PDEATHSIG). The server's output and this process's signals
//! arrive in one queue.

use std::future::poll_fn;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use tokio::signal::unix::{SignalKind, signal};

use super::DevError;
use super::workspace::Workspace;
use crate::log;
use crate::serve_options::ServeOptions;

/// Names the process that started the server, which may have ended before the server watches it.
const PARENT: &str = "HEARTH_DEV_PARENT";
/// Limit of output lines that wait to be shown.
const BEHIND: usize = 1_000;

pub struct Child {
    process: std::process::Child,
    heard: Receiver<Heard>,
    /// The outputs of the server that are still open.
    open: usize,
}

#[derive(Debug)]
pub enum Heard {
    /// A line of the log, in JSON.
    Log(String),
    /// A line of the access log.
    Access(String),
    /// No line within the given time.
    Silence,
    /// SIGINT, SIGTERM or SIGHUP.
    Stop,
    /// An output has ended; from `Child::next`: both have.
    End,
}

// === impl Child ===

impl Child {
    pub fn start(workspace: &Workspace, listen: SocketAddr) -> Result<Self, DevError> {
        let (sender, heard) = sync_channel(BEHIND);
        // Before the server is spawned: an error after that would leave it running.
        watch_signals(sender.clone()).map_err(DevError::Signals)?;
        let program = std::env::current_exe().map_err(DevError::Start)?;
        let mut command = Command::new(program);
        command
            .arg("dev-server")
            .arg(&workspace.root)
            .arg("--listen")
            .arg(listen.to_string())
            .arg("--data")
            .arg(&workspace.data);
        command.args([
            "--dev",
            // A development server needs no standby.
            "--standby",
            "0",
            "--admin",
            "off",
            "--log-format",
            "json",
            "--access-log",
            "text",
            "--drain-timeout",
            "1s",
        ]);
        if let Some(config) = &workspace.config {
            command.arg("--config").arg(config);
        }
        for name in ["HEARTH_APPS", "HEARTH_LISTEN", "HEARTH_LISTEN_TLS", "HEARTH_ADMIN", "HEARTH_ADMIN_TOKEN"] {
            command.env_remove(name);
        }
        // `log_view.rs` filters the records.
        command.env("RUST_LOG", log::DEFAULT).env(PARENT, std::process::id().to_string()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(DevError::Start)?;
        relay(process.stderr.take().expect("it was piped"), sender.clone(), Heard::Log);
        relay(process.stdout.take().expect("it was piped"), sender, Heard::Access);
        Ok(Self { process, heard, open: 2 })
    }

    /// The next event, or `Silence` after that time.
    pub fn hear(&mut self, patience: Option<Duration>) -> Heard {
        loop {
            let heard = match patience {
                Some(patience) => self.heard.recv_timeout(patience),
                None => self.heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(Heard::End) if self.open > 1 => self.open -= 1,
                Ok(heard) => return heard,
                Err(RecvTimeoutError::Timeout) => return Heard::Silence,
                Err(RecvTimeoutError::Disconnected) => return Heard::End,
            }
        }
    }

    /// Asks it to end.
    pub fn end(&mut self) -> Result<(), DevError> {
        let id = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        match id.map(|id| kill_process(id, Signal::TERM)) {
            // The server has ended by itself.
            Some(Ok(()) | Err(rustix::io::Errno::SRCH)) | None => Ok(()),
            Some(Err(error)) => Err(DevError::End(error.into())),
        }
    }

    pub fn kill(&mut self) -> Result<(), DevError> {
        self.process.kill().map_err(DevError::End)
    }

    pub fn wait(&mut self) -> Result<ExitStatus, DevError> {
        self.process.wait().map_err(DevError::End)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The server must not outlive this process, whatever failed here.
        if let Ok(None) = self.process.try_wait() {
            let _ = self.end();
            let _ = self.process.wait();
        }
    }
}

/// The main function of the server's process: it ends when its parent has ended.
pub fn serve(options: ServeOptions) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have ended before it was watched.
    let parent = std::env::var(PARENT).ok().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
    if parent.is_some() && getppid() != parent {
        return Ok(());
    }
    crate::serve::serve(options)
}

/// Sends each line of an output, and its end.
fn relay(output: impl Read + Send + 'static, sender: SyncSender<Heard>, what: fn(String) -> Heard) {
    thread::spawn(move || {
        let mut input = BufReader::new(output);
        let mut line = Vec::new();
        while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(what(text)).is_err() {
                return;
            }
        }
        // The receiver is gone: the command ends.
        let _ = sender.send(Heard::End);
    });
}

/// Sends each SIGINT, SIGTERM and SIGHUP; none of them ends this process once this has returned.
fn watch_signals(sender: SyncSender<Heard>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let guard = runtime.enter();
    let mut signals = kinds.into_iter().map(signal).collect::<Result<Vec<_>, _>>()?;
    drop(guard);
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                poll_fn(|cx| {
                    let ready = signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
                    if ready { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                if sender.send(Heard::Stop).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}
