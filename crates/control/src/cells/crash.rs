//! How a cell ended that should not have, and who did it.

use hearth_jail::breadcrumbs::{AttributionRecord, CrashTrail, Crashed, Running};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    /// Milliseconds since 1970.
    pub time: u64,
    pub cell: u32,
    pub cause: Cause,
    /// `signal 9`, `exit status 1`
    pub status: String,
    /// The last it wrote to standard error: V8's own words, where it aborted.
    pub last_words: Vec<String>,
    /// Who did it, where that is known.
    #[serde(flatten)]
    pub culprit: Option<Culprit>,
}

/// Why a cell is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It went by itself, or somebody ended it.
    Crashed,
    /// It did not answer any more, and was ended.
    Frozen,
    /// It went before it could serve anything.
    NotStarted,
}

/// Whose code ran on the thread that crashed; or who held so much that nothing was left for whoever asked next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    pub app: String,
    pub version: String,
    pub owner: String,
    /// The cell's own count. None where no request was being handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// As the client knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// `handling`, `loading`, `streaming`, `wait_until`, `outside`; `holding` where that was all that it did
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What its owner held of the memory that all heaps share, when that was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

const HOLDING: &str = "holding";

impl Culprit {
    /// The thread that crashed tells, unless what it asked for was held by another. Where it ran nobody's code (a collection,
    /// say, is done by V8's own threads), it was for the only one who ran anything; of several, nobody is named.
    pub(super) fn of(trail: &CrashTrail) -> Option<Self> {
        trail.crashed?;
        match &trail.attribution {
            AttributionRecord::Runner => Self::who_ran(trail),
            AttributionRecord::Holder { app, version, owner, bytes } => Some(Self {
                app: app.clone(),
                version: version.clone(),
                owner: owner.clone(),
                request: None,
                request_id: None,
                phase: Some(HOLDING.to_owned()),
                held_bytes: Some(*bytes),
            }),
            AttributionRecord::NoApp => None,
        }
    }

    fn who_ran(trail: &CrashTrail) -> Option<Self> {
        let marked = trail.running.iter().find(|one| one.crashed == Crashed::Yes);
        let one = match (marked, trail.running.as_slice()) {
            (Some(marked), _) => marked,
            (None, [only]) => only,
            (None, _) => return None,
        };
        let Running { app, version, owner, request, request_text, phase, .. } = one.clone();
        Some(Self {
            app,
            version,
            owner,
            request: Some(request).filter(|request| *request != 0),
            request_id: request_text,
            phase: phase.map(|phase| phase.as_str().to_owned()),
            held_bytes: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use hearth_jail::breadcrumbs::TurnPhase;

    use super::*;

    fn running(app: &str, crashed: Crashed) -> Running {
        Running {
            thread: 0,
            app: app.to_owned(),
            version: "1.0.0".to_owned(),
            owner: "ann".to_owned(),
            request: 0,
            request_text: None,
            phase: Some(TurnPhase::Loading),
            crashed,
        }
    }

    fn named(running: Vec<Running>, crashed: Option<u64>) -> Option<String> {
        Culprit::of(&CrashTrail { running, crashed, attribution: AttributionRecord::Runner }).map(|culprit| culprit.app)
    }

    #[test]
    fn the_thread_that_crashed_is_named_and_nobody_else() {
        let two = || vec![running("a", Crashed::No), running("b", Crashed::No)];
        let marked = vec![running("a", Crashed::No), running("b", Crashed::Yes)];
        assert_eq!(named(marked, Some(7)).as_deref(), Some("b"));
        assert_eq!(named(two(), Some(7)), None, "a thread of V8's, and two it may have worked for");
        assert_eq!(named(vec![running("a", Crashed::No)], Some(7)).as_deref(), Some("a"));
        assert_eq!(named(vec![running("a", Crashed::No)], None), None, "ended from without");
        let attribution = AttributionRecord::Runner;
        let culprit =
            Culprit::of(&CrashTrail { running: vec![running("a", Crashed::Yes)], crashed: Some(1), attribution });
        assert_eq!(culprit.map(|one| (one.request, one.phase)), Some((None, Some("loading".to_owned()))));
    }

    #[test]
    fn a_full_cage_is_the_doing_of_who_holds_the_most() {
        let trail =
            |attribution| CrashTrail { running: vec![running("asks", Crashed::Yes)], crashed: Some(7), attribution };
        let [app, version, owner] = ["holds", "2.0.0", "bob"].map(str::to_owned);
        let culprit = Culprit::of(&trail(AttributionRecord::Holder { app, version, owner, bytes: 3 << 30 }));
        let culprit = culprit.map(|one| (one.app, one.owner, one.phase, one.held_bytes));
        assert_eq!(culprit, Some(("holds".to_owned(), "bob".to_owned(), Some("holding".to_owned()), Some(3 << 30))));
        assert_eq!(Culprit::of(&trail(AttributionRecord::NoApp)), None, "an isolate could not be made");
    }
}
