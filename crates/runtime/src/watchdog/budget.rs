//! What a turn may use, and of which limit that is a part.

use std::time::{Duration, Instant};

use hearth_core::{LimitExceeded, LimitKind};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) cpu: Option<Allowance>,
    pub(crate) wall: Option<Deadline>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) kind: LimitKind,
    /// The whole limit, and how much of it earlier turns used.
    pub(crate) limit: Duration,
    pub(crate) used: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) kind: LimitKind,
    pub(crate) limit: Duration,
    pub(crate) at: Instant,
}

impl Budget {
    pub(super) fn exceeded(&self, cpu: Duration, now: Instant) -> Option<LimitExceeded> {
        let over = self.cpu.filter(|allowance| allowance.used + cpu > allowance.limit);
        if let Some(Allowance { kind, limit, used }) = over {
            return Some(LimitExceeded::time(kind, used + cpu, limit));
        }
        let Deadline { kind, limit, at } = self.wall?;
        (now >= at).then(|| LimitExceeded::time(kind, limit + (now - at), limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_names_the_limit_that_is_exceeded_and_cpu_comes_first() {
        let now = Instant::now();
        let budget = Budget {
            cpu: Some(Allowance {
                kind: LimitKind::Cpu,
                limit: Duration::from_millis(100),
                used: Duration::from_millis(60),
            }),
            wall: Some(Deadline { kind: LimitKind::Wall, limit: Duration::from_secs(1), at: now }),
        };
        assert_eq!(budget.exceeded(Duration::from_millis(41), now).map(|e| e.kind), Some(LimitKind::Cpu));
        assert_eq!(budget.exceeded(Duration::from_millis(39), now).map(|e| e.kind), Some(LimitKind::Wall));
        let early = now - Duration::from_millis(1);
        assert_eq!(budget.exceeded(Duration::from_millis(39), early), None);
    }
}
