//! Heartbeats: cells are pinged at an interval, and the threads that serve requests answer.
//!
//! On an overloaded machine a missing answer proves nothing, and killing a healthy cell is worse than killing a frozen one
//! late. So a silent cell counts as frozen only if its process is stopped, or has slept all the time (no thread is runnable,
//! and no CPU time was used). A process that works without answering has 20 times the timeout. Time in which control itself
//! did not run is not counted as silence.
//!
//! The first catalogue of a starting cell counts as a ping, which its confirmation answers. A starting or draining cell gets
//! no other pings; its process is checked all the same, and killed if it is stopped.

use std::collections::VecDeque;
use std::time::Duration;

use hearth_sys::procfs::{self, ProcStat, ProcState};
use tokio::time::Instant;

/// Time between two pings.
pub(super) const PING_INTERVAL: Duration = Duration::from_millis(250);
/// Time for a cell to load its first catalogue.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// CPU time in kernel ticks that an idle process may use.
const IDLE_TICKS: u64 = 2;

#[derive(Default)]
pub(super) struct Heartbeat {
    beat: u64,
    /// Unanswered pings, and when each was sent.
    pending: VecDeque<(u64, Instant)>,
    /// CPU ticks of the process when it was first seen asleep, unless it was seen at work since.
    asleep_at: Option<u64>,
    /// Since when the process is stopped, for cells that get no pings.
    stopped: Option<Instant>,
}

/// How long a cell may be silent before it counts as frozen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SilenceLimit {
    timeout: Duration,
    /// Factor by which the timeout is longer for a process that is busy.
    busy_factor: u32,
}

/// State of a process, from procfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// By SIGSTOP, or by a terminal.
    Stopped,
    /// A thread is running, runnable, or waits for a disk.
    Busy,
    /// All threads sleep; `ticks` is the CPU time used so far.
    Asleep { ticks: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    Alive,
    Frozen,
}

impl SilenceLimit {
    /// For a cell that answers pings.
    pub(super) fn heartbeat(timeout: Duration) -> Self {
        Self { timeout, busy_factor: 20 }
    }

    /// For a cell that loads its first catalogue, which may be large.
    pub(super) fn start() -> Self {
        Self { timeout: START_TIMEOUT, busy_factor: 6 }
    }

    fn check_busy(self, silence: Duration) -> Liveness {
        if silence >= self.timeout * self.busy_factor { Liveness::Frozen } else { Liveness::Alive }
    }
}

impl Heartbeat {
    /// Records a ping, and returns its number.
    pub(super) fn ping(&mut self, now: Instant) -> u64 {
        self.beat += 1;
        self.pending.push_back((self.beat, now));
        self.beat
    }

    /// Records a ping unless one is pending.
    pub(super) fn ping_once(&mut self, now: Instant) {
        if self.pending.is_empty() {
            self.ping(now);
        }
    }

    /// A pong: answers all pings up to this number.
    pub(super) fn pong(&mut self, beat: u64) {
        self.pending.retain(|(asked, _)| *asked > beat);
        self.asleep_at = None;
    }

    /// Excludes time in which control did not run, and so could not receive an answer.
    pub(super) fn exclude_stall(&mut self, late: Duration) {
        for since in self.pending.iter_mut().map(|(_, since)| since).chain(&mut self.stopped) {
            *since += late;
        }
    }

    /// Age of the oldest unanswered ping.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        self.pending.front().map_or(Duration::ZERO, |(_, since)| now.saturating_duration_since(*since))
    }

    /// Checks a cell that gets pings. Reads the state of its process only after half of the timeout. Must be called at
    /// least once per ping.
    pub(super) fn check(
        &mut self,
        now: Instant,
        limit: SilenceLimit,
        read_state: impl FnOnce() -> Option<ProcessState>,
    ) -> Liveness {
        let (silence, timeout) = (self.silence(now), limit.timeout);
        if silence < timeout / 2 {
            self.asleep_at = None;
            return Liveness::Alive;
        }
        let is_long = silence >= timeout;
        match read_state() {
            Some(ProcessState::Stopped) if is_long => Liveness::Frozen,
            Some(ProcessState::Asleep { ticks }) => match self.asleep_at {
                Some(before) if ticks.saturating_sub(before) > IDLE_TICKS => {
                    self.asleep_at = Some(ticks);
                    limit.check_busy(silence)
                }
                Some(_) if is_long => Liveness::Frozen,
                Some(_) => Liveness::Alive,
                None => {
                    self.asleep_at = Some(ticks);
                    Liveness::Alive
                }
            },
            Some(ProcessState::Busy) => {
                self.asleep_at = None;
                limit.check_busy(silence)
            }
            // Stopped only recently, or gone, which the closed socket reports.
            Some(ProcessState::Stopped) | None => Liveness::Alive,
        }
    }

    /// Checks a cell that gets no pings (yet, or any more): it is frozen if its process is stopped for `timeout`.
    pub(super) fn check_stopped(&mut self, now: Instant, timeout: Duration, state: Option<ProcessState>) -> Liveness {
        if state != Some(ProcessState::Stopped) {
            self.stopped = None;
            return Liveness::Alive;
        }
        let since = *self.stopped.get_or_insert(now);
        if now.saturating_duration_since(since) >= timeout { Liveness::Frozen } else { Liveness::Alive }
    }
}

/// The state of a process; `None` if it is gone.
pub(super) fn process_state(pid: u32) -> Option<ProcessState> {
    let ProcStat { state, ticks, .. } = ProcStat::read(pid)?;
    if state == ProcState::Stopped {
        return Some(ProcessState::Stopped);
    }
    let is_busy =
        |thread: ProcStat| matches!(thread.state, ProcState::Running | ProcState::DiskSleep | ProcState::Traced);
    let mut threads = procfs::threads(pid).peekable();
    threads.peek()?;
    Some(if threads.any(is_busy) { ProcessState::Busy } else { ProcessState::Asleep { ticks } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(1500);

    fn limit() -> SilenceLimit {
        SilenceLimit::heartbeat(TIMEOUT)
    }

    /// Pings a cell that never answers; returns after how many intervals it was found frozen.
    fn frozen_after(beats: u32, mut state: impl FnMut(u32) -> Option<ProcessState>) -> Option<u32> {
        let (mut heartbeat, begin) = (Heartbeat::default(), Instant::now());
        (0..beats).find(|beat| {
            let now = begin + PING_INTERVAL * *beat;
            heartbeat.ping(now);
            heartbeat.check(now, limit(), || state(*beat)) == Liveness::Frozen
        })
    }

    #[test]
    fn a_silent_cell_that_is_stopped_or_asleep_is_frozen() {
        assert_eq!(frozen_after(100, |_| Some(ProcessState::Stopped)), Some(6));
        assert_eq!(frozen_after(100, |_| Some(ProcessState::Asleep { ticks: 7 })), Some(6));
    }

    #[test]
    fn a_busy_cell_has_longer_and_a_process_that_is_gone_is_not_frozen() {
        assert_eq!(frozen_after(119, |_| Some(ProcessState::Busy)), None);
        assert_eq!(frozen_after(200, |_| Some(ProcessState::Busy)), Some(120));
        let works = |beat| Some(ProcessState::Asleep { ticks: u64::from(beat) * 10 });
        assert_eq!(frozen_after(119, works), None);
        assert_eq!(frozen_after(200, |_| None), None);
    }

    #[test]
    fn an_answer_resets_the_silence_and_a_stall_of_control_is_excluded() {
        let (mut heartbeat, begin) = (Heartbeat::default(), Instant::now());
        let stopped = || Some(ProcessState::Stopped);
        let beat = heartbeat.ping(begin);
        heartbeat.exclude_stall(Duration::from_secs(60));
        assert_eq!(heartbeat.check(begin + Duration::from_secs(60), limit(), stopped), Liveness::Alive);
        heartbeat.pong(beat);
        assert_eq!(heartbeat.silence(begin + Duration::from_secs(99)), Duration::ZERO);
        heartbeat.ping(begin);
        assert_eq!(heartbeat.check(begin + TIMEOUT, limit(), stopped), Liveness::Frozen);
    }

    /// Checks a cell that does not confirm its first catalogue; returns after which time it was found frozen.
    fn frozen_at_start_after(beats: u32, mut state: impl FnMut(u32) -> ProcessState) -> Option<Duration> {
        let (mut heartbeat, begin) = (Heartbeat::default(), Instant::now());
        heartbeat.ping(begin);
        let is_frozen = |beat: &u32| {
            let now = begin + PING_INTERVAL * *beat;
            heartbeat.check(now, SilenceLimit::start(), || Some(state(*beat))) == Liveness::Frozen
        };
        (0..beats).find(is_frozen).map(|beat| PING_INTERVAL * beat)
    }

    #[test]
    fn a_starting_cell_has_ten_seconds_asleep_and_a_minute_busy() {
        assert_eq!(frozen_at_start_after(1_000, |_| ProcessState::Asleep { ticks: 7 }), Some(Duration::from_secs(10)));
        assert_eq!(frozen_at_start_after(1_000, |_| ProcessState::Busy), Some(Duration::from_secs(60)));
        let works = |beat| ProcessState::Asleep { ticks: u64::from(beat) * 10 };
        assert_eq!(frozen_at_start_after(1_000, works), Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_stopped_cell_without_pings_is_frozen() {
        let (mut heartbeat, begin) = (Heartbeat::default(), Instant::now());
        let mut check = |after: Duration, state| heartbeat.check_stopped(begin + after, TIMEOUT, Some(state));
        assert_eq!(check(Duration::ZERO, ProcessState::Stopped), Liveness::Alive);
        assert_eq!(check(TIMEOUT / 2, ProcessState::Busy), Liveness::Alive);
        assert_eq!(check(TIMEOUT, ProcessState::Stopped), Liveness::Alive, "it was continued meanwhile");
        assert_eq!(check(TIMEOUT * 2, ProcessState::Stopped), Liveness::Frozen);
    }

    #[test]
    fn a_process_that_is_gone_has_no_state() {
        assert!(process_state(std::process::id()).is_some());
        assert_eq!(process_state(u32::MAX), None);
    }
}
