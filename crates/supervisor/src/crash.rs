//! Why a cell was lost, and which app caused it.

use hearth_crash::breadcrumbs::{AttributionRecord, CrashTrail, Crashed, Running};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    /// Milliseconds since 1970.
    pub time: u64,
    pub cell: u32,
    pub cause: CrashCause,
    /// `signal 9`, `exit status 1`
    pub status: String,
    /// The last lines on stderr: V8's message, if it aborted.
    pub last_words: Vec<String>,
    /// The app that caused it, if known.
    #[serde(flatten)]
    pub culprit: Option<Culprit>,
}

/// How a cell was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashCause {
    /// The process exited, or was killed from outside.
    Crashed,
    /// The cell did not answer heartbeats, and was killed.
    Frozen,
    /// The process ended before it could serve.
    NotStarted,
}

/// The app whose code ran on the thread that crashed, or, when the shared V8 heap cage was full, the app that held most of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    pub app: String,
    pub version: String,
    pub owner: String,
    /// Number of the request in the cell; `None` if no request was being handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// The request id that the client was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// `handling`, `loading`, `streaming`, `wait_until`, `outside`; `holding` if the app only held the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Bytes that the owner held of the heap cage when that was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

const HOLDING: &str = "holding";

impl Culprit {
    /// Attributes a crash. The thread that crashed names the app, unless the cage was full of another app's memory. A thread
    /// of V8's own (garbage collection, say) is attributed to the only app that ran; if several ran, to none.
    pub(super) fn from_trail(trail: &CrashTrail) -> Option<Self> {
        trail.crashed?;
        match &trail.attribution {
            AttributionRecord::Runner => Self::running_app(trail),
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

    fn running_app(trail: &CrashTrail) -> Option<Self> {
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
    use hearth_crash::breadcrumbs::TurnPhase;

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
        Culprit::from_trail(&CrashTrail { running, crashed, attribution: AttributionRecord::Runner })
            .map(|culprit| culprit.app)
    }

    #[test]
    fn the_app_on_the_crashed_thread_is_named_and_no_other() {
        let two = || vec![running("a", Crashed::No), running("b", Crashed::No)];
        let marked = vec![running("a", Crashed::No), running("b", Crashed::Yes)];
        assert_eq!(named(marked, Some(7)).as_deref(), Some("b"));
        assert_eq!(named(two(), Some(7)), None, "a thread of V8, and two apps that it may have worked for");
        assert_eq!(named(vec![running("a", Crashed::No)], Some(7)).as_deref(), Some("a"));
        assert_eq!(named(vec![running("a", Crashed::No)], None), None, "killed from outside");
        let attribution = AttributionRecord::Runner;
        let culprit = Culprit::from_trail(&CrashTrail {
            running: vec![running("a", Crashed::Yes)],
            crashed: Some(1),
            attribution,
        });
        assert_eq!(culprit.map(|one| (one.request, one.phase)), Some((None, Some("loading".to_owned()))));
    }

    #[test]
    fn a_full_cage_is_attributed_to_its_largest_holder() {
        let trail =
            |attribution| CrashTrail { running: vec![running("asks", Crashed::Yes)], crashed: Some(7), attribution };
        let [app, version, owner] = ["holds", "2.0.0", "bob"].map(str::to_owned);
        let culprit = Culprit::from_trail(&trail(AttributionRecord::Holder { app, version, owner, bytes: 3 << 30 }));
        let culprit = culprit.map(|one| (one.app, one.owner, one.phase, one.held_bytes));
        assert_eq!(culprit, Some(("holds".to_owned(), "bob".to_owned(), Some("holding".to_owned()), Some(3 << 30))));
        assert_eq!(Culprit::from_trail(&trail(AttributionRecord::NoApp)), None, "an isolate could not be created");
    }
}
