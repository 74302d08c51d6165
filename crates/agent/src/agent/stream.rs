//! What goes into a program and what comes out of it, and the signals and cancels that reach it while it runs.

use hearth_agent::{Answer, CallId, STDIN_WINDOW, Signal, Stream};
use nix::errno::Errno;
use nix::unistd::{read, write};

use super::{Agent, PIECE};
use crate::body::BodyKey;
use crate::poll::{Interest, Token};

/// A program may let its pipes hold as much (`/proc/sys/fs/pipe-max-size`).
const LARGEST_PIPE: usize = 1 << 20;

impl Agent {
    pub(super) fn stdin(&mut self, id: CallId, bytes: &[u8]) {
        let Some((key, body)) = self.running(id) else { return };
        let takes = body.stdin.is_some();
        match body.run.as_mut() {
            // A client that does not wait to be told is broken, and would fill the agent's memory.
            Some(run) if takes && run.stdin.waiting.len() + bytes.len() > STDIN_WINDOW => return self.kill(key),
            Some(run) if takes => run.stdin.waiting.extend(bytes),
            // It reads no more; the client may go on all the same.
            _ => self.connection.send(&Answer::Taken { id, bytes: bytes.len() as u32 }),
        }
        self.feed(key);
    }

    pub(super) fn close_stdin(&mut self, id: CallId) {
        let Some((key, body)) = self.running(id) else { return };
        if let Some(run) = body.run.as_mut() {
            run.stdin.closed = true;
        }
        self.feed(key);
    }

    pub(super) fn signal(&mut self, id: CallId, signal: Signal) {
        let Some((_, body)) = self.running(id) else { return };
        let signal = nix::sys::signal::Signal::try_from(i32::from(signal.0));
        if let (Some(pid), Ok(signal)) = (body.pid, signal) {
            // It may be gone already.
            let _ = nix::sys::signal::killpg(pid, signal);
        }
    }

    pub(super) fn cancel(&mut self, id: CallId) {
        if let Some(failure) = self.writes.cancel(id) {
            self.connection.send(&Answer::Failed { id, failure });
        } else if let Some((key, _)) = self.running(id) {
            self.stop(key);
        }
    }

    /// Nobody reads a program's input any more: what waits is as good as taken.
    pub(super) fn stop_feeding(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        body.stdin = None;
        let Some(run) = &mut body.run else { return };
        let waiting = run.stdin.waiting.len();
        run.stdin.waiting.clear();
        match run.stdin.told(waiting) {
            0 => {}
            told => self.connection.send(&Answer::Taken { id: run.id, bytes: told as u32 }),
        }
    }

    /// Gives a program of its input what its pipe takes.
    pub(super) fn feed(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        let (Some(pipe), Some(run)) = (&body.stdin, &mut body.run) else { return };
        let mut taken = 0;
        while !run.stdin.waiting.is_empty() {
            match write(pipe, run.stdin.waiting.as_slices().0) {
                Ok(count) => {
                    run.stdin.waiting.drain(..count);
                    taken += count;
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(_) => return self.stop_feeding(key),
            }
        }
        let told = run.stdin.told(taken);
        let done = run.stdin.waiting.is_empty() && run.stdin.closed;
        let wanted = if run.stdin.waiting.is_empty() { Interest::Nothing } else { Interest::Write };
        self.poll.change(pipe, Token::Stdin(key), wanted);
        if told > 0 {
            self.connection.send(&Answer::Taken { id: run.id, bytes: told as u32 });
        }
        if done {
            body.stdin = None;
        }
    }

    /// Passes one piece of output on, if there is one. Says whether there may be more.
    pub(super) fn read_output(&mut self, key: BodyKey, stream: Stream) -> bool {
        let Some(body) = self.bodies.get_mut(&key) else { return false };
        let Some(pipe) = body.output(stream) else { return false };
        let count = match read(pipe, &mut self.piece) {
            Ok(0) => {
                body.close_output(stream);
                return false;
            }
            Ok(count) => count,
            Err(Errno::EINTR) => return true,
            Err(Errno::EAGAIN) => return false,
            Err(_) => {
                body.close_output(stream);
                return false;
            }
        };
        // What a session prints between its runs is nobody's.
        let Some(run) = body.run.as_mut() else { return true };
        let passed = run.pass(stream, &self.piece[..count]);
        if !passed.is_empty() {
            let bytes = passed.to_vec().into();
            self.connection.send(&Answer::Output { id: run.id, stream, bytes });
        }
        true
    }

    /// Passes on what is in the pipes already. What goes on writing is not waited for.
    pub(super) fn drain(&mut self, key: BodyKey) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut left = LARGEST_PIPE / PIECE;
            while left > 0 && self.read_output(key, stream) {
                left -= 1;
            }
        }
    }
}
