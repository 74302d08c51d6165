//! Names of environment variables that often hold secrets. They are removed from apps'
//! environments: secrets belong to the store, which encrypts them. Names are compared without
//! regard to case.

use crate::settings::Env;

/// `^(DATABASE|DB)_`, and so on.
const STARTS: [&str; 7] = ["DATABASE_", "DB_", "AWS_", "GITHUB_", "OPENAI_", "ANTHROPIC_", "STRIPE_"];
/// `_TOKEN$`, and so on.
const ENDS: [&str; 3] = ["_TOKEN", "_SECRET", "_PASSWORD"];
/// `^(API|AUTH|SECRET|PRIVATE)_?KEY`.
const KEYS: [&str; 4] = ["API", "AUTH", "SECRET", "PRIVATE"];

pub fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let key = |kind: &str| {
        name.strip_prefix(kind).is_some_and(|rest| rest.strip_prefix('_').unwrap_or(rest).starts_with("KEY"))
    };
    STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
        || KEYS.iter().any(|kind| key(kind))
}

/// Removes them and returns their names.
pub fn remove_sensitive(env: &mut Env) -> Vec<String> {
    let names: Vec<String> = env.keys().filter(|name| is_sensitive(name)).cloned().collect();
    env.retain(|name, _| !is_sensitive(name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_their_names() {
        for name in [
            "DATABASE_URL",
            "DB_HOST",
            "API_KEY",
            "APIKEY",
            "AUTH_KEY",
            "SECRETKEY_BASE",
            "PRIVATE_KEY",
            "MY_TOKEN",
            "X_SECRET",
            "ROOT_PASSWORD",
            "AWS_REGION",
            "GITHUB_SHA",
            "OPENAI_ORG",
            "ANTHROPIC_MODEL",
            "STRIPE_ID",
            "db_host",
            "Api_Key",
            "_TOKEN",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in [
            "",
            "PORT",
            "DB",
            "DATABASE",
            "MY_API_KEY",
            "API",
            "API__KEY",
            "TOKEN",
            "TOKENS",
            "MY_TOKENS",
            "PASSWORD",
            "AWS",
            "MYAWS_X",
            "KEY",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn removed_names_are_returned() {
        let mut env = Env::from(["PORT", "DB_URL", "A_TOKEN"].map(|name| (name.to_owned(), String::new())));
        assert_eq!(remove_sensitive(&mut env), ["A_TOKEN", "DB_URL"]);
        assert_eq!(env.into_keys().collect::<Vec<_>>(), ["PORT"]);
    }
}
