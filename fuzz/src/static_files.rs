//! The path and query of a request for a static file, in a folder with links that lead out of it.
//!
//! - No byte of a file outside of the folder, of a dot file or of a hidden file is sent.
//! - A redirect stays below the app's base and names a path that is not redirected again.
//! - All three fallbacks find the same files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use hearth_core::{Headers, Method, Response};
use hearth_static::{Fallback, FileRequest, Site, SiteRules};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const SECRET: &[u8] = b"secret";
const BASE: &str = "/app";
const FALLBACKS: [Fallback; 3] = [Fallback::Spa, Fallback::Pages, Fallback::NotFound];

struct World {
    runtime: Runtime,
    sites: Vec<Site>,
    _temp: TempDir,
}

thread_local! {
    static WORLD: World = World::new();
}

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // A target begins with a slash, and the gateway refuses control characters.
    let target = format!("/{}", text.trim_start_matches('/').replace(char::is_control, ""));
    WORLD.with(|world| world.check(&target));
    WORLD.with(|world| world.check(&format!("/{target}")));
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = temp.path().join("site");
        write(&folder, temp.path());
        let site = |fallback| {
            let hidden = vec!["hidden".to_owned()];
            Site::open(SiteRules { fallback, hidden, ..SiteRules::new(&folder) }).expect("the site can be opened")
        };
        let runtime = Builder::new_current_thread().build().expect("a runtime can be made");
        Self { runtime, sites: FALLBACKS.map(site).into(), _temp: temp }
    }

    fn check(&self, target: &str) {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let answers: Vec<_> = self.sites.iter().map(|site| self.get(site, path, query)).collect();
        for (status, location, body) in answers.iter().flatten() {
            assert!(!body.windows(SECRET.len()).any(|part| part == SECRET), "{target} shows a secret");
            assert!(matches!(status, 200 | 308 | 404), "{target}: {status}");
            if let Some(location) = location {
                assert!(location.starts_with("/app/") && !location.contains(['\r', '\n']), "{target}: {location}");
            }
        }
        let plain = &answers[2];
        if let Some((200, _, body)) = plain {
            assert!(
                answers[..2].iter().flatten().all(|(status, _, other)| *status != 200 || other == body),
                "{target}"
            );
        }
        self.follow(path, plain);
    }

    fn follow(&self, path: &str, answer: &Option<(u16, Option<String>, Vec<u8>)>) {
        let Some((308, Some(location), _)) = answer else { return };
        let next = location.strip_prefix(BASE).unwrap_or(location);
        let next = next.split('?').next().unwrap_or(next);
        let again = self.get(&self.sites[2], next, None);
        assert!(again.is_some_and(|(status, ..)| status == 200), "{path} is redirected to {location}");
    }

    fn get(&self, site: &Site, path: &str, query: Option<&str>) -> Option<(u16, Option<String>, Vec<u8>)> {
        let headers = Headers::new();
        let request = FileRequest { method: &Method::Get, headers: &headers, path, query, base: BASE };
        let Response { status, headers, body, .. } = self.runtime.block_on(site.answer(request)).ok()??;
        let location = headers.get("location").map(|text| String::from_utf8_lossy(text).into_owned());
        let body = self.runtime.block_on(body.collect()).expect("a file can be read");
        Some((status, location, body.to_vec()))
    }
}

fn write(folder: &Path, outside: &Path) {
    let files = [
        ("index.html", "index"),
        ("app.js", "app"),
        ("404.html", "missing"),
        ("docs/index.html", "docs"),
        ("docs/page.html", "page"),
        ("a b/é.txt", "text"),
        (".well-known/x", "known"),
        (".env", "secret"),
        ("docs/.git/config", "secret"),
        ("hidden/x", "secret"),
        ("../outside/key", "secret"),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(folder)
            .and_then(|()| fs::create_dir_all(path.parent().unwrap_or(folder)))
            .expect("a folder");
        fs::write(path, content).expect("a file can be written");
    }
    for (link, target) in [("up", "../outside"), ("key", "../outside/key"), ("docs/top", ".."), ("loop", "loop")] {
        symlink(target, folder.join(link)).expect("a link can be made");
    }
    symlink(outside, folder.join("absolute")).expect("a link can be made");
}
