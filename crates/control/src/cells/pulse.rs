//! Whether a cell is alive: it is asked again and again, and the threads that serve requests answer.
//!
//! No answer proves nothing on a machine that is too busy, and ending a cell that would have gone on is worse than ending a
//! frozen one late. So silence alone is not enough: the process must be stopped, or must have slept all the while (no thread
//! of it wants a core, and it used none). One that works without answering has much longer. Time in which control itself
//! did not get to run is nobody's silence.
//!
//! A cell that starts is given its first catalogue as a question that it answers when it has it. One that starts or leaves answers
//! no others; it is looked at all the same, and ended if it is stopped.

use std::collections::VecDeque;
use std::time::Duration;

use hearth_jail::procfs::{self, ProcStat, ProcState};
use tokio::time::Instant;

/// How often cells are asked.
pub(super) const BEAT: Duration = Duration::from_millis(250);
/// For a cell to take its first catalogue.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Ticks of the kernel's that a process uses even when it does nothing worth mentioning.
const IDLE_TICKS: u64 = 2;

#[derive(Default)]
pub(super) struct Pulse {
    beat: u64,
    /// Questions without an answer, and since when.
    open: VecDeque<(u64, Instant)>,
    /// What the process had used when it was first looked at, unless it was seen at work since.
    asleep_at: Option<u64>,
    /// Since when it is stopped, where only that is looked at.
    stopped: Option<Instant>,
}

/// How long a cell may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    timeout: Duration,
    /// A cell that works without answering has so many times the time.
    busy: u32,
}

/// What the kernel says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// By SIGSTOP, or at a terminal.
    Stopped,
    /// A thread runs, wants to, or waits for a disk.
    Busy,
    /// With the time that it has used in all.
    Asleep { ticks: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Alive,
    Frozen,
}

impl Patience {
    /// With a cell that answers heartbeats.
    pub(super) fn heartbeat(timeout: Duration) -> Self {
        Self { timeout, busy: 20 }
    }

    /// With a cell that takes its first catalogue. That may be large, and the machine slow.
    pub(super) fn start() -> Self {
        Self { timeout: START_TIMEOUT, busy: 6 }
    }

    fn judge_busy(self, silence: Duration) -> Verdict {
        if silence >= self.timeout * self.busy { Verdict::Frozen } else { Verdict::Alive }
    }
}

impl Pulse {
    /// The number of the next question.
    pub(super) fn ask(&mut self, now: Instant) -> u64 {
        self.beat += 1;
        self.open.push_back((self.beat, now));
        self.beat
    }

    /// The only question, unless it was asked before.
    pub(super) fn ask_once(&mut self, now: Instant) {
        if self.open.is_empty() {
            self.ask(now);
        }
    }

    pub(super) fn answer(&mut self, beat: u64) {
        self.open.retain(|(asked, _)| *asked > beat);
        self.asleep_at = None;
    }

    /// Control was held up for this long: it could not have heard an answer.
    pub(super) fn forgive(&mut self, late: Duration) {
        for since in self.open.iter_mut().map(|(_, since)| since).chain(&mut self.stopped) {
            *since += late;
        }
    }

    /// How long it has been silent.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        self.open.front().map_or(Duration::ZERO, |(_, since)| now.saturating_duration_since(*since))
    }

    /// Asks for the process's condition where the silence is long enough to wonder. To be called at every beat at least.
    pub(super) fn judge(
        &mut self,
        now: Instant,
        patience: Patience,
        look: impl FnOnce() -> Option<Condition>,
    ) -> Verdict {
        let (silence, timeout) = (self.silence(now), patience.timeout);
        if silence < timeout / 2 {
            self.asleep_at = None;
            return Verdict::Alive;
        }
        let is_long = silence >= timeout;
        match look() {
            Some(Condition::Stopped) if is_long => Verdict::Frozen,
            Some(Condition::Asleep { ticks }) => match self.asleep_at {
                Some(before) if ticks.saturating_sub(before) > IDLE_TICKS => {
                    self.asleep_at = Some(ticks);
                    patience.judge_busy(silence)
                }
                Some(_) if is_long => Verdict::Frozen,
                Some(_) => Verdict::Alive,
                None => {
                    self.asleep_at = Some(ticks);
                    Verdict::Alive
                }
            },
            Some(Condition::Busy) => {
                self.asleep_at = None;
                patience.judge_busy(silence)
            }
            // Stopped a moment ago, or gone: that is told elsewhere.
            Some(Condition::Stopped) | None => Verdict::Alive,
        }
    }

    /// Judges a cell that answers no questions yet, or no more: it may take its time, but not be stopped.
    pub(super) fn judge_stopped(&mut self, now: Instant, timeout: Duration, condition: Option<Condition>) -> Verdict {
        if condition != Some(Condition::Stopped) {
            self.stopped = None;
            return Verdict::Alive;
        }
        let since = *self.stopped.get_or_insert(now);
        if now.saturating_duration_since(since) >= timeout { Verdict::Frozen } else { Verdict::Alive }
    }
}

/// `None` where the process is gone.
pub(super) fn condition(pid: u32) -> Option<Condition> {
    let ProcStat { state, ticks, .. } = ProcStat::read(pid)?;
    if state == ProcState::Stopped {
        return Some(Condition::Stopped);
    }
    let is_busy =
        |thread: ProcStat| matches!(thread.state, ProcState::Running | ProcState::DiskSleep | ProcState::Traced);
    let mut threads = procfs::threads(pid).peekable();
    threads.peek()?;
    Some(if threads.any(is_busy) { Condition::Busy } else { Condition::Asleep { ticks } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(1500);

    fn patience() -> Patience {
        Patience::heartbeat(TIMEOUT)
    }

    /// Asks at every beat, answers none, and says after how many beats the cell was found frozen.
    fn frozen_after(beats: u32, mut condition: impl FnMut(u32) -> Option<Condition>) -> Option<u32> {
        let (mut pulse, begin) = (Pulse::default(), Instant::now());
        (0..beats).find(|beat| {
            let now = begin + BEAT * *beat;
            pulse.ask(now);
            pulse.judge(now, patience(), || condition(*beat)) == Verdict::Frozen
        })
    }

    #[test]
    fn a_stopped_process_and_one_that_sleeps_all_along_are_frozen() {
        assert_eq!(frozen_after(100, |_| Some(Condition::Stopped)), Some(6));
        assert_eq!(frozen_after(100, |_| Some(Condition::Asleep { ticks: 7 })), Some(6));
    }

    #[test]
    fn one_that_works_has_longer_and_one_that_is_gone_is_not_frozen() {
        assert_eq!(frozen_after(119, |_| Some(Condition::Busy)), None);
        assert_eq!(frozen_after(200, |_| Some(Condition::Busy)), Some(120));
        let works = |beat| Some(Condition::Asleep { ticks: u64::from(beat) * 10 });
        assert_eq!(frozen_after(119, works), None);
        assert_eq!(frozen_after(200, |_| None), None);
    }

    #[test]
    fn an_answer_and_a_control_that_was_held_up_begin_it_anew() {
        let (mut pulse, begin) = (Pulse::default(), Instant::now());
        let stopped = || Some(Condition::Stopped);
        let beat = pulse.ask(begin);
        pulse.forgive(Duration::from_secs(60));
        assert_eq!(pulse.judge(begin + Duration::from_secs(60), patience(), stopped), Verdict::Alive);
        pulse.answer(beat);
        assert_eq!(pulse.silence(begin + Duration::from_secs(99)), Duration::ZERO);
        pulse.ask(begin);
        assert_eq!(pulse.judge(begin + TIMEOUT, patience(), stopped), Verdict::Frozen);
    }

    /// Looks at every beat at a cell that was given its first catalogue at the first.
    fn start_ended_after(beats: u32, mut condition: impl FnMut(u32) -> Condition) -> Option<Duration> {
        let (mut pulse, begin) = (Pulse::default(), Instant::now());
        pulse.ask(begin);
        let is_frozen = |beat: &u32| {
            let now = begin + BEAT * *beat;
            pulse.judge(now, Patience::start(), || Some(condition(*beat))) == Verdict::Frozen
        };
        (0..beats).find(is_frozen).map(|beat| BEAT * beat)
    }

    #[test]
    fn a_cell_that_sleeps_at_its_start_has_ten_seconds_and_one_that_works_a_minute() {
        assert_eq!(start_ended_after(1_000, |_| Condition::Asleep { ticks: 7 }), Some(Duration::from_secs(10)));
        assert_eq!(start_ended_after(1_000, |_| Condition::Busy), Some(Duration::from_secs(60)));
        let works = |beat| Condition::Asleep { ticks: u64::from(beat) * 10 };
        assert_eq!(start_ended_after(1_000, works), Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_stopped_cell_is_frozen_whether_it_answers_questions_or_not() {
        let (mut pulse, begin) = (Pulse::default(), Instant::now());
        let mut judge = |after: Duration, condition| pulse.judge_stopped(begin + after, TIMEOUT, Some(condition));
        assert_eq!(judge(Duration::ZERO, Condition::Stopped), Verdict::Alive);
        assert_eq!(judge(TIMEOUT / 2, Condition::Busy), Verdict::Alive);
        assert_eq!(judge(TIMEOUT, Condition::Stopped), Verdict::Alive, "it went on meanwhile");
        assert_eq!(judge(TIMEOUT * 2, Condition::Stopped), Verdict::Frozen);
    }

    #[test]
    fn a_process_that_is_gone_has_no_condition() {
        assert!(condition(std::process::id()).is_some());
        assert_eq!(condition(u32::MAX), None);
    }
}
