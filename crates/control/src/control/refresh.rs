//! Refresh: assembles the catalogue from folders, uploads and configuration, and sends it to the cells. Every change of what
//! is served goes through here and is reported as done only when the cells serve it. Refreshes run one after the other.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hearth_config::JailMode;
use hearth_core::AppName;
use hearth_ipc::{LoadError, VersionSpec};

use super::{ActionError, Control, Shared, blocking};
use crate::catalogue::{Catalogue, Conflicts, Sources, State, Version, assemble};
use crate::event::EventKind;
use hearth_supervisor::CellRules;

/// Log target. Programs that follow a server's log wait for its lines.
const TARGET: &str = "hearth::catalogue";

/// Delay after a refresh that could not read everything.
const PARTIAL_RETRY_DELAY: Duration = Duration::from_secs(2);

impl Control {
    /// Assembles the catalogue and serves it. Completes when it is served.
    pub async fn refresh(&self) -> Result<(), ActionError> {
        let mut last_sent = self.shared.last_sent.lock().await;
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
        if last_sent.as_ref() == Some(&specs) {
            keep_failures(&mut catalogue, &before);
        } else {
            // If this fails it is not known what is served, so the next refresh sends it again.
            *last_sent = None;
            self.extend_readable_paths(&specs).await?;
            let unserved = self.shared.cells.serve(specs.clone()).await?;
            record_failures(&mut catalogue, &unserved);
            *last_sent = Some(specs);
        }
        // A version that the cells refused must not be active.
        catalogue.mark_active(Conflicts::Ignore);
        let (apps, versions) = (catalogue.app_count(), catalogue.versions.len());
        let problems = catalogue.problem_count();
        let has_changed = before.specs() != catalogue.specs() || before.problem_count() != problems;
        self.shared.catalogue.send_replace(Arc::new(catalogue));
        if has_changed {
            tracing::info!(target: TARGET, apps, versions, problems, "catalogue served");
            self.shared.events.record(EventKind::CatalogueChanged { apps, versions, problems });
        }
        self.sweep(before).await;
        self.retry_if_partial();
        Ok(())
    }

    /// Schedules another refresh if something could not be read: no file event reports when it can be.
    fn retry_if_partial(&self) {
        let shared = self.shared.clone();
        if !shared.catalogue.borrow().is_partial() || shared.retry_scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(PARTIAL_RETRY_DELAY).await;
            shared.retry_scheduled.store(false, Ordering::Release);
            shared.refresh_requested.notify_one();
        });
    }

    /// Makes sure that the cells can read these apps: if one lies outside of their readable paths, cells are replaced.
    async fn extend_readable_paths(&self, specs: &[VersionSpec]) -> Result<(), ActionError> {
        if self.configuration().plan.jail.mode == JailMode::Off {
            return Ok(());
        }
        let folders: Vec<PathBuf> = specs.iter().map(|spec| spec.folder.clone()).collect();
        let shared = self.shared.clone();
        let grown = blocking(move || {
            let mut paths = shared.readable_paths.lock().unwrap_or_else(PoisonError::into_inner);
            paths.grow(folders.iter().map(PathBuf::as_path)).then(|| paths.folders())
        });
        if let Some(readable) = grown.await? {
            tracing::info!(target: TARGET, "app folder is outside the cells' Landlock paths; replacing cells");
            let configuration = &self.shared.configuration;
            configuration.send_modify(|current| Arc::make_mut(current).plan.jail.readable = readable);
            let now = self.configuration();
            self.shared.cells.reconfigure(now.plan.clone(), CellRules::new(&now.operator)).await?;
        }
        Ok(())
    }

    /// Warns of app names in `hearth.yaml` that no app has.
    pub(crate) fn warn_unknown_apps(&self) {
        let (catalogue, configuration) = (self.catalogue(), self.configuration());
        let is_unknown = |name: &&AppName| catalogue.of_app(name.as_str()).next().is_none();
        for name in configuration.operator.apps.keys().filter(is_unknown) {
            tracing::warn!(target: TARGET, "hearth.yaml: apps.{name}: there is no such app yet");
        }
    }

    /// Logs problems and warnings that are new.
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

    /// Removes uploads that can neither be rolled back to nor are served. Those of the previous catalogue stay until the next
    /// refresh, since requests in flight may read from them.
    async fn sweep(&self, before: Arc<Catalogue>) {
        let (shared, now) = (self.shared.clone(), self.catalogue());
        let swept = blocking(move || {
            let folders = |catalogue: &Catalogue| -> Vec<PathBuf> {
                let served = |version: &Version| version.served_meanwhile.as_ref().map(|spec| spec.folder.clone());
                let all = catalogue.versions.iter();
                all.flat_map(|version| [Some(version.spec.folder.clone()), served(version)]).flatten().collect()
            };
            let in_use = [folders(&before), folders(&now)].concat();
            hearth_store::Deployments::sweep_folders(&*shared.store, &in_use)
        });
        match swept.await {
            Ok(Ok(removed)) => removed.iter().for_each(|folder| tracing::debug!(?folder, "upload removed")),
            Ok(Err(error)) => tracing::warn!(target: TARGET, %error, "old uploads not removed"),
            Err(error) => tracing::warn!(target: TARGET, %error, "old uploads not removed"),
        }
    }
}

/// Marks the versions that the cells could not serve.
fn record_failures(catalogue: &mut Catalogue, unserved: &[LoadError]) {
    for LoadError { app, version, message } in unserved {
        if let Some(version) = catalogue.find_mut(app, version) {
            version.state = State::Failed(message.clone());
        }
    }
}

/// Keeps the failures of an unchanged catalogue, which is not sent to the cells again.
fn keep_failures(catalogue: &mut Catalogue, before: &Catalogue) {
    let index = before.index();
    for version in &mut catalogue.versions {
        if let Some(old) = index.get(&(&version.spec.app, &version.spec.version)) {
            // The specs are equal, or the catalogue would have been sent.
            if let (State::Failed(_), State::Served) = (&old.state, &version.state) {
                version.state = old.state.clone();
            }
        }
    }
}
