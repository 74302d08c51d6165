//! The files of the dashboard. They contain no data and need no token; the data comes from the API, which does. The content
//! security policy forbids everything from other hosts.

use bytes::Bytes;
use hearth_core::{Body, Headers, Response};

const POLICY: &[u8] =
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                        form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

struct Page {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

/// A file of the dashboard, served at its path in the folder.
macro_rules! page {
    ($path:literal, $kind:expr) => {
        Page { path: $path, kind: $kind, text: include_str!(concat!("../../dashboard", $path)) }
    };
}

const PAGES: &[Page] = &[
    Page { path: "/", kind: HTML, text: include_str!("../../dashboard/index.html") },
    page!("/dashboard.css", CSS),
    page!("/shell.css", CSS),
    page!("/theme.css", CSS),
    page!("/dashboard.js", SCRIPT),
    page!("/theme.js", SCRIPT),
    page!("/icon.svg", SVG),
    page!("/parts/api.js", SCRIPT),
    page!("/parts/badge.js", SCRIPT),
    page!("/parts/chart.js", SCRIPT),
    page!("/parts/connection.js", SCRIPT),
    page!("/parts/dialog.js", SCRIPT),
    page!("/parts/dom.js", SCRIPT),
    page!("/parts/format.js", SCRIPT),
    page!("/parts/keys.js", SCRIPT),
    page!("/parts/line.js", SCRIPT),
    page!("/parts/live.js", SCRIPT),
    page!("/parts/notices.js", SCRIPT),
    page!("/parts/poll.js", SCRIPT),
    page!("/parts/prometheus.js", SCRIPT),
    page!("/parts/recent.js", SCRIPT),
    page!("/parts/stream.js", SCRIPT),
    page!("/parts/table.js", SCRIPT),
    page!("/parts/visible.js", SCRIPT),
    page!("/views/app.js", SCRIPT),
    page!("/views/apps.js", SCRIPT),
    page!("/views/attention.js", SCRIPT),
    page!("/views/events.js", SCRIPT),
    page!("/views/login.js", SCRIPT),
    page!("/views/logs.js", SCRIPT),
    page!("/views/overview.js", SCRIPT),
    page!("/views/sandboxes.js", SCRIPT),
    page!("/views/secrets.js", SCRIPT),
    page!("/views/task.js", SCRIPT),
    page!("/views/tokens.js", SCRIPT),
    page!("/views/upload.js", SCRIPT),
    page!("/views/workers.js", SCRIPT),
];

pub(super) fn file(path: &str) -> Option<Response> {
    let Page { kind, text, .. } = PAGES.iter().find(|page| page.path == path)?;
    let mut headers = Headers::with_capacity(6, 512);
    headers.push(b"content-type", kind.as_bytes());
    headers.push(b"cache-control", b"no-cache");
    headers.push(b"content-security-policy", POLICY);
    headers.push(b"x-content-type-options", b"nosniff");
    headers.push(b"x-frame-options", b"DENY");
    headers.push(b"referrer-policy", b"no-referrer");
    let body = Body::Full(Bytes::from_static(text.as_bytes()));
    Some(Response { status: 200, reason: None, headers, body, websocket: None })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                files(&entry.path(), found);
            } else {
                found.push(entry.path());
            }
        }
    }

    #[test]
    fn every_file_of_the_dashboard_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboard");
        let mut found = Vec::new();
        files(&folder, &mut found);
        let paths = found.iter().map(|file| format!("/{}", file.strip_prefix(&folder).unwrap().display()));
        let there: BTreeSet<String> = paths.map(|path| path.replace("/index.html", "/")).collect();
        let served: BTreeSet<String> = PAGES.iter().map(|page| page.path.to_owned()).collect();
        assert_eq!(served, there);
    }

    #[test]
    fn files_comply_with_the_policy_and_never_insert_data_as_html() {
        for Page { path, text, .. } in PAGES {
            for word in
                ["style=\"", "onclick=", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!text.contains(word), "{path} has {word}");
            }
            // An XML namespace, and a link in a comment.
            let known = ["www.w3.org/", "prometheus.io/docs/"];
            let mut hosts = text.split("://").skip(1);
            let elsewhere = hosts.find(|rest| !known.iter().any(|host| rest.starts_with(host)));
            assert_eq!(elsewhere, None, "{path} names another host");
        }
    }
}
