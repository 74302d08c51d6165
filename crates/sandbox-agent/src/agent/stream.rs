//! Input and output of programs, and the signals and cancels that reach them while they run.

use hearth_sandbox_agent::{AgentCallId, AgentReply, OutputStream, STDIN_WINDOW, Signal};
use nix::errno::Errno;
use nix::unistd::{read, write};

use super::{Agent, READ_SIZE};
use crate::child::ChildId;
use crate::poll::{Interest, PollToken};

/// A program may enlarge its pipes so far (`/proc/sys/fs/pipe-max-size`).
const MAX_PIPE_BYTES: usize = 1 << 20;

impl Agent {
    pub(super) fn stdin(&mut self, id: AgentCallId, bytes: &[u8]) {
        let Some((key, child)) = self.running(id) else { return };
        let takes = child.stdin.is_some();
        match child.run.as_mut() {
            // A client that exceeds the window is broken, and would fill the agent's memory.
            Some(run) if takes && run.stdin.waiting.len() + bytes.len() > STDIN_WINDOW => return self.kill(key),
            Some(run) if takes => run.stdin.waiting.extend(bytes),
            // It reads no more; the client may go on all the same.
            _ => self.connection.send(&AgentReply::Taken { id, bytes: bytes.len() as u32 }),
        }
        self.feed(key);
    }

    pub(super) fn close_stdin(&mut self, id: AgentCallId) {
        let Some((key, child)) = self.running(id) else { return };
        if let Some(run) = child.run.as_mut() {
            run.stdin.closed = true;
        }
        self.feed(key);
    }

    pub(super) fn signal(&mut self, id: AgentCallId, signal: Signal) {
        let Some((_, child)) = self.running(id) else { return };
        let signal = nix::sys::signal::Signal::try_from(i32::from(signal.0));
        if let (Some(pid), Ok(signal)) = (child.pid, signal) {
            // Fails where it has ended already.
            let _ = nix::sys::signal::killpg(pid, signal);
        }
    }

    pub(super) fn cancel(&mut self, id: AgentCallId) {
        if let Some(failure) = self.file_writers.cancel(id) {
            self.connection.send(&AgentReply::Failed { id, failure });
        } else if let Some((key, _)) = self.running(id) {
            self.stop(key);
        }
    }

    /// The program reads no more: what waits is acknowledged and discarded.
    pub(super) fn stop_feeding(&mut self, key: ChildId) {
        let Some(child) = self.children.get_mut(&key) else { return };
        child.stdin = None;
        let Some(run) = &mut child.run else { return };
        let waiting = run.stdin.waiting.len();
        run.stdin.waiting.clear();
        match run.stdin.acknowledge(waiting) {
            0 => {}
            acknowledged => self.connection.send(&AgentReply::Taken { id: run.id, bytes: acknowledged as u32 }),
        }
    }

    /// Writes waiting input to the program's pipe.
    pub(super) fn feed(&mut self, key: ChildId) {
        let Some(child) = self.children.get_mut(&key) else { return };
        let (Some(pipe), Some(run)) = (&child.stdin, &mut child.run) else { return };
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
        let acknowledged = run.stdin.acknowledge(taken);
        let done = run.stdin.waiting.is_empty() && run.stdin.closed;
        let wanted = if run.stdin.waiting.is_empty() { Interest::Nothing } else { Interest::Write };
        self.poll.change(pipe, PollToken::Stdin(key), wanted);
        if acknowledged > 0 {
            self.connection.send(&AgentReply::Taken { id: run.id, bytes: acknowledged as u32 });
        }
        if done {
            child.stdin = None;
        }
    }

    /// Passes on one chunk of output, if there is one. Returns whether there may be more.
    pub(super) fn read_output(&mut self, key: ChildId, stream: OutputStream) -> bool {
        let Some(child) = self.children.get_mut(&key) else { return false };
        let Some(pipe) = child.output(stream) else { return false };
        let count = match read(pipe, &mut self.read_buffer) {
            Ok(0) => {
                child.close_output(stream);
                return false;
            }
            Ok(count) => count,
            Err(Errno::EINTR) => return true,
            Err(Errno::EAGAIN) => return false,
            Err(_) => {
                child.close_output(stream);
                return false;
            }
        };
        // Output of a session between its runs belongs to no exec.
        let Some(run) = child.run.as_mut() else { return true };
        let passed = run.take_head(stream, &self.read_buffer[..count]);
        if !passed.is_empty() {
            let bytes = passed.to_vec().into();
            self.connection.send(&AgentReply::Output { id: run.id, stream, bytes });
        }
        true
    }

    /// Passes on what is in the pipes already. A process that goes on writing is not waited for.
    pub(super) fn drain(&mut self, key: ChildId) {
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let mut left = MAX_PIPE_BYTES / READ_SIZE;
            while left > 0 && self.read_output(key, stream) {
                left -= 1;
            }
        }
    }
}
