//! All operations of a running server, as one type: the admin API parses a request into an action, the command line formats
//! one into a request, and control executes it. So all three can do the same.

use hearth_core::Method;
use hearth_core::percent::decode;

use crate::admin::path::{QueryParams, encode};
use crate::control::ReadyStage;
use crate::sandboxes::SandboxAction;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Pool,
    Workers,
    Metrics,
    Prometheus,
    Crashes,
    Apps,
    App {
        name: String,
    },
    /// The archive is the request's body, which is streamed.
    Upload {
        name: String,
        version: String,
        owner: Option<String>,
    },
    Activate {
        name: String,
        version: String,
    },
    Rollback {
        name: String,
    },
    /// Without a version: all uploaded versions.
    Delete {
        name: String,
        version: Option<String>,
    },
    Task {
        name: String,
        payload: String,
    },
    Secrets {
        name: String,
    },
    SetSecret {
        name: String,
        key: String,
        value: String,
    },
    DeleteSecret {
        name: String,
        key: String,
    },
    Tokens {
        name: String,
    },
    AddToken {
        name: String,
        label: String,
    },
    DeleteToken {
        name: String,
        id: String,
    },
    Logs {
        app: Option<String>,
        lines: usize,
        follow: Follow,
    },
    Events {
        follow: Follow,
    },
    /// Reads configuration and certificates again.
    Reload,
    /// Replaces the serving cells.
    Replace,
    /// Owners with a cell of their own.
    Cordons,
    Cordon {
        owner: String,
    },
    Release {
        owner: String,
    },
    Drain,
    /// Possible until the server has begun to end.
    UndoDrain,
    /// Replaces the running program by the file that is there now.
    Upgrade,
    Sandbox(SandboxAction),
}

/// Whether a response goes on with what comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    Yes,
    No,
}

/// A request of the admin API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub method: Method,
    /// Path and query.
    pub path: String,
    pub body: Option<String>,
}

/// Why a request is no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAction {
    #[error("there is no {0} in the admin API; GET /openapi.json lists what there is")]
    Path(String),
    #[error("{method} is not possible here: use {allow}")]
    Method { method: String, allow: &'static str },
    #[error("the parameter `{0}` is missing: add ?{0}=… to the address")]
    Missing(&'static str),
    #[error("{0:?} cannot be decoded: write a percent sign as %25")]
    Undecodable(String),
    #[error("there is no parameter `{0}` here")]
    Unknown(String),
    #[error("the parameter `{name}` is {value:?}: {wanted}")]
    Bad { name: &'static str, value: String, wanted: &'static str },
}

/// Lines of the log if the request does not say how many.
pub const DEFAULT_LINES: usize = 100;

impl Action {
    /// Routes a request by method and path, which is without the query. If [`wants_body`](Self::wants_body) says so, the body
    /// must be added by [`set_body`](Self::set_body).
    pub fn route(method: &Method, path: &str, query: &QueryParams) -> Result<Self, NoAction> {
        let no_path = || NoAction::Path(path.to_owned());
        let rest = match path {
            "/metrics" => return only(method, &[(Method::Get, Self::Prometheus)], "GET"),
            _ => path.strip_prefix("/admin/").ok_or_else(no_path)?,
        };
        match rest {
            "pool" => only(method, &[(Method::Get, Self::Pool)], "GET"),
            "workers" => only(method, &[(Method::Get, Self::Workers)], "GET"),
            "metrics" => only(method, &[(Method::Get, Self::Metrics)], "GET"),
            "crashes" => only(method, &[(Method::Get, Self::Crashes)], "GET"),
            "events" => only(method, &[(Method::Get, Self::Events { follow: follow(query, Follow::Yes)? })], "GET"),
            "reload" => only(method, &[(Method::Post, Self::Reload)], "POST"),
            "logs" => only(method, &[(Method::Get, logs(query)?)], "GET"),
            "drain" => only(method, &[(Method::Post, Self::Drain), (Method::Delete, Self::UndoDrain)], "POST, DELETE"),
            "replace" => only(method, &[(Method::Post, Self::Replace)], "POST"),
            "cordons" => only(method, &[(Method::Get, Self::Cordons)], "GET"),
            _ if rest.starts_with("cordons/") => {
                let owner = decode(&rest["cordons/".len()..]).filter(|owner| !owner.is_empty()).ok_or_else(no_path)?;
                let (add, release) = (Self::Cordon { owner: owner.clone() }, Self::Release { owner });
                only(method, &[(Method::Put, add), (Method::Delete, release)], "PUT, DELETE")
            }
            _ if rest == "sandboxes" || rest.starts_with("sandboxes/") => {
                let below = &rest["sandboxes".len()..];
                SandboxAction::route(method, below, query).unwrap_or_else(|| Err(no_path())).map(Self::Sandbox)
            }
            "upgrade" => only(method, &[(Method::Post, Self::Upgrade)], "POST"),
            "apps" if *method == Method::Post => Ok(Self::Upload {
                name: query.require("name")?,
                version: query.require("version")?,
                owner: query.get("owner"),
            }),
            "apps" => only(method, &[(Method::Get, Self::Apps)], "GET, POST"),
            _ => {
                let below = rest.strip_prefix("apps/").ok_or_else(no_path)?;
                let (name, below) = app_name(below).ok_or_else(no_path)?;
                Self::route_app(method, name, below, query).unwrap_or_else(|| Err(no_path()))
            }
        }
    }

    fn route_app(method: &Method, name: String, below: &str, query: &QueryParams) -> Option<Result<Self, NoAction>> {
        let (what, item) = below.split_once('/').unwrap_or((below, ""));
        let item = decode(item)?;
        Some(match (what, item.as_str()) {
            // Without `version` all versions are deleted, so a misspelt parameter must be an error.
            ("", "") if *method == Method::Delete => {
                query.only(&["version"]).map(|()| Self::Delete { name, version: query.get("version") })
            }
            ("", "") => only(method, &[(Method::Get, Self::App { name })], "GET, DELETE"),
            ("activate", "") if *method == Method::Post => {
                query.require("version").map(|version| Self::Activate { name, version })
            }
            ("activate", "") => only(method, &[], "POST"),
            ("rollback", "") => only(method, &[(Method::Post, Self::Rollback { name })], "POST"),
            ("task", "") => only(method, &[(Method::Post, Self::Task { name, payload: String::new() })], "POST"),
            ("secrets", "") => only(method, &[(Method::Get, Self::Secrets { name })], "GET"),
            ("secrets", key) => {
                let key = key.to_owned();
                let set = Self::SetSecret { name: name.clone(), key: key.clone(), value: String::new() };
                only(method, &[(Method::Put, set), (Method::Delete, Self::DeleteSecret { name, key })], "PUT, DELETE")
            }
            ("tokens", "") => {
                let label = query.get("label").unwrap_or_default();
                let add = Self::AddToken { name: name.clone(), label };
                only(method, &[(Method::Get, Self::Tokens { name }), (Method::Post, add)], "GET, POST")
            }
            ("tokens", id) => {
                only(method, &[(Method::Delete, Self::DeleteToken { name, id: id.to_owned() })], "DELETE")
            }
            _ => return None,
        })
    }

    /// The request for this action.
    pub fn call(&self) -> Call {
        let app = |name: &str, rest: &str| format!("/admin/apps/{}{rest}", encode(name));
        let (method, path, body) = match self {
            Self::Pool => (Method::Get, "/admin/pool".to_owned(), None),
            Self::Workers => (Method::Get, "/admin/workers".to_owned(), None),
            Self::Metrics => (Method::Get, "/admin/metrics".to_owned(), None),
            Self::Prometheus => (Method::Get, "/metrics".to_owned(), None),
            Self::Crashes => (Method::Get, "/admin/crashes".to_owned(), None),
            Self::Events { follow: Follow::Yes } => (Method::Get, "/admin/events".to_owned(), None),
            Self::Events { follow: Follow::No } => (Method::Get, "/admin/events?follow=false".to_owned(), None),
            Self::Reload => (Method::Post, "/admin/reload".to_owned(), None),
            Self::Sandbox(action) => return action.call(),
            Self::Drain => (Method::Post, "/admin/drain".to_owned(), None),
            Self::UndoDrain => (Method::Delete, "/admin/drain".to_owned(), None),
            Self::Replace => (Method::Post, "/admin/replace".to_owned(), None),
            Self::Cordons => (Method::Get, "/admin/cordons".to_owned(), None),
            Self::Cordon { owner } => (Method::Put, format!("/admin/cordons/{}", encode(owner)), None),
            Self::Release { owner } => (Method::Delete, format!("/admin/cordons/{}", encode(owner)), None),
            Self::Upgrade => (Method::Post, "/admin/upgrade".to_owned(), None),
            Self::Apps => (Method::Get, "/admin/apps".to_owned(), None),
            Self::App { name } => (Method::Get, app(name, ""), None),
            Self::Upload { name, version, owner } => {
                let owner = owner.as_ref().map_or(String::new(), |owner| format!("&owner={}", encode(owner)));
                let path = format!("/admin/apps?name={}&version={}{owner}", encode(name), encode(version));
                (Method::Post, path, None)
            }
            Self::Activate { name, version } => {
                (Method::Post, app(name, &format!("/activate?version={}", encode(version))), None)
            }
            Self::Rollback { name } => (Method::Post, app(name, "/rollback"), None),
            Self::Delete { name, version: None } => (Method::Delete, app(name, ""), None),
            Self::Delete { name, version: Some(version) } => {
                (Method::Delete, app(name, &format!("?version={}", encode(version))), None)
            }
            Self::Task { name, payload } => (Method::Post, app(name, "/task"), Some(payload.clone())),
            Self::Secrets { name } => (Method::Get, app(name, "/secrets"), None),
            Self::SetSecret { name, key, value } => {
                (Method::Put, app(name, &format!("/secrets/{}", encode(key))), Some(value.clone()))
            }
            Self::DeleteSecret { name, key } => (Method::Delete, app(name, &format!("/secrets/{}", encode(key))), None),
            Self::Tokens { name } => (Method::Get, app(name, "/tokens"), None),
            Self::AddToken { name, label } => {
                (Method::Post, app(name, &format!("/tokens?label={}", encode(label))), None)
            }
            Self::DeleteToken { name, id } => (Method::Delete, app(name, &format!("/tokens/{}", encode(id))), None),
            Self::Logs { app, lines, follow } => {
                let app = app.as_ref().map_or(String::new(), |app| format!("&app={}", encode(app)));
                let follow = if *follow == Follow::Yes { "&follow=true" } else { "" };
                (Method::Get, format!("/admin/logs?lines={lines}{app}{follow}"), None)
            }
        };
        Call { method, path, body }
    }

    /// Adds the request's body to an action that wants one.
    pub fn set_body(&mut self, body: String) {
        match self {
            Self::Task { payload, .. } => *payload = body,
            Self::SetSecret { value, .. } => *value = body,
            Self::Sandbox(action) => action.set_body(body),
            _ => {}
        }
    }

    /// Whether the action includes the request's body, which must be text.
    pub fn wants_body(&self) -> bool {
        match self {
            Self::Task { .. } | Self::SetSecret { .. } => true,
            Self::Sandbox(action) => action.wants_body(),
            _ => false,
        }
    }

    /// What the server must have loaded to execute it. Its state and its end can be asked for at once.
    pub(crate) fn required_stage(&self) -> ReadyStage {
        match self {
            Self::Pool | Self::Workers | Self::Metrics | Self::Prometheus | Self::Crashes => ReadyStage::Started,
            Self::Logs { .. } | Self::Events { .. } => ReadyStage::Started,
            Self::Reload | Self::Replace | Self::Drain | Self::UndoDrain | Self::Upgrade => ReadyStage::Started,
            Self::Apps | Self::App { .. } | Self::Upload { .. } | Self::Task { .. } => ReadyStage::AppsServed,
            Self::Activate { .. } | Self::Rollback { .. } | Self::Delete { .. } => ReadyStage::AppsServed,
            Self::Secrets { .. } | Self::SetSecret { .. } | Self::DeleteSecret { .. } => ReadyStage::AppsServed,
            Self::Tokens { .. } | Self::AddToken { .. } | Self::DeleteToken { .. } => ReadyStage::AppsServed,
            Self::Cordons | Self::Cordon { .. } | Self::Release { .. } => ReadyStage::AppsServed,
            Self::Sandbox(_) => ReadyStage::Ready,
        }
    }
}

/// The action of the request's method. HEAD is GET without a body.
fn only(method: &Method, actions: &[(Method, Action)], allow: &'static str) -> Result<Action, NoAction> {
    let method = if *method == Method::Head { &Method::Get } else { method };
    let found = actions.iter().find(|(one, _)| one == method).map(|(_, action)| action.clone());
    found.ok_or_else(|| NoAction::Method { method: method.as_str().to_owned(), allow })
}

fn logs(query: &QueryParams) -> Result<Action, NoAction> {
    let lines = match query.get("lines") {
        Some(text) => text.parse().map_err(|_| NoAction::Bad { name: "lines", value: text, wanted: "use a number" })?,
        None => DEFAULT_LINES,
    };
    Ok(Action::Logs { app: query.get("app"), lines, follow: follow(query, Follow::No)? })
}

fn follow(query: &QueryParams, default: Follow) -> Result<Follow, NoAction> {
    match query.get("follow") {
        None => Ok(default),
        Some(text) => match text.as_str() {
            "" | "true" | "1" => Ok(Follow::Yes),
            "false" | "0" => Ok(Follow::No),
            _ => Err(NoAction::Bad { name: "follow", value: text, wanted: "use true or false" }),
        },
    }
}

/// Splits a path below `/admin/apps/` into the app's name and the rest. The slash of a scoped name may be encoded.
fn app_name(path: &str) -> Option<(String, &str)> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let name = decode(first)?;
    if name.starts_with('@') && !name.contains('/') {
        let (second, rest) = rest.split_once('/').unwrap_or((rest, ""));
        return Some((format!("{name}/{}", decode(second)?), rest));
    }
    (!name.is_empty()).then_some((name, rest))
}

#[cfg(test)]
#[path = "action/tests.rs"]
mod tests;
