//! The configuration, read again: at SIGHUP, by `hearth reload`, and of itself where a certificate's file changes. What is
//! wrong changes nothing: all of it is read and checked before any of it counts. One reading after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hearth_config::changed_keys;
use hearth_gateway::read_pem;
use hearth_ipc::CertificatePlan;
use serde_json::{Value, json};

use super::{ActionError, Control, blocking};
use crate::configuration::{AT_START, Configuration, ConfigurationError, check_certificates};
use crate::event::What;
use hearth_supervisor::CellRules;

/// How often the files of certificates are looked at.
const LOOK: Duration = Duration::from_secs(2);
const TARGET: &str = "hearth::configuration";

/// What a new plan takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// The cells that are there can use them.
    Certificates,
    Cells,
}

/// A file, as far as it can be told from another of the same name.
type Trace = Option<(SystemTime, u64)>;

impl Control {
    /// Reads it again, and makes it count. Says what is another now.
    pub async fn reload(&self) -> Result<Value, ActionError> {
        let _one = self.shared.reloading.lock().await;
        let shared = self.shared.clone();
        let read = blocking(move || shared.source.read()).await??;
        let before = self.configuration();
        let changed = changed_keys(&before.text, &read.text);
        let (at_start, changed): (Vec<String>, Vec<String>) =
            changed.into_iter().partition(|key| AT_START.contains(&key.as_str()));
        for key in &at_start {
            tracing::warn!(target: TARGET, "hearth.yaml: `{key}` is read at the start only: restart the server for it");
        }
        let change = self.take(read).await?;
        // Who fixed what kept an install from working expects it to be tried again.
        self.shared.installer.try_again();
        self.refresh().await?;
        self.warn_of_strangers();
        tracing::info!(target: TARGET, changed = changed.join(", "), "Configuration read again");
        self.shared.events.tell(What::Reloaded { changed: changed.clone(), needs_restart: at_start.clone() });
        Ok(json!({
            "changed": changed,
            "needs_restart": at_start,
            "certificates": if change == Change::Certificates { "renewed" } else { "kept" },
            "cells": if change == Change::Cells { "replaced" } else { "kept" },
        }))
    }

    /// Makes it count, for the cells and for whoever looks from now on.
    async fn take(&self, mut new: Configuration) -> Result<Change, ActionError> {
        // Where apps lie is not the file's to say; and nobody finds out about another place meanwhile.
        let _still = self.shared.told.lock().await;
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

    /// Uses certificates that were renewed, in the same files, from when both of a pair are there.
    pub(crate) async fn keep_certificates(self) {
        let mut seen = self.traces().await;
        loop {
            tokio::time::sleep(LOOK).await;
            let traces = self.traces().await;
            if traces == seen {
                continue;
            }
            match self.renew().await {
                // What is written in two steps does not fit together in between: the second one is seen as well.
                Err(error) => tracing::warn!(target: TARGET, "The certificates stay as they were: {error}"),
                Ok(Change::None) => {}
                Ok(_) => tracing::info!(target: TARGET, "Certificates renewed"),
            }
            seen = traces;
        }
    }

    async fn renew(&self) -> Result<Change, ActionError> {
        let _one = self.shared.reloading.lock().await;
        let before = self.configuration();
        let plans = before.plan.certificates.clone();
        let read = blocking(move || plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()).await?;
        let mut new = Configuration::clone(&before);
        new.plan.certificates = read?;
        self.take(new).await
    }

    async fn traces(&self) -> Vec<Trace> {
        let configuration = self.configuration();
        if configuration.plan.certificates.is_empty() {
            return Vec::new();
        }
        let look = move || {
            let trace = |file: &String| {
                let facts = std::fs::metadata(file).ok()?;
                Some((facts.modified().ok()?, facts.len()))
            };
            let files = configuration.plan.certificates.iter().flat_map(|plan| [&plan.file, &plan.key_file]);
            files.map(trace).collect()
        };
        blocking(look).await.unwrap_or_default()
    }
}

fn change(before: &Configuration, new: &Configuration) -> Change {
    let mut renewed = before.plan.clone();
    renewed.certificates = new.plan.certificates.clone();
    match (before.plan == new.plan, renewed == new.plan) {
        (true, _) => Change::None,
        // Names of files are no certificates, and who began or ends to listen with TLS has other listeners.
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
