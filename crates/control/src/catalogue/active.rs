//! What each bare name means: the routing table's own rule, asked here too, so that crons and tasks go where requests go.

use hearth_apps::routes::{self, Resolution, RouteEntry, RouteTable};
use hearth_apps::versions::AppVersion;
use hearth_ipc::Active;

use super::{Catalogue, Problem};

/// Whether somebody hears of hosts that two apps claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflicts {
    Told,
    /// They were told already.
    Known,
}

impl Catalogue {
    /// Decides it anew, among what is served.
    pub(crate) fn mark_active(&mut self, conflicts: Conflicts) {
        let mut entries = Vec::new();
        for (at, version) in self.versions.iter_mut().enumerate() {
            version.set_active(Active::No);
            let Some(spec) = version.served() else { continue };
            let Ok(number) = spec.version.as_str().parse::<AppVersion>() else { continue };
            let is_active = self.activated.get(&spec.app) == Some(&spec.version);
            entries.push(RouteEntry {
                name: spec.app.clone(),
                version: number,
                hosts: spec.hosts.clone(),
                active: if is_active { routes::RouteActivation::Yes } else { routes::RouteActivation::No },
                value: at,
            });
        }
        let names: Vec<String> = entries.iter().map(|entry| entry.name.to_string()).collect();
        let (table, problems) = RouteTable::build(entries, &[]);
        if conflicts == Conflicts::Told {
            for problem in problems {
                self.problems.push(Problem { app: None, version: None, message: problem.to_string() });
            }
        }
        for name in names {
            if let Resolution::App { value, .. } = table.resolve("", &format!("/{name}/")) {
                self.versions[*value].set_active(Active::Yes);
            }
        }
    }
}
