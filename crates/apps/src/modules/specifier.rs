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
            return Err(refused_scheme(scheme));
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

fn refused_scheme(scheme: &str) -> Refused {
    match scheme.to_ascii_lowercase().as_str() {
        "file" => Refused::Outside("modules are named by paths in the app's folder, not by file: URLs"),
        "node" => Refused::NotFound("Node has no such module, or Hearth does not have it".into()),
        "npm" | "jsr" => Refused::NotFound(format!(
            "{scheme}: specifiers are not resolved; install the package into the app's node_modules and import it by name"
        )),
        _ => Refused::NotFound(format!("modules are not loaded from {scheme}: URLs, only from the app's folder")),
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
        for text in
            ["node:nothing", "https://deno.land/x", "npm:hono", "data:text/javascript,1", "cloudflare:nothing", ""]
        {
            assert!(matches!(parse(text), Err(Refused::NotFound(_))), "{text:?}");
        }
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
