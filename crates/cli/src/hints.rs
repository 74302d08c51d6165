//! Hints for commands that other tools have and Hearth does not have, or has under another name.

use clap::error::{ContextKind, ContextValue, ErrorKind};

const HINTS: &[(&str, &str)] = &[
    ("build", "nothing is built: `hearth check` looks at an app, `hearth deploy` uploads it"),
    ("env", "variables stand in manifest.yaml (`env:`) or .env, secrets are set with `hearth secrets set APP KEY`"),
    ("install", "dependencies are installed by themselves with `autoInstall: true` in manifest.yaml"),
    (
        "login",
        "commands read the admin token from the server's data folder: say where that is with --data, or give the token with \
         HEARTH_ADMIN_TOKEN and the server's address with --admin",
    ),
    ("new", "an app is begun with `hearth init NAME`"),
    ("publish", "an app is uploaded with `hearth deploy`"),
    ("restart", "new cells take the place of the old ones with `hearth replace`, a new program with `hearth upgrade`"),
    ("start", "a server is started with `hearth serve DIR`, one app with `hearth run FILE`"),
    ("up", "a server is started with `hearth serve DIR`, one app with `hearth run FILE`"),
];

/// What to use in place of an unknown command.
pub fn hint(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(said)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (name, hint) = HINTS.iter().find(|(name, _)| name == said)?;
    Some(format!("there is no command `{name}`: {hint}"))
}
