//! Uploads, activation, roll-back, deletion. An upload is checked as far as is possible without running it before anything
//! changes. The revision that it replaces stays for a roll-back.

use hearth_apps::AppModules;
use hearth_apps::discovery::check_name;
use hearth_config::AppOrigin;
use hearth_core::{AppName, Body, BodyError, Owner, VersionName};
use hearth_ipc::{EventOutcome, Kind, Query, QueryReply};
use hearth_store::{
    Activations, Deployment, Deployments, NewDeployment, Secrets, StoreError, Tokens, Unpacked, UploadLimits,
};
use serde_json::{Value, json};

use super::addresses::addresses;
use super::{ActionError, Control, blocking};
use crate::catalogue::{Catalogue, Problem, State, VersionOrigin, read_app};
use crate::event::EventKind;

impl Control {
    /// Uploads an archive. The version is served when this returns.
    pub async fn upload(
        &self,
        name: String,
        version: String,
        owner: Option<String>,
        archive: Body,
    ) -> Result<Value, ActionError> {
        self.shared.store.check_available()?;
        let (app, version) = (AppName::new(name), canonical(VersionName::new(version))?);
        let owner = match owner {
            Some(owner) => Owner::new(owner),
            None => default_owner(self, &app).await?,
        };
        check_names(&app, &owner)?;
        let is_shadowed =
            self.catalogue().find(&app, &version).is_some_and(|found| found.origin == VersionOrigin::Served);
        if is_shadowed {
            return Err(ActionError::NotUploaded { app: app.to_string(), version: version.to_string() });
        }
        let unpacked = receive(self, archive).await?;
        let shared = self.shared.clone();
        let new = NewDeployment { app: app.clone(), version: version.clone(), owner };
        let published = blocking(move || -> Result<_, ActionError> {
            let owner = check(&unpacked, &new, &shared.configuration.borrow().clone().operator)?;
            check_owner(&shared.catalogue.borrow(), &new.app, owner)?;
            Ok(shared.store.publish(unpacked, new)?)
        })
        .await??;
        self.refresh().await?;
        let (revision, number) = (published.revision.0, version.to_string());
        self.shared.events.record(EventKind::Uploaded { app: app.to_string(), version: number.clone(), revision });
        tracing::info!(app = app.as_str(), version = number, revision, "version uploaded");
        Ok(self.upload_report(&published))
    }

    fn upload_report(&self, published: &Deployment) -> Value {
        let Deployment { app, version, .. } = published;
        let catalogue = self.catalogue();
        let found = catalogue.find(app, version);
        let state = found.map(|version| version.state.clone());
        let hosts = found.map_or(&[][..], |version| &version.spec.hosts);
        let addresses = addresses(&self.configuration().plan, app, version, hosts);
        let active = catalogue.active(app.as_str()).map(|version| version.spec.version.to_string());
        json!({
            "name": app.as_str(),
            "version": version.as_str(),
            "revision": published.revision.0,
            "hash": published.hash.to_string(),
            "files": published.files,
            "size": published.size.bytes(),
            "active": active,
            "addresses": addresses,
            "state": match state {
                Some(State::Served) => "served",
                Some(State::Installing) => "installing",
                Some(State::Failed(_)) | None => "failed",
            },
        })
    }
}

async fn receive(control: &Control, mut archive: Body) -> Result<Unpacked, ActionError> {
    let store = control.shared.store.clone();
    let mut spool = blocking(move || store.uploads().spool(&UploadLimits::default())).await??;
    while let Some(piece) = archive.next().await {
        let piece = piece.map_err(|error| match error {
            BodyError::TooLarge { limit } => ActionError::TooLarge { limit: hearth_core::ByteSize(limit) },
            other => ActionError::Invalid(format!("the archive did not come whole: {other}")),
        })?;
        spool = blocking(move || spool.write(&piece).map(|()| spool)).await??;
    }
    Ok(blocking(move || spool.unpack()).await??)
}

/// The default owner of an upload: the owner of the app, or the name of a new app.
async fn default_owner(control: &Control, app: &AppName) -> Result<Owner, ActionError> {
    let (store, name) = (control.shared.store.clone(), app.clone());
    let uploaded = blocking(move || store.owner(&name)).await??;
    let served = || control.catalogue().of_app(app.as_str()).next().map(|version| version.spec.owner.clone());
    Ok(uploaded.or_else(served).unwrap_or_else(|| Owner::from(app)))
}

/// An app name belongs to one owner, with its secrets, so an upload of another owner is refused. The store checks uploads
/// once more, one after the other.
fn check_owner(catalogue: &Catalogue, app: &AppName, given: Owner) -> Result<(), ActionError> {
    match catalogue.of_app(app.as_str()).find(|version| version.spec.owner != given) {
        Some(version) => {
            let owner = version.spec.owner.clone();
            Err(StoreError::OtherOwner { app: app.clone(), owner, given }.into())
        }
        None => Ok(()),
    }
}

/// Checks that the upload can be served, as far as is possible without running it. Returns its owner.
fn check(
    unpacked: &Unpacked,
    new: &NewDeployment,
    operator: &hearth_config::OperatorConfig,
) -> Result<Owner, ActionError> {
    let folder = unpacked.folder();
    let origin = AppOrigin::Uploaded { owner: Some(new.owner.clone()) };
    // The temporary path of the folder is of no use in a message.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let shorten = |message: String| {
        let names = [whole.display().to_string(), folder.display().to_string()];
        names
            .iter()
            .fold(message, |message, name| message.replace(&format!("{name}/"), "").replace(name, "the archive"))
    };
    let source = read_app(folder, &new.app, operator, origin)
        .map_err(|error| ActionError::Manifest(shorten(error.to_string())))?;
    if let (Kind::Worker { entry }, false) = (&source.kind, source.settings.auto_install) {
        let checked = AppModules::open(folder, entry).and_then(|modules| modules.preload());
        checked.map_err(|error| ActionError::Manifest(shorten(error.to_string())))?;
    }
    Ok(source.settings.owner.unwrap_or_else(|| new.owner.clone()))
}

/// Checks names as in manifests. The store checks further what cannot be a folder's name.
fn check_names(app: &AppName, owner: &Owner) -> Result<(), ActionError> {
    if let Err(fault) = check_name(app.as_str()) {
        return Err(ActionError::Invalid(format!("{:?} cannot be the name of an app: {fault}", app.as_str())));
    }
    let is_visible = |byte: u8| byte.is_ascii_graphic();
    if !(1..=128).contains(&owner.as_str().len()) || !owner.as_str().bytes().all(is_visible) {
        let message = "the parameter `owner` is no owner: use up to 128 visible ASCII characters, without spaces";
        return Err(ActionError::Invalid(message.into()));
    }
    Ok(())
}

/// The full form of a version: `v1` is `1.0.0`, as in names of folders.
fn canonical(version: VersionName) -> Result<VersionName, ActionError> {
    let parsed = version.as_str().parse::<hearth_apps::versions::AppVersion>();
    parsed.map(|version| VersionName::from(&version)).map_err(|error| ActionError::Invalid(error.to_string()))
}

impl Control {
    pub(super) async fn activate(&self, name: String, version: String) -> Result<Value, ActionError> {
        let (app, wanted) = (AppName::new(name.clone()), canonical(VersionName::new(version.clone()))?);
        if self.catalogue().find(&app, &wanted).is_none() {
            // It may be new in a served folder.
            self.refresh().await?;
        }
        let catalogue = self.catalogue();
        match catalogue.find(&app, &wanted).map(|found| &found.state) {
            Some(State::Served) => {}
            Some(State::Installing) => {
                return Err(ActionError::Unserved("its dependencies are being installed".into()));
            }
            Some(State::Failed(message)) => return Err(ActionError::Unserved(message.clone())),
            None if catalogue.of_app(&name).next().is_some() => {
                return Err(ActionError::NoVersion { app: name, version });
            }
            None => return Err(ActionError::NoApp(name)),
        }
        let number = wanted.to_string();
        let default =
            catalogue.active(&name).map(|version| version.spec.version.clone()).filter(|default| *default != wanted);
        self.stored(move |store| {
            // Records the version that was active by default, so that it can be rolled back to.
            if let (None, Some(default)) = (store.active(&app)?, default) {
                store.activate(&app, &default)?;
            }
            store.activate(&app, &wanted)
        })
        .await?;
        self.refresh().await?;
        self.shared.events.record(EventKind::Activated { app: name.clone(), version: number.clone() });
        tracing::info!(app = name, version = number, "version activated");
        let failing = self.load_error(AppName::new(name.clone()), VersionName::new(number.clone())).await;
        let mut answer = json!({ "name": name, "active": number });
        if let Some(failing) = failing {
            answer["failing"] = json!(failing);
        }
        Ok(answer)
    }

    /// Loads a version; returns the error if that fails.
    async fn load_error(&self, app: AppName, version: VersionName) -> Option<String> {
        match self.shared.cells.query(Query::Load { app, version }).await {
            Ok(QueryReply::Event(EventOutcome::Failed { message })) => Some(message),
            // The loss of a cell says nothing about the version.
            Ok(_) | Err(_) => None,
        }
    }

    pub(super) async fn roll_back(&self, name: String) -> Result<Value, ActionError> {
        if self.catalogue().of_app(&name).next().is_none() {
            return Err(ActionError::NoApp(name));
        }
        let app = AppName::new(name.clone());
        let Some(release) = self.stored(move |store| store.rollback(&app)).await? else {
            return Err(ActionError::NothingBefore(name));
        };
        self.refresh().await?;
        let number = release.version.to_string();
        self.shared.events.record(EventKind::RolledBack { app: name.clone(), version: number.clone() });
        tracing::info!(app = name, version = number, "version rolled back");
        Ok(json!({ "name": name, "active": number, "revision": release.revision.map(|revision| revision.0) }))
    }

    /// Deletes one uploaded version, or all of the app.
    pub(super) async fn delete(&self, name: String, version: Option<String>) -> Result<Value, ActionError> {
        let app = AppName::new(name.clone());
        let catalogue = self.catalogue();
        let wanted = version.map(|version| canonical(VersionName::new(version))).transpose()?;
        if let Some(wanted) = &wanted {
            let found = catalogue.find(&app, wanted).map(|found| &found.origin);
            if found == Some(&VersionOrigin::Served) {
                return Err(ActionError::NotUploaded { app: name, version: wanted.to_string() });
            }
        }
        let (target, only) = (app.clone(), wanted.clone());
        let deleted = self
            .stored(move |store| {
                let mut versions: Vec<VersionName> =
                    store.deployments()?.into_iter().filter(|one| one.app == target).map(|one| one.version).collect();
                versions.dedup();
                let chosen = match only {
                    Some(version) => vec![version],
                    None => versions,
                };
                for version in &chosen {
                    store.delete_version(&target, version)?;
                }
                Ok(chosen)
            })
            .await?;
        if deleted.is_empty() {
            let served = catalogue.of_app(&name).next().map(|version| version.spec.version.to_string());
            return Err(match served {
                Some(version) => ActionError::NotUploaded { app: name, version },
                None => ActionError::NoApp(name),
            });
        }
        self.refresh().await?;
        let (secrets, tokens) = self.delete_secrets_and_tokens(&app).await?;
        self.shared
            .events
            .record(EventKind::Deleted { app: name.clone(), version: wanted.map(|version| version.to_string()) });
        let versions: Vec<&str> = deleted.iter().map(VersionName::as_str).collect();
        tracing::info!(app = name, ?versions, "app or version deleted");
        Ok(json!({ "name": name, "deleted": versions, "secrets": secrets, "tokens": tokens }))
    }

    /// Deletes the secrets and tokens of an app of which nothing is left, since the next app of that name may have another
    /// owner. Returns how many there were.
    async fn delete_secrets_and_tokens(&self, app: &AppName) -> Result<(usize, usize), ActionError> {
        let catalogue = self.catalogue();
        let cannot_be_served = |problem: &Problem| problem.app.as_deref() == Some(app.as_str());
        if catalogue.of_app(app.as_str()).next().is_some() || catalogue.problems.iter().any(cannot_be_served) {
            return Ok((0, 0));
        }
        let app = app.clone();
        self.stored(move |store| {
            let (secrets, tokens) = (store.secret_names(&app)?, store.tokens(&app)?);
            for secret in &secrets {
                store.delete_secret(&app, secret)?;
            }
            for token in &tokens {
                store.delete_token(&app, token.id)?;
            }
            Ok((secrets.len(), tokens.len()))
        })
        .await
    }
}
