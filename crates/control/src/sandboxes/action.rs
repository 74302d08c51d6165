//! Actions on sandboxes. Bodies are JSON with the arguments of the MCP tools, without `sandbox_id`; for files the body is the
//! content.

use hearth_core::Method;
use hearth_core::percent::decode;

use crate::action::{Call, NoAction};
use crate::admin::path::{QueryParams, encode};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxAction {
    List,
    /// Statistics and health of the pool.
    Stats,
    Create {
        arguments: String,
    },
    Show {
        id: String,
    },
    Destroy {
        id: String,
    },
    /// A command, or code.
    Exec {
        id: String,
        arguments: String,
    },
    Files {
        id: String,
        path: String,
        cursor: Option<String>,
    },
    ReadFile {
        id: String,
        path: String,
    },
    /// The content is the request's body, of any bytes.
    WriteFile {
        id: String,
        path: String,
        mode: Option<String>,
    },
    DeleteFile {
        id: String,
        path: String,
        scope: DeleteScope,
    },
    Jobs {
        id: String,
    },
    StartJob {
        id: String,
        arguments: String,
    },
    PollJob {
        id: String,
        job: String,
        wait_ms: Option<u64>,
    },
    SignalJob {
        id: String,
        job: String,
        signal: String,
    },
}

/// What a deletion includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteScope {
    One,
    /// The folder with everything in it.
    Tree,
}

impl SandboxAction {
    /// Routes what follows `/admin/sandboxes`; `None` if there is no such path.
    pub(crate) fn route(method: &Method, below: &str, query: &QueryParams) -> Option<Result<Self, NoAction>> {
        let method = if *method == Method::Head { &Method::Get } else { method };
        let mut parts = Vec::new();
        for part in below.split('/').filter(|part| !part.is_empty()) {
            parts.push(decode(part)?);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let wrong = |allow| Err(NoAction::Method { method: method.as_str().to_owned(), allow });
        Some(match (parts.as_slice(), method) {
            ([], Method::Get) => Ok(Self::List),
            ([], Method::Post) => Ok(Self::Create { arguments: String::new() }),
            ([], _) => wrong("GET, POST"),
            (["stats"], Method::Get) => Ok(Self::Stats),
            (["stats"], _) => wrong("GET"),
            ([id], Method::Get) => Ok(Self::Show { id: (*id).to_owned() }),
            ([id], Method::Delete) => Ok(Self::Destroy { id: (*id).to_owned() }),
            ([_], _) => wrong("GET, DELETE"),
            ([id, "exec"], Method::Post) => Ok(Self::Exec { id: (*id).to_owned(), arguments: String::new() }),
            ([_, "exec"], _) => wrong("POST"),
            ([id, "files"], Method::Get) => Self::files((*id).to_owned(), query),
            ([_, "files"], _) => wrong("GET"),
            ([id, "file"], method) => {
                return Self::file((*id).to_owned(), method, query).or(Some(wrong("GET, PUT, DELETE")));
            }
            ([id, "jobs"], Method::Get) => Ok(Self::Jobs { id: (*id).to_owned() }),
            ([id, "jobs"], Method::Post) => Ok(Self::StartJob { id: (*id).to_owned(), arguments: String::new() }),
            ([_, "jobs"], _) => wrong("GET, POST"),
            ([id, "jobs", job], Method::Get) => Self::poll((*id).to_owned(), (*job).to_owned(), query),
            ([_, "jobs", _], _) => wrong("GET"),
            ([id, "jobs", job, "signal"], Method::Post) => {
                let signal = query.only(&["signal"]).and_then(|()| query.require("signal"));
                signal.map(|signal| Self::SignalJob { id: (*id).to_owned(), job: (*job).to_owned(), signal })
            }
            ([_, "jobs", _, "signal"], _) => wrong("POST"),
            _ => return None,
        })
    }

    fn files(id: String, query: &QueryParams) -> Result<Self, NoAction> {
        query.only(&["path", "cursor"])?;
        let path = query.get("path").unwrap_or_else(|| "/work".to_owned());
        Ok(Self::Files { id, path, cursor: query.get("cursor") })
    }

    fn file(id: String, method: &Method, query: &QueryParams) -> Option<Result<Self, NoAction>> {
        let only = |names| query.only(names).and_then(|()| query.require("path"));
        Some(match method {
            Method::Get => only(&["path"]).map(|path| Self::ReadFile { id, path }),
            Method::Put => only(&["path", "mode"]).map(|path| Self::WriteFile { id, path, mode: query.get("mode") }),
            Method::Delete => only(&["path", "recursive"]).and_then(|path| {
                let scope = match query.get("recursive").as_deref() {
                    None | Some("false") => DeleteScope::One,
                    Some("" | "true") => DeleteScope::Tree,
                    Some(other) => {
                        let value = other.to_owned();
                        return Err(NoAction::Bad { name: "recursive", value, wanted: "use true or false" });
                    }
                };
                Ok(Self::DeleteFile { id, path, scope })
            }),
            _ => return None,
        })
    }

    fn poll(id: String, job: String, query: &QueryParams) -> Result<Self, NoAction> {
        query.only(&["wait_ms"])?;
        let wait_ms = match query.get("wait_ms") {
            None => None,
            Some(text) => match text.parse() {
                Ok(number) => Some(number),
                Err(_) => return Err(NoAction::Bad { name: "wait_ms", value: text, wanted: "use a number" }),
            },
        };
        Ok(Self::PollJob { id, job, wait_ms })
    }

    /// The request for this action.
    pub(crate) fn call(&self) -> Call {
        let at = |id: &str, rest: &str| format!("/admin/sandboxes/{}{rest}", encode(id));
        let all = "/admin/sandboxes".to_owned();
        let path_of = |path: &str| format!("?path={}", encode(path));
        let (method, path, body) = match self {
            Self::List => (Method::Get, all, None),
            Self::Stats => (Method::Get, all + "/stats", None),
            Self::Create { arguments } => (Method::Post, all, Some(arguments.clone())),
            Self::Show { id } => (Method::Get, at(id, ""), None),
            Self::Destroy { id } => (Method::Delete, at(id, ""), None),
            Self::Exec { id, arguments } => (Method::Post, at(id, "/exec"), Some(arguments.clone())),
            Self::Files { id, path, cursor } => {
                let cursor = cursor.as_ref().map_or(String::new(), |cursor| format!("&cursor={}", encode(cursor)));
                (Method::Get, at(id, &format!("/files{}{cursor}", path_of(path))), None)
            }
            Self::ReadFile { id, path } => (Method::Get, at(id, &format!("/file{}", path_of(path))), None),
            Self::WriteFile { id, path, mode } => {
                let mode = mode.as_ref().map_or(String::new(), |mode| format!("&mode={}", encode(mode)));
                (Method::Put, at(id, &format!("/file{}{mode}", path_of(path))), None)
            }
            Self::DeleteFile { id, path, scope } => {
                let scope = if *scope == DeleteScope::Tree { "&recursive=true" } else { "" };
                (Method::Delete, at(id, &format!("/file{}{scope}", path_of(path))), None)
            }
            Self::Jobs { id } => (Method::Get, at(id, "/jobs"), None),
            Self::StartJob { id, arguments } => (Method::Post, at(id, "/jobs"), Some(arguments.clone())),
            Self::PollJob { id, job, wait_ms } => {
                let wait = wait_ms.map_or(String::new(), |wait| format!("?wait_ms={wait}"));
                (Method::Get, at(id, &format!("/jobs/{}{wait}", encode(job))), None)
            }
            Self::SignalJob { id, job, signal } => {
                (Method::Post, at(id, &format!("/jobs/{}/signal?signal={}", encode(job), encode(signal))), None)
            }
        };
        Call { method, path, body }
    }

    /// Adds the request's body to an action that wants one.
    pub(crate) fn set_body(&mut self, body: String) {
        if let Self::Create { arguments } | Self::Exec { arguments, .. } | Self::StartJob { arguments, .. } = self {
            *arguments = body;
        }
    }

    /// Whether the action includes the request's body, which must be text.
    pub(crate) fn wants_body(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Exec { .. } | Self::StartJob { .. })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn actions_round_trip_through_requests() {
        let (id, job) = (|| "a b".to_owned(), || "j/b".to_owned());
        let (path, arguments) = (|| "/work/ä ?&".to_owned(), || "{\"command\":\"true\"}".to_owned());
        for action in [
            SandboxAction::List,
            SandboxAction::Stats,
            SandboxAction::Create { arguments: arguments() },
            SandboxAction::Show { id: id() },
            SandboxAction::Destroy { id: id() },
            SandboxAction::Exec { id: id(), arguments: arguments() },
            SandboxAction::Files { id: id(), path: path(), cursor: Some("x&y".to_owned()) },
            SandboxAction::ReadFile { id: id(), path: path() },
            SandboxAction::WriteFile { id: id(), path: path(), mode: Some("755".to_owned()) },
            SandboxAction::DeleteFile { id: id(), path: path(), scope: DeleteScope::Tree },
            SandboxAction::DeleteFile { id: id(), path: path(), scope: DeleteScope::One },
            SandboxAction::Jobs { id: id() },
            SandboxAction::StartJob { id: id(), arguments: arguments() },
            SandboxAction::PollJob { id: id(), job: job(), wait_ms: Some(5) },
            SandboxAction::SignalJob { id: id(), job: job(), signal: "SIGTERM".to_owned() },
        ] {
            let call = action.call();
            let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
            let below = path.strip_prefix("/admin/sandboxes").unwrap();
            let mut routed = SandboxAction::route(&call.method, below, &QueryParams::parse(query).unwrap());
            if let (Some(Ok(action)), Some(body)) = (&mut routed, call.body.clone()) {
                assert!(action.wants_body());
                action.set_body(body);
            }
            assert_eq!(routed, Some(Ok(action)), "{call:?}");
        }
    }

    #[test]
    fn misspelt_paths_and_parameters_are_errors() {
        let read = |method, below: &str, query: &str| {
            SandboxAction::route(&method, below, &QueryParams::parse(query).unwrap())
        };
        assert_eq!(read(Method::Get, "/a/nothing", ""), None);
        assert!(matches!(read(Method::Put, "/a", ""), Some(Err(NoAction::Method { allow: "GET, DELETE", .. }))));
        assert!(matches!(read(Method::Get, "/a/file", ""), Some(Err(NoAction::Missing("path")))));
        assert!(matches!(read(Method::Get, "/a/files", "pth=/"), Some(Err(NoAction::Unknown(_)))));
        assert!(matches!(read(Method::Delete, "/a/file", "path=a&recursive=yes"), Some(Err(NoAction::Bad { .. }))));
    }
}
