//! The registries of packages that the proxy stands in for, by names that exist inside of sandboxes only: what a path there
//! means at the real registry. Nothing of a request but its path, cleaned, and which of two forms is wanted reaches a
//! registry or the store, so that no sandbox can leave something there for others.

use std::collections::BTreeMap;

use hearth_egress::EgressPolicy;

/// The longest path that is looked at.
const LONGEST: usize = 500;

/// Where packages really come from: the beginnings of URLs, without a slash at their ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registries {
    /// Python's index, and its files.
    pub pypi: String,
    pub pypi_files: String,
    pub npm: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registry {
    Pypi,
    Npm,
}

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// What there is; changes from time to time.
    Page { url: String, accept: &'static str },
    /// Never changes: a hash of it is on its page, and is looked at by who asked for it.
    File { url: String, place: String },
}

// === impl Registry ===

impl Registry {
    const ALL: [Self; 2] = [Self::Pypi, Self::Npm];

    /// Its name inside.
    pub(super) fn host(self) -> &'static str {
        match self {
            Self::Pypi => "pypi.hearth.internal",
            Self::Npm => "npm.hearth.internal",
        }
    }

    pub(super) fn named(authority: &str) -> Option<Self> {
        let host = authority.strip_suffix(":80").unwrap_or(authority);
        Self::ALL.into_iter().find(|registry| registry.host().eq_ignore_ascii_case(host))
    }

    /// The variables by which its programs find it.
    fn env(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Pypi => vec![
                ("PIP_INDEX_URL", format!("http://{}/simple", self.host())),
                // It is as near as the proxy, which is what speaks TLS to the registry.
                ("PIP_TRUSTED_HOST", self.host().to_owned()),
            ],
            Self::Npm => vec![
                ("npm_config_registry", format!("http://{}/", self.host())),
                // A name that exists here only is of no use in a file that people take with them.
                ("npm_config_omit_lockfile_registry_resolved", "true".to_owned()),
                ("npm_config_audit", "false".to_owned()),
            ],
        }
    }
}

// === impl Registries ===

impl Default for Registries {
    fn default() -> Self {
        Self {
            pypi: "https://pypi.org".to_owned(),
            pypi_files: "https://files.pythonhosted.org".to_owned(),
            npm: "https://registry.npmjs.org".to_owned(),
        }
    }
}

impl Registries {
    /// Whether a sandbox may reach all of a registry by itself: only then is it stood in for.
    pub(super) fn allowed(&self, registry: Registry, policy: &EgressPolicy) -> bool {
        let all = match registry {
            Registry::Pypi => vec![&self.pypi, &self.pypi_files],
            Registry::Npm => vec![&self.npm],
        };
        all.into_iter().all(|url| origin(url).is_some_and(|(host, port)| policy.before_lookup(host, port).is_ok()))
    }

    /// What must be on a list for the registry, for people.
    pub(super) fn hosts(&self, registry: Registry) -> String {
        let all = match registry {
            Registry::Pypi => vec![&self.pypi, &self.pypi_files],
            Registry::Npm => vec![&self.npm],
        };
        let names: Vec<_> = all.into_iter().filter_map(|url| origin(url)).map(|(host, _)| host).collect();
        names.join(" or ")
    }

    pub(super) fn env(&self, policy: &EgressPolicy) -> BTreeMap<String, String> {
        let allowed = Registry::ALL.into_iter().filter(|registry| self.allowed(*registry, policy));
        allowed.flat_map(Registry::env).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// `None`: there is no such thing, or it is none of a mirror's.
    pub(super) fn item(&self, registry: Registry, path: &str, accept: &str) -> Option<Item> {
        let path = path.replace("%2f", "/").replace("%2F", "/");
        let is_page = path.ends_with('/');
        let inner = path.strip_prefix('/')?.trim_end_matches('/');
        let parts: Vec<&str> = inner.split('/').collect();
        if path.len() > LONGEST || !parts.iter().all(|part| is_plain(part)) {
            return None;
        }
        match (registry, parts.as_slice()) {
            (Registry::Pypi, ["simple", name]) => {
                let json = "application/vnd.pypi.simple.v1+json";
                let accept = if accept.contains(json) { json } else { "text/html" };
                Some(Item::Page { url: format!("{}/simple/{name}/", self.pypi), accept })
            }
            (Registry::Pypi, ["files", _, ..]) if !is_page => {
                let place = inner.trim_start_matches("files/");
                Some(Item::File { url: format!("{}/{place}", self.pypi_files), place: format!("pypi/{place}") })
            }
            (Registry::Npm, [.., "-", file]) if !is_page && file.ends_with(".tgz") && parts.len() <= 4 => {
                Some(Item::File { url: format!("{}/{inner}", self.npm), place: format!("npm/{inner}") })
            }
            (Registry::Npm, [name] | [_, name]) if parts.len() == 1 || inner.starts_with('@') => {
                let short = "application/vnd.npm.install-v1+json";
                let accept = if accept.contains(short) { short } else { "application/json" };
                let scope =
                    parts.first().filter(|_| parts.len() == 2).map_or(String::new(), |scope| format!("{scope}%2f"));
                Some(Item::Page { url: format!("{}/{scope}{name}", self.npm), accept })
            }
            _ => None,
        }
    }

    /// A page as it is given to a sandbox: what it names is here, too.
    pub(super) fn localised(&self, registry: Registry, page: &str) -> String {
        match registry {
            Registry::Pypi => {
                let here = format!("http://{}/files/", registry.host());
                page.replace(&format!("{}/", self.pypi_files), &here)
            }
            // npm looks for the files of the usual registry at the one that it was told of.
            Registry::Npm => page.replace(&format!("{}/", self.npm), &format!("http://{}/", registry.host())),
        }
    }
}

/// A part of a path that is a name and nothing else.
fn is_plain(part: &str) -> bool {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._-@+~!".contains(&b);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_name)
}

/// Without a network installers are to fail at once: they ask the stand-ins, if there are such, which refuse, and do not try
/// again.
pub(super) fn without_network(has_stand_ins: bool) -> BTreeMap<String, String> {
    let once = [("PIP_RETRIES", "0"), ("npm_config_fetch_retries", "0")].map(|(name, value)| (name, value.to_owned()));
    let stand_ins = Registry::ALL.into_iter().filter(|_| has_stand_ins).flat_map(Registry::env);
    stand_ins.chain(once).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn origin(url: &str) -> Option<(&str, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let default = if scheme == "https" { 443 } else { 80 };
    match authority.rsplit_once(':') {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((authority, default)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const JSON: &str = "application/vnd.pypi.simple.v1+json, text/html; q=0.01";

    fn url(registry: Registry, path: &str) -> Option<String> {
        Registries::default().item(registry, path, "").map(|item| match item {
            Item::Page { url, .. } | Item::File { url, .. } => url,
        })
    }

    #[test]
    fn paths_are_those_of_the_registries() {
        let all = Registries::default();
        let (page, accept) = ("https://pypi.org/simple/six/".to_owned(), "application/vnd.pypi.simple.v1+json");
        assert_eq!(all.item(Registry::Pypi, "/simple/six/", JSON), Some(Item::Page { url: page, accept }));
        let file = Item::File {
            url: "https://files.pythonhosted.org/packages/a/b/six-1.whl.metadata".to_owned(),
            place: "pypi/packages/a/b/six-1.whl.metadata".to_owned(),
        };
        assert_eq!(all.item(Registry::Pypi, "/files/packages/a/b/six-1.whl.metadata", ""), Some(file));
        for (path, real) in [
            ("/ms", "https://registry.npmjs.org/ms"),
            ("/@types%2fnode", "https://registry.npmjs.org/@types%2fnode"),
            ("/@types/node", "https://registry.npmjs.org/@types%2fnode"),
            ("/ms/-/ms-2.1.3.tgz", "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz"),
            ("/@types/node/-/node-1.tgz", "https://registry.npmjs.org/@types/node/-/node-1.tgz"),
        ] {
            assert_eq!(url(Registry::Npm, path).as_deref(), Some(real), "{path}");
        }
    }

    #[test]
    fn nothing_else_is_asked_for() {
        for path in [
            "",
            "/",
            "/simple/",
            "/simple/a?b",
            "/simple/../x",
            "/files/../x",
            "/files/",
            "/files/a//b",
            "/x",
            "/simple/a%00",
            "/files/a%2e%2e",
        ] {
            assert_eq!(url(Registry::Pypi, path), None, "{path}");
        }
        for path in [
            "/",
            "/-/npm/v1/security/audits/quick",
            "/a/b",
            "/a?write=true",
            "/..%2fa",
            "/a/-/b.zip",
            "/a/b/c/-/d.tgz",
            "/.a",
        ] {
            assert_eq!(url(Registry::Npm, path), None, "{path}");
        }
        assert_eq!(url(Registry::Pypi, &format!("/simple/{}/", "a".repeat(LONGEST))), None);
    }

    #[test]
    fn a_registry_is_there_for_who_may_reach_all_of_it() {
        let all = Registries::default();
        let names = |list: &str| -> Vec<String> {
            let env = all.env(&EgressPolicy::parse(list).unwrap());
            env.into_keys().filter(|name| ["PIP_INDEX_URL", "npm_config_registry"].contains(&name.as_str())).collect()
        };
        assert_eq!(names("pypi.org"), [""; 0]);
        assert_eq!(names("pypi.org,files.pythonhosted.org"), ["PIP_INDEX_URL"]);
        assert_eq!(names("*.npmjs.org:443"), ["npm_config_registry"]);
        assert_eq!(names("*.npmjs.org:80,example.com"), [""; 0]);
    }
}
