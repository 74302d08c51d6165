//! The addresses of an app, as far as control knows them: paths on the listeners' own hosts, or a host of the app.

use hearth_core::{AppName, VersionName};
use hearth_ipc::CellPlan;
use serde_json::{Value, json};

/// `active` is the address of the active version, `version` that of this one. Null if there is none.
pub(super) fn addresses(plan: &CellPlan, app: &AppName, version: &VersionName, hosts: &[String]) -> Value {
    if plan.paths {
        return json!({ "active": format!("/{app}/"), "version": format!("/{app}@{version}/") });
    }
    // Hosts are routed to the active version only. A wildcard is no host, and a scoped name cannot be part of one.
    let own = hosts.iter().find(|host| !host.starts_with("*.")).cloned();
    let label = || {
        let domain = plan.domains.first().filter(|_| !app.as_str().contains('/'))?;
        Some(format!("{}.{domain}", app.as_str().to_ascii_lowercase()))
    };
    json!({ "active": own.or_else(label).map(|host| format!("{host}/")), "version": null })
}
