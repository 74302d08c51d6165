//! Looking at all there is, and serving it. Everything that changes what is served goes through here: look, tell the cells,
//! and only then say that it is done. One look after the other.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hearth_config::JailMode;
use hearth_core::AppName;
use hearth_ipc::{LoadError, VersionSpec};

use super::{ActionError, Control, Shared, blocking};
use crate::catalogue::{Catalogue, Conflicts, Sources, State, Version, assemble};
use crate::event::What;
use crate::reach::Growth;
use hearth_supervisor::CellRules;

/// What the log calls this: who follows a server's log waits for its lines.
const TARGET: &str = "hearth::catalogue";

/// After one that did not see all that there is.
const ANOTHER_LOOK: Duration = Duration::from_secs(2);

impl Control {
    /// Looks at all there is, and serves it. Ready when it is served.
    pub async fn refresh(&self) -> Result<(), ActionError> {
        let mut told = self.shared.told.lock().await;
        let (shared, before) = (self.shared.clone(), self.catalogue());
        let configuration = self.configuration();
        let known = before.clone();
        let mut catalogue = blocking(move || {
            let Shared { store, roots, installer, .. } = &*shared;
            let operator = &configuration.operator;
            assemble(&Sources { store, operator, roots, installer, before: &known })
        })
        .await?
        .map_err(ActionError::Store)?;
        self.shared.installer.start_wanted(self, &catalogue);
        self.report_problems(&before, &catalogue);
        let specs = catalogue.specs();
        if told.as_ref() == Some(&specs) {
            carry_over(&mut catalogue, &before);
        } else {
            // If this fails nobody knows what is served: then the next look tells it again.
            *told = None;
            self.widen(&specs).await?;
            let unserved = self.shared.cells.serve(specs.clone()).await?;
            note(&mut catalogue, &unserved);
            *told = Some(specs);
        }
        // What the cell refused answers to no name.
        catalogue.mark_active(Conflicts::Known);
        let (apps, versions) = (catalogue.app_count(), catalogue.versions.len());
        let problems = catalogue.problem_count();
        let is_news = before.specs() != catalogue.specs() || before.problem_count() != problems;
        self.shared.catalogue.send_replace(Arc::new(catalogue));
        if is_news {
            tracing::info!(target: TARGET, apps, versions, problems, "Serving");
            self.shared.events.tell(What::CatalogueChanged { apps, versions, problems });
        }
        self.sweep(before).await;
        self.look_again_if_partial();
        Ok(())
    }

    /// What could not be read may be readable soon, and nothing tells when.
    fn look_again_if_partial(&self) {
        let shared = self.shared.clone();
        if !shared.catalogue.borrow().is_partial() || shared.looks_again.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(ANOTHER_LOOK).await;
            shared.looks_again.store(false, Ordering::Release);
            shared.stale.notify_one();
        });
    }

    /// Makes sure that the cells can read these: where one lies beyond their reach, others take their place.
    async fn widen(&self, specs: &[VersionSpec]) -> Result<(), ActionError> {
        if self.configuration().plan.jail.mode == JailMode::Off {
            return Ok(());
        }
        let folders: Vec<PathBuf> = specs.iter().map(|spec| spec.folder.clone()).collect();
        let shared = self.shared.clone();
        let grown = blocking(move || {
            let mut reach = shared.reach.lock().unwrap_or_else(PoisonError::into_inner);
            (reach.grow(folders.iter().map(PathBuf::as_path)) == Growth::Some).then(|| reach.folders())
        });
        if let Some(readable) = grown.await? {
            tracing::info!(target: TARGET, "An app lies where the cells may not read: others take their place");
            let configuration = &self.shared.configuration;
            configuration.send_modify(|current| Arc::make_mut(current).plan.jail.readable = readable);
            let now = self.configuration();
            self.shared.cells.reconfigure(now.plan.clone(), CellRules::new(&now.operator)).await?;
        }
        Ok(())
    }

    /// Names in `hearth.yaml` that no app has: often a slip.
    pub(crate) fn warn_of_strangers(&self) {
        let (catalogue, configuration) = (self.catalogue(), self.configuration());
        let is_strange = |name: &&AppName| catalogue.of_app(name.as_str()).next().is_none();
        for name in configuration.operator.apps.keys().filter(is_strange) {
            tracing::warn!(target: TARGET, "hearth.yaml: apps.{name}: there is no such app yet");
        }
    }

    /// Each problem is logged when it is new.
    fn report_problems(&self, before: &Catalogue, now: &Catalogue) {
        for problem in now.problems.iter().filter(|problem| !before.problems.contains(problem)) {
            let (app, version) = (problem.app.as_deref(), problem.version.as_deref());
            tracing::error!(target: TARGET, app, version, "{}", problem.message);
        }
        let index = before.index();
        for version in &now.versions {
            let old = index.get(&(&version.spec.app, &version.spec.version));
            let (app, number) = (version.spec.app.as_str(), version.spec.version.as_str());
            for warning in version.warnings.iter().filter(|one| old.is_none_or(|old| !old.warnings.contains(one))) {
                tracing::warn!(target: TARGET, app, version = number, "{warning}");
            }
        }
    }

    /// Removes uploads that nobody can come back to and no cell serves. What was served until now may still be read from,
    /// by requests in flight: it goes at the next look.
    async fn sweep(&self, before: Arc<Catalogue>) {
        let (shared, now) = (self.shared.clone(), self.catalogue());
        let swept = blocking(move || {
            let folders = |catalogue: &Catalogue| -> Vec<PathBuf> {
                let served = |version: &Version| version.stand_in.as_ref().map(|spec| spec.folder.clone());
                let all = catalogue.versions.iter();
                all.flat_map(|version| [Some(version.spec.folder.clone()), served(version)]).flatten().collect()
            };
            let in_use = [folders(&before), folders(&now)].concat();
            hearth_store::Deployments::sweep_folders(&*shared.store, &in_use)
        });
        match swept.await {
            Ok(Ok(removed)) => removed.iter().for_each(|folder| tracing::debug!(?folder, "Removed")),
            Ok(Err(error)) => tracing::warn!(target: TARGET, %error, "Old uploads could not be removed"),
            Err(error) => tracing::warn!(target: TARGET, %error, "Old uploads could not be removed"),
        }
    }
}

/// What the cell could not serve.
fn note(catalogue: &mut Catalogue, unserved: &[LoadError]) {
    for LoadError { app, version, message } in unserved {
        if let Some(version) = catalogue.find_mut(app, version) {
            version.state = State::Failed(message.clone());
        }
    }
}

/// The cell was not asked again: what it could not serve it cannot serve now.
fn carry_over(catalogue: &mut Catalogue, before: &Catalogue) {
    let index = before.index();
    for version in &mut catalogue.versions {
        if let Some(old) = index.get(&(&version.spec.app, &version.spec.version)) {
            // The specs are the same, or the cell would have been asked.
            if let (State::Failed(_), State::Served) = (&old.state, &version.state) {
                version.state = old.state.clone();
            }
        }
    }
}
