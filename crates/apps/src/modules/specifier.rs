//! Classifies specifiers by their text, without access to the disk.
//!
//! The app's root enforces the border anyway; this module gives refusals helpful reasons and
//! refuses text that no file can have as its name (NUL, URLs, encoded separators).

use std::path::Path;

use super::app_root::normal;

/// Longer names are invalid in file systems.
const MAX_LENGTH: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Specifier {
    /// `./x`, `../x`, `/x`: the normalised inner path, with a final slash if it must be a folder.
    Path(String),
    /// `pkg`, `@scope/pkg/sub`, and `#internal`.
    Bare,
    BuiltIn(&'static str),
    /// `npm:` and `jsr:`, as the package that they are installed as.
    Foreign {
        scheme: &'static str,
        name: String,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Outside(&'static str),
    NotFound(String),
}

// === impl Specifier ===

impl Specifier {
    /// `folder` is the inner path of the importing module's folder.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Refused> {
        if text.is_empty() {
            return Err(Refused::NotFound("the specifier is empty".into()));
        }
        if text.len() > MAX_LENGTH {
            return Err(Refused::NotFound(format!("the specifier has more than {MAX_LENGTH} bytes")));
        }
        if text.contains('\0') {
            return Err(Refused::Outside("no path has a NUL in it"));
        }
        if hides_separators(text) {
            return Err(Refused::Outside("dots and separators may not be percent-encoded"));
        }
        if text.starts_with('/') {
            return Self::path(text, Path::new("/"));
        }
        if text == "." || text == ".." || text.starts_with("./") || text.starts_with("../") {
            return Self::path(text, folder);
        }
        if let Some(id) = hearth_node::resolve(text) {
            return Ok(Self::BuiltIn(id));
        }
        if let Some(scheme) = scheme(text) {
            return foreign(scheme, &text[scheme.len() + 1..]);
        }
        if normal(Path::new(text)).is_none() || package(text).is_some_and(|name| climbs(&text[name.len()..])) {
            return Err(Refused::Outside("the path climbs out of its package"));
        }
        Ok(Self::Bare)
    }

    fn path(text: &str, folder: &Path) -> Result<Self, Refused> {
        let inner = normal(&folder.join(text)).ok_or(Refused::Outside("the path climbs above it"))?;
        let inner = inner.to_str().unwrap_or_default();
        let tail = if text.ends_with('/') && !inner.is_empty() { "/" } else { "" };
        Ok(Self::Path(format!("/{inner}{tail}")))
    }
}

/// The package's name in a bare specifier: `a` of `a/b`, `@a/b` of `@a/b/c`.
pub(super) fn package(text: &str) -> Option<&str> {
    if text.starts_with('#') {
        return None;
    }
    let slashes = if text.starts_with('@') { 2 } else { 1 };
    let end: usize = text.split_inclusive('/').take(slashes).map(str::len).sum();
    let name = &text[..end];
    Some(name.strip_suffix('/').unwrap_or(name))
}

fn climbs(rest: &str) -> bool {
    normal(Path::new(rest)).is_none()
}

/// `http` of `http://x`. A single letter is a drive, not a scheme.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    fits.then_some(scheme)
}

fn foreign(scheme: &str, rest: &str) -> Result<Specifier, Refused> {
    let scheme = scheme.to_ascii_lowercase();
    let reason = match scheme.as_str() {
        "file" => return Err(Refused::Outside("modules are named by paths in the app's folder, not by file: URLs")),
        "npm" => return installed("npm", unversioned(rest)),
        // As npm has the packages of JSR: https://jsr.io/docs/npm-compatibility
        "jsr" => {
            let name = unversioned(rest);
            return installed(
                "jsr",
                name.strip_prefix('@').map_or_else(String::new, |it| format!("@jsr/{}", it.replacen('/', "__", 1))),
            );
        }
        "node" => {
            "Node has no such module, or Hearth does not have it; packages of this name are imported without node:"
                .into()
        }
        "bun" => "modules of Bun exist in Bun alone; use a web standard, a module of Node or a package instead".into(),
        "deno" | "ext" => {
            "modules of Deno exist in Deno alone; use a web standard, a module of Node or a package instead".into()
        }
        "cloudflare" => {
            "Hearth has no such module of Cloudflare's; use a web standard, a module of Node or a package instead"
                .into()
        }
        "http" | "https" => format!(
            "modules are not loaded from {scheme}: URLs; install the package into the app's node_modules and import it by \
             name, bundle the app, or keep a copy in its folder"
        ),
        "data" | "blob" => {
            format!("modules are not loaded from {scheme}: URLs; put the code into a file of the app's folder")
        }
        _ => format!("modules are not loaded from {scheme}: URLs, only from the app's folder"),
    };
    Err(Refused::NotFound(reason))
}

fn installed(scheme: &'static str, name: String) -> Result<Specifier, Refused> {
    if package(&name).is_none_or(str::is_empty) || climbs(&name) || name.starts_with('.') || name.contains(':') {
        return Err(Refused::NotFound(format!("it names no package: write {scheme}:NAME or {scheme}:NAME/FILE")));
    }
    Ok(Specifier::Foreign { scheme, name })
}

/// `@a/b/c` of `/@a/b@^1.2/c`: what is installed is the version.
fn unversioned(text: &str) -> String {
    let text = text.strip_prefix('/').unwrap_or(text);
    let Some(package) = package(text) else { return text.to_owned() };
    let rest = &text[package.len()..];
    let scope = usize::from(package.starts_with('@'));
    let name = package[scope..].find('@').map_or(package, |at| &package[..scope + at]);
    format!("{name}{rest}")
}

/// Why an `npm:` or `jsr:` package was not found, and what to do.
pub(super) fn not_installed(scheme: &str, name: &str) -> String {
    let package = package(name).unwrap_or(name);
    match (scheme, package.strip_prefix("@jsr/").and_then(|rest| rest.split_once("__"))) {
        ("jsr", Some((scope, name))) => format!(
            "{package} is not in node_modules, where packages of JSR are looked for; run `npx jsr add @{scope}/{name}` in the app's folder"
        ),
        _ => format!("{package} is not in node_modules; run `npm install {package}` in the app's folder"),
    }
}

/// `%2e`, `%2f` and `%5c`: they have no meaning here and indicate an attack.
fn hides_separators(text: &str) -> bool {
    text.as_bytes().windows(3).any(|w| {
        w[0] == b'%' && matches!((w[1], w[2].to_ascii_lowercase()), (b'2', b'e' | b'f') | (b'5', b'c') | (b'0', b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Specifier, Refused> {
        Specifier::parse(text, Path::new("/src"))
    }

    #[test]
    fn paths() {
        assert_eq!(parse("./a"), Ok(Specifier::Path("/src/a".into())));
        assert_eq!(parse("../a/"), Ok(Specifier::Path("/a/".into())));
        assert_eq!(parse(".."), Ok(Specifier::Path("/".into())));
        assert_eq!(parse("/etc/passwd"), Ok(Specifier::Path("/etc/passwd".into())));
    }

    #[test]
    fn outside() {
        for text in [
            "../../etc/passwd",
            "/../etc/passwd",
            "./../../x",
            "file:///etc/passwd",
            "FILE:/etc/passwd",
            "./a\0b",
            "./%2e%2e/x",
            "%2E%2E%2Fx",
            "a%5c..",
            "pkg/../../x",
            "@a/b/../c",
            "a/b/../../..",
        ] {
            assert!(matches!(parse(text), Err(Refused::Outside(_))), "{text:?}: {:?}", parse(text));
        }
    }

    #[test]
    fn schemes() {
        assert_eq!(parse("node:async_hooks"), Ok(Specifier::BuiltIn("node:async_hooks")));
        assert_eq!(parse("async_hooks"), Ok(Specifier::BuiltIn("node:async_hooks")));
        for text in [
            "node:nothing",
            "https://deno.land/x",
            "npm:",
            "jsr:std",
            "npm:../x",
            "bun:sqlite",
            "data:text/javascript,1",
            "cloudflare:nothing",
            "",
        ] {
            assert!(matches!(parse(text), Err(Refused::NotFound(_))), "{text:?}");
        }
    }

    #[test]
    fn packages_of_registries() {
        let name = |text| match parse(text) {
            Ok(Specifier::Foreign { name, .. }) => name,
            other => format!("{other:?}"),
        };
        assert_eq!(name("npm:hono"), "hono");
        assert_eq!(name("npm:/hono@4.1.0/cors"), "hono/cors");
        assert_eq!(name("npm:@a/b@^1"), "@a/b");
        assert_eq!(name("jsr:@std/path@1/posix"), "@jsr/std__path/posix");
    }

    #[test]
    fn packages() {
        assert_eq!(parse("a/b/../c"), Ok(Specifier::Bare));
        assert_eq!(package("a/b"), Some("a"));
        assert_eq!(package("@a/b/c"), Some("@a/b"));
        assert_eq!(package("@a"), Some("@a"));
        assert_eq!(package("#x"), None);
    }
}
