//! What one program remembers for the next: it need not outlive a restart, so it is in no store, but a newer Hearth is no
//! reason to forget it. What the next one does not know is left out, and what it misses is empty.

use std::collections::BTreeMap;

use hearth_core::Owner;
use serde::{Deserialize, Serialize};

use hearth_supervisor::Crash;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// The last cells that were lost, the oldest first.
    pub(crate) crashes: Vec<Crash>,
    /// How many there ever were.
    pub(crate) lost: u64,
    /// How many turns of an owner's were stuck, where that was no reason yet to shut it away.
    pub(crate) stuck: BTreeMap<Owner, u32>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_program_reads_what_it_understands() {
        let culprit = json!({ "time": 5, "cell": 7, "cause": "crashed", "status": "signal: 6", "last_words": ["a"],
            "app": "shop", "version": "1.0.0", "owner": "ann", "request_id": "x", "phase": "handling" });
        let nobody = json!({ "time": 6, "cell": 8, "cause": "frozen", "status": "signal: 9", "last_words": [] });
        let text = json!({ "crashes": [culprit, nobody], "lost": 200, "stuck": { "bob": 1 } });
        let remembered: Remembered = serde_json::from_value(text.clone()).unwrap();
        let named: Vec<_> = remembered.crashes.iter().map(|one| one.culprit.as_ref().map(|who| &*who.owner)).collect();
        assert_eq!(named, [Some("ann"), None]);
        assert_eq!(serde_json::to_value(&remembered).unwrap(), text);
        let other: Remembered = serde_json::from_value(json!({ "lost": 3, "of_tomorrow": true })).unwrap();
        assert_eq!(other, Remembered { lost: 3, ..Remembered::default() });
    }
}
