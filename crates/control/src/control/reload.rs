//! Reload of the configuration: at SIGHUP, by `hearth reload`, and for certificates when their files change. Everything is
//! read and checked before any of it is applied, so an error changes nothing. Reloads run one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hearth_config::changed_keys;
use hearth_gateway::read_pem;
use hearth_ipc::CertificatePlan;
use serde_json::{Value, json};

use super::{ActionError, Control, blocking};
use crate::configuration::{Configuration, ConfigurationError, RESTART_KEYS, check_certificates};
use crate::event::EventKind;
use hearth_supervisor::CellRules;

/// How often the files of certificates are checked.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(2);
const TARGET: &str = "hearth::configuration";

/// What a new plan requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// New certificates, which running cells can use.
    Certificates,
    /// New cells.
    Cells,
}

/// Modification time and length of a file, by which a change is noticed.
type FileStamp = Option<(SystemTime, u64)>;

impl Control {
    /// Reads the configuration again and applies it. Returns what has changed.
    pub async fn reload(&self) -> Result<Value, ActionError> {
        let _reload = self.shared.reloading.lock().await;
        let shared = self.shared.clone();
        let read = blocking(move || shared.source.read()).await??;
        let before = self.configuration();
        let changed = changed_keys(&before.text, &read.text);
        let (needs_restart, changed): (Vec<String>, Vec<String>) =
            changed.into_iter().partition(|key| RESTART_KEYS.contains(&key.as_str()));
        for key in &needs_restart {
            tracing::warn!(target: TARGET, "hearth.yaml: `{key}` is read at the start only: restart the server for it");
        }
        let change = self.apply(read).await?;
        // The operator may have fixed the cause of failed installs.
        self.shared.installer.retry_failed();
        self.refresh().await?;
        self.warn_unknown_apps();
        tracing::info!(target: TARGET, changed = changed.join(", "), "configuration reloaded");
        self.shared
            .events
            .record(EventKind::Reloaded { changed: changed.clone(), needs_restart: needs_restart.clone() });
        Ok(json!({
            "changed": changed,
            "needs_restart": needs_restart,
            "certificates": if change == Change::Certificates { "renewed" } else { "kept" },
            "cells": if change == Change::Cells { "replaced" } else { "kept" },
        }))
    }

    /// Applies a configuration to the cells, and to later refreshes.
    async fn apply(&self, mut new: Configuration) -> Result<Change, ActionError> {
        // Readable paths follow from the apps and not from the file. The lock keeps a refresh from extending them meanwhile.
        let _refresh = self.shared.last_sent.lock().await;
        new.plan.jail.readable = self.configuration().plan.jail.readable.clone();
        let failed =
            |error: hearth_gateway::TlsError| ActionError::Configuration(ConfigurationError(error.to_string()));
        check_certificates(&new.plan.certificates).map_err(failed)?;
        let change = change(&self.configuration(), &new);
        if change == Change::Certificates {
            self.shared.cells.renew(new.plan.certificates.clone())?;
        }
        self.shared.cells.reconfigure(new.plan.clone(), CellRules::new(&new.operator)).await?;
        self.shared.configuration.send_replace(Arc::new(new));
        Ok(change)
    }

    /// Watches the files of the certificates, and applies renewed ones once both files of a pair fit together.
    pub(crate) async fn certificate_loop(self) {
        let mut seen = self.file_stamps().await;
        loop {
            tokio::time::sleep(CERTIFICATE_CHECK_INTERVAL).await;
            let stamps = self.file_stamps().await;
            if stamps == seen {
                continue;
            }
            match self.renew().await {
                // Between the writes of the two files of a pair they do not fit; the second write is noticed as well.
                Err(error) => tracing::warn!(target: TARGET, "certificates not renewed: {error}"),
                Ok(Change::None) => {}
                Ok(_) => tracing::info!(target: TARGET, "certificates renewed"),
            }
            seen = stamps;
        }
    }

    async fn renew(&self) -> Result<Change, ActionError> {
        let _reload = self.shared.reloading.lock().await;
        let before = self.configuration();
        let plans = before.plan.certificates.clone();
        let read = blocking(move || plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()).await?;
        let mut new = Configuration::clone(&before);
        new.plan.certificates = read?;
        self.apply(new).await
    }

    async fn file_stamps(&self) -> Vec<FileStamp> {
        let configuration = self.configuration();
        if configuration.plan.certificates.is_empty() {
            return Vec::new();
        }
        let read_stamps = move || {
            let stamp = |file: &String| {
                let metadata = std::fs::metadata(file).ok()?;
                Some((metadata.modified().ok()?, metadata.len()))
            };
            let files = configuration.plan.certificates.iter().flat_map(|plan| [&plan.file, &plan.key_file]);
            files.map(stamp).collect()
        };
        blocking(read_stamps).await.unwrap_or_default()
    }
}

fn change(before: &Configuration, new: &Configuration) -> Change {
    let mut renewed = before.plan.clone();
    renewed.certificates = new.plan.certificates.clone();
    match (before.plan == new.plan, renewed == new.plan) {
        (true, _) => Change::None,
        // Only the content of certificates differs. Listeners are the same, or the plan would differ in more.
        (false, true) => Change::Certificates,
        (false, false) => Change::Cells,
    }
}

fn read_again(plan: &CertificatePlan) -> Result<CertificatePlan, ConfigurationError> {
    let read = |file: &str| {
        read_pem(Path::new(file)).map_err(|error| ConfigurationError(format!("cannot read {file}: {error}")))
    };
    let (certificate, key) = (read(&plan.file)?, read(&plan.key_file)?);
    Ok(CertificatePlan { file: plan.file.clone(), key_file: plan.key_file.clone(), certificate, key })
}
