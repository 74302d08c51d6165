//! `hearth apps`, `activate`, `rollback`, `delete`.

use std::fmt::Write as _;

use hearth_control::action::Action;

use super::Session;
use super::error::RemoteError;
use super::options::{ActivateOptions, AppsOptions, DeleteOptions};
use super::responses::{Activated, App, Catalogue, Deleted, Problem, State, Version};
use crate::terminal::{Align, Style, Table, Tint, confirm, escape, escape_lines};

pub(super) fn show(session: &Session, options: AppsOptions) -> Result<(), RemoteError> {
    let Session { server, output } = session;
    match options.name {
        Some(name) => {
            let (value, app) = server.ask::<App>(&Action::App { name })?;
            output.answer(&value, |style| one(&app, style))
        }
        None => {
            let (value, catalogue) = server.ask::<Catalogue>(&Action::Apps)?;
            output.answer(&value, |style| all(&catalogue, style))
        }
    }
}

pub(super) fn activate(session: &Session, options: ActivateOptions) -> Result<(), RemoteError> {
    let action = Action::Activate { name: options.name, version: options.version };
    let (value, done) = session.server.ask::<Activated>(&action)?;
    session.output.answer(&value, |_| format!("{}@{} is active", escape(&done.name), escape(&done.active)))?;
    match done.failing {
        Some(message) => Err(RemoteError::Failing { app: done.name, version: done.active, message }),
        None => Ok(()),
    }
}

pub(super) fn roll_back(session: &Session, name: String) -> Result<(), RemoteError> {
    let (value, done) = session.server.ask::<Activated>(&Action::Rollback { name })?;
    let revision = done.revision.map_or(String::new(), |revision| format!(" (revision {revision})"));
    session
        .output
        .answer(&value, |_| format!("{}@{}{revision} is active again", escape(&done.name), escape(&done.active)))
}

pub(super) fn delete(session: &Session, options: DeleteOptions) -> Result<(), RemoteError> {
    let DeleteOptions { name, version, yes } = options;
    if !yes {
        let what = match &version {
            Some(version) => format!("{name}@{version}"),
            None => format!("all uploaded versions of {name}"),
        };
        match confirm(&format!("Delete {}?", escape(&what)))? {
            Some(true) => {}
            Some(false) => return Err(RemoteError::Declined),
            None => return Err(RemoteError::Unasked),
        }
    }
    let (value, done) = session.server.ask::<Deleted>(&Action::Delete { name, version })?;
    session.output.answer(&value, |_| {
        let versions = done.deleted.iter().map(|version| escape(version)).collect::<Vec<_>>().join(", ");
        let keys = match (done.secrets, done.tokens) {
            (0, 0) => String::new(),
            (secrets, tokens) => {
                format!("; nothing of it is left, so its secrets ({secrets}) and tokens ({tokens}) went too")
            }
        };
        format!("deleted {}: {versions}{keys}", escape(&done.name))
    })
}

fn all(catalogue: &Catalogue, style: Style) -> String {
    let columns = ["NAME", "ACTIVE", "VERSIONS", "STATE", "SOURCE", "OWNER"].map(|name| (name, Align::Left));
    let mut table = Table::new(&columns);
    for app in &catalogue.apps {
        let versions = app.versions.iter().map(|version| version.version.as_str()).collect::<Vec<_>>().join(", ");
        // The worst state of all versions is shown.
        let state = app.versions.iter().map(|version| version.state).max().unwrap_or(State::Failed);
        let mut sources: Vec<&str> = app.versions.iter().map(|version| version.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        table.row([
            (app.name.clone(), Some(Tint::Bold)),
            (app.active.clone().unwrap_or_default(), None),
            (versions, None),
            painted(state),
            (sources.join(", "), None),
            (app.owner.clone(), None),
        ]);
    }
    let mut out = if table.is_empty() { "no apps\n".to_owned() } else { table.write(style) };
    findings(&mut out, &catalogue.apps, &catalogue.problems, style);
    out
}

/// Errors and warnings, below the table.
fn findings(out: &mut String, apps: &[App], problems: &[Problem], style: Style) {
    let mut print = |tint: Tint, word: &str, subject: &str, message: &str| {
        let word = style.paint(tint, word);
        let subject = if subject.is_empty() { String::new() } else { format!("{}: ", escape(subject)) };
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{word}: {subject}{}\n", escape_lines(message));
    };
    for app in apps {
        for version in &app.versions {
            let subject = format!("{}@{}", app.name, version.version);
            if let Some(error) = &version.error {
                print(Tint::Red, "error", &subject, error);
            }
            for warning in &version.warnings {
                print(Tint::Yellow, "warning", &subject, warning);
            }
        }
    }
    for problem in problems {
        let subject = match (&problem.app, &problem.version) {
            (Some(app), Some(version)) => format!("{app}@{version}"),
            (Some(app), None) => app.clone(),
            (None, _) => String::new(),
        };
        print(Tint::Red, "error", &subject, &problem.message);
    }
}

fn one(app: &App, style: Style) -> String {
    let active = app.active.as_deref().unwrap_or("none");
    let name = style.paint(Tint::Bold, &escape(&app.name));
    let mut out = format!("{name}, active: {}, owner: {}\n\n", escape(active), escape(&app.owner));
    let columns =
        ["VERSION", "ACTIVE", "KIND", "STATE", "SOURCE", "REVISION", "FOLDER"].map(|name| (name, Align::Left));
    let mut table = Table::new(&columns);
    for version in &app.versions {
        table.row([
            (version.version.clone(), Some(Tint::Bold)),
            (if version.active { "yes".into() } else { String::new() }, Some(Tint::Green)),
            (version.kind.clone(), None),
            painted(version.state),
            (version.source.clone(), None),
            (revision(version), None),
            (version.folder.clone(), None),
        ]);
    }
    out.push_str(&table.write(style));
    for version in &app.versions {
        for (what, list) in [("hosts", &version.hosts), ("crons", &version.crons)] {
            if !list.is_empty() {
                let list = list.iter().map(|item| escape(item)).collect::<Vec<_>>().join(", ");
                let _ = write!(out, "\n{what} of {}: {list}\n", escape(&version.version));
            }
        }
    }
    findings(&mut out, std::slice::from_ref(app), &[], style);
    out
}

fn revision(version: &Version) -> String {
    match (version.revision, version.revisions) {
        (Some(revision), Some(all)) => format!("{revision} of {all}"),
        (Some(revision), None) => revision.to_string(),
        (None, _) => String::new(),
    }
}

fn painted(state: State) -> (String, Option<Tint>) {
    let (word, tint) = match state {
        State::Served => ("served", Tint::Green),
        State::Installing => ("installing", Tint::Yellow),
        State::Failed => ("failed", Tint::Red),
    };
    (word.to_owned(), Some(tint))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalogue() -> Catalogue {
        serde_json::from_value(json!({
            "apps": [
                { "name": "hello", "owner": "me", "active": "1.2.0", "versions": [
                    { "version": "1.0.0", "active": false, "kind": "worker", "state": "served", "folder": "/a", "source": "folder" },
                    { "version": "1.2.0", "active": true, "kind": "worker", "state": "served", "folder": "/b", "source": "upload",
                      "revision": 3, "revisions": 4, "hosts": ["a.example"], "warnings": ["beware"] },
                ] },
                { "name": "broken", "owner": "broken", "active": null, "versions": [
                    { "version": "latest", "active": false, "kind": "site", "state": "failed", "error": "no\n\u{1b}[2J", "folder": "/c",
                      "source": "folder" },
                ] },
            ],
            "problems": [{ "message": "/d: holds no app" }, { "app": "x", "version": "1.0.0", "message": "bad" }],
        }))
        .unwrap()
    }

    #[test]
    fn apps_are_listed_with_what_is_wrong_below() {
        let expected = "\
NAME    ACTIVE  VERSIONS      STATE   SOURCE          OWNER
hello   1.2.0   1.0.0, 1.2.0  served  folder, upload  me
broken  -       latest        failed  folder          broken

warning: hello@1.2.0: beware

error: broken@latest: no
\\u{1b}[2J

error: /d: holds no app

error: x@1.0.0: bad
";
        assert_eq!(all(&catalogue(), Style::Plain), expected);
        assert_eq!(all(&Catalogue { apps: Vec::new(), problems: Vec::new() }, Style::Plain), "no apps\n");
    }

    #[test]
    fn one_app_is_shown_with_its_versions() {
        let expected = "\
hello, active: 1.2.0, owner: me

VERSION  ACTIVE  KIND    STATE   SOURCE  REVISION  FOLDER
1.0.0    -       worker  served  folder  -         /a
1.2.0    yes     worker  served  upload  3 of 4    /b

hosts of 1.2.0: a.example

warning: hello@1.2.0: beware
";
        assert_eq!(one(&catalogue().apps[0], Style::Plain), expected);
    }
}
