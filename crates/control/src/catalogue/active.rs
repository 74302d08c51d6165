//! Which version each bare app name resolves to. Uses the rule of the routing table, so that crons and tasks go to the same
//! version as requests.

use hearth_apps::routes::{self, Resolution, RouteEntry, RouteTable};
use hearth_apps::versions::AppVersion;
use hearth_ipc::Active;

use super::{Catalogue, Problem};

/// Whether hosts that two apps claim are added to the problems.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflicts {
    Report,
    /// They were reported already.
    Ignore,
}

impl Catalogue {
    /// Determines the active versions among those that are served.
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
        if conflicts == Conflicts::Report {
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
