//! The package registries that the proxy mirrors, under names that exist only inside sandboxes, and
//! what a path there means at the real registry. Of a request only its cleaned path and the wanted
//! form reach a registry or the cache, so no sandbox can leave anything there for others.

use std::collections::BTreeMap;

use hearth_egress::EgressPolicy;

/// Longer paths are refused.
const MAX_PATH_BYTES: usize = 500;

/// The real registries: URL prefixes without a trailing slash.
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

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// An index page; changes from time to time.
    Page { url: String, accept: &'static str },
    /// A file; never changes. Its page names a hash of it, which the installer checks.
    File { url: String, cache_path: String },
}

// === impl Registry ===

impl Registry {
    const ALL: [Self; 2] = [Self::Pypi, Self::Npm];

    /// Its host name inside sandboxes.
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

    /// The environment variables that make installers use the mirror.
    fn env(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Pypi => vec![
                ("PIP_INDEX_URL", format!("http://{}/simple", self.host())),
                // The mirror is as near as the proxy, and it is the mirror that uses TLS to the
                // registry.
                ("PIP_TRUSTED_HOST", self.host().to_owned()),
            ],
            Self::Npm => vec![
                ("npm_config_registry", format!("http://{}/", self.host())),
                // The mirror's name must not get into lock files, which are used outside of the
                // sandbox, too.
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

    /// `None`: there is no such path, or it is not one that is mirrored.
    pub(super) fn item(&self, registry: Registry, path: &str, accept: &str) -> Option<Item> {
        let path = path.replace("%2f", "/").replace("%2F", "/");
        let is_page = path.ends_with('/');
        let inner = path.strip_prefix('/')?.trim_end_matches('/');
        let parts: Vec<&str> = inner.split('/').collect();
        if path.len() > MAX_PATH_BYTES || !parts.iter().all(|part| is_plain(part)) {
            return None;
        }
        match (registry, parts.as_slice()) {
            (Registry::Pypi, ["simple", name]) => {
                let json = "application/vnd.pypi.simple.v1+json";
                let accept = if accept.contains(json) { json } else { "text/html" };
                Some(Item::Page { url: format!("{}/simple/{name}/", self.pypi), accept })
            }
            (Registry::Pypi, ["files", _, ..]) if !is_page => {
                let cache_path = inner.trim_start_matches("files/");
                Some(Item::File {
                    url: format!("{}/{cache_path}", self.pypi_files),
                    cache_path: format!("pypi/{cache_path}"),
                })
            }
            (Registry::Npm, [.., "-", file]) if !is_page && file.ends_with(".tgz") && parts.len() <= 4 => {
                Some(Item::File { url: format!("{}/{inner}", self.npm), cache_path: format!("npm/{inner}") })
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

    /// A page with the real registry's addresses replaced by the mirror's.
    pub(super) fn with_mirror_urls(&self, registry: Registry, page: &str) -> String {
        match registry {
            Registry::Pypi => {
                let here = format!("http://{}/files/", registry.host());
                page.replace(&format!("{}/", self.pypi_files), &here)
            }
            // npm fetches the files of the usual registry from the one that it was configured with.
            Registry::Npm => page.replace(&format!("{}/", self.npm), &format!("http://{}/", registry.host())),
        }
    }
}

/// Whether a segment of a path is a plain name.
fn is_plain(part: &str) -> bool {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._-@+~!".contains(&b);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_name)
}

/// For sandboxes without a network: installers use the mirrors, if there are any, which refuse at
/// once, and do not retry.
pub(super) fn without_network(has_mirrors: bool) -> BTreeMap<String, String> {
    let once = [("PIP_RETRIES", "0"), ("npm_config_fetch_retries", "0")].map(|(name, value)| (name, value.to_owned()));
    let mirrors = Registry::ALL.into_iter().filter(|_| has_mirrors).flat_map(Registry::env);
    mirrors.chain(once).map(|(name, value)| (name.to_owned(), value)).collect()
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
            cache_path: "pypi/packages/a/b/six-1.whl.metadata".to_owned(),
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
    fn other_paths_are_refused() {
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
        assert_eq!(url(Registry::Pypi, &format!("/simple/{}/", "a".repeat(MAX_PATH_BYTES))), None);
    }

    #[test]
    fn a_mirror_is_offered_where_all_hosts_of_its_registry_are_allowed() {
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
