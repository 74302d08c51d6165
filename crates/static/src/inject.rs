//! Injection of `<base href>` and `window.__env__` at the very beginning of a page's head, so that
//! both apply to everything that follows.
//! Invariant: no base and no value can end the attribute or the script that contains it.

use hearth_core::escape::push_html;
use std::fmt::Write as _;

use bytes::Bytes;

use crate::html::{OwnBase, outline};
use crate::rules::{BaseTag, Inject};

/// Larger pages are sent unchanged.
pub const MAX_INJECTED_PAGE: u64 = 4 << 20;

#[derive(Debug)]
pub struct Injection {
    base: BaseTag,
    /// Empty if there are no variables.
    script: String,
}

impl Injection {
    /// `None` if nothing is to be injected.
    pub fn new(inject: &Inject) -> Option<Self> {
        if inject.base == BaseTag::Leave && inject.env.is_empty() {
            return None;
        }
        let script = if inject.env.is_empty() { String::new() } else { script(&inject.env) };
        Some(Self { base: inject.base, script })
    }

    /// `href` is the base as a path that ends with a slash.
    pub fn apply(&self, page: Vec<u8>, href: &str) -> Bytes {
        // In UTF-16 an inserted byte would be half a character.
        if page.starts_with(b"\xFF\xFE") || page.starts_with(b"\xFE\xFF") {
            return page.into();
        }
        let outline = outline(&page);
        let mut insertion = String::new();
        if self.base == BaseTag::Insert && outline.base == OwnBase::Unset {
            insertion.push_str("<base href=\"");
            push_html(&mut insertion, href);
            insertion.push_str("\">");
        }
        insertion.push_str(&self.script);
        let (before, after) = page.split_at(outline.head);
        [before, insertion.as_bytes(), after].concat().into()
    }
}

fn script(env: &[(String, String)]) -> String {
    let mut out = String::from("<script>window.__env__={");
    for (at, (name, value)) in env.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(&mut out, name);
        out.push(':');
        push_string(&mut out, value);
    }
    out.push_str("}</script>");
    out
}

/// Appends a string literal that is valid in JSON and JavaScript and contains nothing that HTML
/// interprets.
fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..' ' | '\u{7f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn injection(base: BaseTag, env: &[(&str, &str)]) -> Option<Injection> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Injection::new(&Inject { base, env })
    }

    fn apply(injection: &Injection, page: &str, href: &str) -> String {
        String::from_utf8(injection.apply(page.into(), href).to_vec()).unwrap()
    }

    #[test]
    fn base_and_env_come_first() {
        let both = injection(BaseTag::Insert, &[("PUBLIC_A", "1"), ("VITE_B", "zwei")]).unwrap();
        assert_eq!(
            apply(&both, "<!doctype html><html><head lang=\"en\"><title>x</title>", "/app/"),
            "<!doctype html><html><head lang=\"en\"><base href=\"/app/\">\
             <script>window.__env__={\"PUBLIC_A\":\"1\",\"VITE_B\":\"zwei\"}</script><title>x</title>"
        );
        let own = apply(&both, "<head><base href=/mine/>", "/app/");
        assert!(own.starts_with("<head><script>window.__env__=") && own.ends_with("</script><base href=/mine/>"));
        let base = injection(BaseTag::Insert, &[]).unwrap();
        assert_eq!(apply(&base, "<head>", "/"), "<head><base href=\"/\">");
        let env = injection(BaseTag::Leave, &[("A", "")]).unwrap();
        assert_eq!(apply(&env, "<head>", "/"), "<head><script>window.__env__={\"A\":\"\"}</script>");
        assert!(injection(BaseTag::Leave, &[]).is_none());
    }

    #[test]
    fn values_cannot_end_their_element() {
        let env = injection(
            BaseTag::Insert,
            &[
                ("PUBLIC_A", "</script ><script>alert(1)</script>"),
                ("PUBLIC_<B>", "<!--<script>&\u{2028}\u{2029}\"\\\n\r\0'`${x}é"),
            ],
        )
        .unwrap();
        let page = apply(&env, "<head>", "/\"><script>x</script>'&/");
        assert_eq!(
            page,
            "<head><base href=\"/&quot;&gt;&lt;script&gt;x&lt;/script&gt;&#39;&amp;/\"><script>window.__env__={\
             \"PUBLIC_A\":\"\\u003c/script \\u003e\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\",\
             \"PUBLIC_\\u003cB\\u003e\":\"\\u003c!--\\u003cscript\\u003e\\u0026\\u2028\\u2029\\\"\\\\\\u000a\\u000d\\u0000'`${x}é\"\
             }</script>"
        );
    }

    #[test]
    fn the_rest_of_the_page_is_unchanged() {
        let both = injection(BaseTag::Insert, &[("A", "b")]).unwrap();
        let insertion = "<base href=\"/\"><script>window.__env__={\"A\":\"b\"}</script>";
        for page in [&b"<head>"[..], b"", b"\xff\xff<head>\xc3", b"<!--", b"\xEF\xBB\xBF<p>\x80"] {
            let out = both.apply(page.to_vec(), "/");
            let at = out.windows(insertion.len()).position(|part| part == insertion.as_bytes()).unwrap();
            assert_eq!([&out[..at], &out[at + insertion.len()..]].concat(), page);
        }
        let wide = b"\xFF\xFE<\0h\0e\0a\0d\0>\0";
        assert_eq!(both.apply(wide.to_vec(), "/"), &wide[..]);
    }
}
