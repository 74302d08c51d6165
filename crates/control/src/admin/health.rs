//! `GET /health`: whether the server serves, and what it lacks.

use hearth_core::Response;
use hearth_store::KeyFileWarning;
use serde_json::{Value, json};

use super::response;
use crate::control::Control;
use crate::sandboxes::SandboxHost;

/// With less free space a deploy, a secret or a cordon may not be saved.
const MIN_FREE_BYTES: u64 = 4 << 20;

/// The health report. Apps are served even if a part is degraded.
pub(super) fn health(control: &Control) -> Response {
    let sandboxes = control.sandboxes().ok().map(SandboxHost::health);
    let store = store(control);
    let is_degraded = [sandboxes.as_ref(), Some(&store)].into_iter().flatten().any(|part| part["status"] != "ok");
    let status = match () {
        () if control.is_draining() => "draining",
        () if !control.is_ready() => "starting",
        () if is_degraded => "degraded",
        () => "ok",
    };
    response::json(200, &json!({ "status": status, "sandboxes": sandboxes, "store": store }))
}

/// Whether deploys, secrets and cordons can be saved. The route needs no token, so reasons contain no paths.
fn store(control: &Control) -> Value {
    let store = &control.shared.store;
    let mut reasons: Vec<&str> = store.warnings().iter().filter_map(reason).collect();
    if let Ok(disk) = rustix::fs::statvfs(store.data()) {
        reasons.extend(shortage(disk.f_bavail.saturating_mul(disk.f_frsize)));
    }
    if reasons.is_empty() { json!({ "status": "ok" }) } else { json!({ "status": "degraded", "reasons": reasons }) }
}

fn shortage(free_bytes: u64) -> Option<&'static str> {
    (free_bytes < MIN_FREE_BYTES).then_some("the disk of the data folder is full")
}

fn reason(warning: &KeyFileWarning) -> Option<&'static str> {
    match warning {
        KeyFileWarning::ReadableByOthers { .. } => None,
        KeyFileWarning::NoRoom { .. } => Some("at the start there was no room beside the database"),
        KeyFileWarning::Unavailable { .. } => Some("the data folder cannot be written to: nothing is kept"),
        KeyFileWarning::KeyNotKept { .. } => Some("a key could not be kept"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_reason() {
        assert_eq!(shortage(MIN_FREE_BYTES), None);
        assert!(shortage(MIN_FREE_BYTES - 1).is_some() && shortage(0).is_some());
    }
}
