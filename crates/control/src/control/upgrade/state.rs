//! State of control that an upgrade hands to the next program, as JSON. A restart loses it, so it is not in the store.
//! Unknown fields are ignored and missing ones are empty, since the two programs may be of different versions.

use std::collections::BTreeMap;

use hearth_core::Owner;
use serde::{Deserialize, Serialize};

use hearth_supervisor::Crash;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ControlState {
    /// The last crashes, the oldest first.
    pub(crate) crashes: Vec<Crash>,
    /// Total number of lost cells.
    pub(crate) lost: u64,
    /// Stuck turns of owners that are not cordoned for them.
    pub(crate) stuck: BTreeMap<Owner, u32>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_and_missing_fields_are_tolerated() {
        let culprit = json!({ "time": 5, "cell": 7, "cause": "crashed", "status": "signal: 6", "last_words": ["a"],
            "app": "shop", "version": "1.0.0", "owner": "ann", "request_id": "x", "phase": "handling" });
        let unattributed = json!({ "time": 6, "cell": 8, "cause": "frozen", "status": "signal: 9", "last_words": [] });
        let text = json!({ "crashes": [culprit, unattributed], "lost": 200, "stuck": { "bob": 1 } });
        let state: ControlState = serde_json::from_value(text.clone()).unwrap();
        let named: Vec<_> =
            state.crashes.iter().map(|one| one.culprit.as_ref().map(|culprit| &*culprit.owner)).collect();
        assert_eq!(named, [Some("ann"), None]);
        assert_eq!(serde_json::to_value(&state).unwrap(), text);
        let other: ControlState = serde_json::from_value(json!({ "lost": 3, "of_tomorrow": true })).unwrap();
        assert_eq!(other, ControlState { lost: 3, ..ControlState::default() });
    }
}
