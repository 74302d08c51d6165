//! Where clients find an app, as far as control knows it: paths of the listeners' own hosts, or a host of the app's.

use hearth_core::{AppName, VersionName};
use hearth_ipc::CellPlan;
use serde_json::{Value, json};

/// `active` leads to the active version, `version` to this one. Null where nothing leads there.
pub(super) fn addresses(plan: &CellPlan, app: &AppName, version: &VersionName, hosts: &[String]) -> Value {
    if plan.paths {
        return json!({ "active": format!("/{app}/"), "version": format!("/{app}@{version}/") });
    }
    // Hosts lead to the active version alone. A wildcard names no host, and a scoped name cannot be a part of one.
    let own = hosts.iter().find(|host| !host.starts_with("*.")).cloned();
    let label = || {
        let domain = plan.domains.first().filter(|_| !app.as_str().contains('/'))?;
        Some(format!("{}.{domain}", app.as_str().to_ascii_lowercase()))
    };
    json!({ "active": own.or_else(label).map(|host| format!("{host}/")), "version": null })
}
