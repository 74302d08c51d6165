//! Secrets and tokens of apps. A change is reported as done only when it is served; values are never returned.

use std::time::UNIX_EPOCH;

use hearth_config::Auth;
use hearth_core::AppName;
use hearth_store::{Secrets, SqliteStore, StoreError, TokenId, Tokens};
use serde_json::{Value, json};

use super::{ActionError, Control, blocking};

impl Control {
    pub(super) async fn secrets(&self, name: String) -> Result<Value, ActionError> {
        let app = self.existing_app(name)?;
        let names = self.stored(move |store| store.secret_names(&app)).await?;
        Ok(json!({ "secrets": names }))
    }

    pub(super) async fn set_secret(&self, name: String, key: String, value: String) -> Result<Value, ActionError> {
        let app = self.existing_app(name)?;
        let set = key.clone();
        self.stored(move |store| store.set_secret(&app, &key, &value)).await?;
        self.refresh().await?;
        Ok(json!({ "set": set }))
    }

    pub(super) async fn delete_secret(&self, name: String, key: String) -> Result<Value, ActionError> {
        let app = AppName::new(name);
        let deleted = key.clone();
        self.stored(move |store| store.delete_secret(&app, &key)).await?;
        self.refresh().await?;
        Ok(json!({ "deleted": deleted }))
    }

    pub(super) async fn tokens(&self, name: String) -> Result<Value, ActionError> {
        let app = self.existing_app(name)?;
        let tokens = self.stored(move |store| store.tokens(&app)).await?;
        let shown = tokens.iter().map(|token| {
            let since = token.created_at.duration_since(UNIX_EPOCH).unwrap_or_default();
            let created = hearth_core::time::rfc3339(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
            json!({ "id": token.id.to_string(), "label": token.label, "created_at": created })
        });
        Ok(json!({ "tokens": shown.collect::<Vec<_>>() }))
    }

    pub(super) async fn add_token(&self, name: String, label: String) -> Result<Value, ActionError> {
        let app = self.existing_app(name)?;
        let asked = self.catalogue().of_app(app.as_str()).any(|version| version.spec.settings.auth == Auth::Token);
        let (id, token) = self.stored(move |store| store.add_token(&app, &label)).await?;
        self.refresh().await?;
        Ok(json!({ "id": id.to_string(), "token": token.reveal(), "asked": asked }))
    }

    pub(super) async fn delete_token(&self, name: String, id: String) -> Result<Value, ActionError> {
        let app = AppName::new(name);
        let number = id.parse().map_err(|_| ActionError::Invalid(format!("{id:?} is no token's id: use a number")))?;
        self.stored(move |store| store.delete_token(&app, TokenId(number))).await?;
        self.refresh().await?;
        Ok(json!({ "deleted": id }))
    }

    /// The name of an existing app. A secret for another one would be a mistyped name.
    fn existing_app(&self, name: String) -> Result<AppName, ActionError> {
        let known = self.catalogue().of_app(&name).next().map(|version| version.spec.app.clone());
        known.ok_or(ActionError::NoApp(name))
    }

    pub(super) async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SqliteStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ActionError> {
        let store = self.shared.store.clone();
        Ok(blocking(move || work(&store)).await??)
    }
}
