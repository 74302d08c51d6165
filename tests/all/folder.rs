//! A folder of apps that a test writes itself, and changes while they are served. Gone with the test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::client::{Client, Reply};
use crate::server::{PATIENCE, Server, scratch, serve_folder};

pub struct Folder {
    path: PathBuf,
    /// Beside the apps, where the watcher does not look: files are made here and moved.
    aside: PathBuf,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let path = scratch(&format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let aside = path.with_extension("aside");
        Self { path, aside }
    }

    /// With all of these files.
    pub fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self::new(name);
        for (file, text) in files {
            folder.write(file, text);
        }
        folder
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn of(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// The file is there whole, or not at all.
    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let to = self.path.join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(&self.aside, text).unwrap();
        std::fs::rename(&self.aside, to).unwrap();
    }

    /// An app that answers with this text.
    pub fn say(&self, app: &str, text: &str) {
        self.write(&format!("{app}/index.js"), says(text));
    }

    pub fn remove(&self, file: &str) {
        let path = self.path.join(file);
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }

    pub fn serve(&self, flags: &[&str]) -> Server {
        serve_folder(&self.path, flags)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        let _ = std::fs::remove_file(&self.aside);
    }
}

/// The code of an app that answers with this text.
pub fn says(text: &str) -> String {
    format!("export default {{ fetch: () => new Response({text:?}) }};")
}

/// Asks again and again, until the answer is as it should be.
#[track_caller]
pub fn until(server: &Server, path: &str, is_so: impl Fn(&Reply) -> bool) -> Reply {
    let deadline = Instant::now() + PATIENCE;
    let mut client = server.connect();
    loop {
        let reply = client.get(path);
        if is_so(&reply) {
            return reply;
        }
        assert!(Instant::now() < deadline, "GET {path} goes on with {reply:?}; the log:\n{}", server.log());
        if reply.header("connection") == Some("close") {
            client = server.connect();
        }
        std::thread::yield_now();
    }
}

#[track_caller]
pub fn until_text(server: &Server, path: &str, text: &str) {
    until(server, path, |reply| (reply.status, reply.body.as_slice()) == (200, text.as_bytes()));
}

/// The same, and until then nothing but the text from before: no error, no gap.
#[track_caller]
pub fn until_changed(server: &Server, path: &str, before: &str, after: &str) {
    let is_so = |reply: &Reply| {
        let text = String::from_utf8_lossy(&reply.body);
        assert!(reply.status == 200 && (text == before || text == after), "GET {path}: {reply:?}");
        text == after
    };
    until(server, path, is_so);
}

#[track_caller]
pub fn until_status(server: &Server, path: &str, status: u16) -> Reply {
    until(server, path, |reply| reply.status == status)
}

/// A request with headers.
pub fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut client = server.connect();
    client.start(method, path, headers);
    client.reply()
}

/// A request to a host.
pub fn at_host(server: &Server, host: &str, path: &str) -> Reply {
    let mut client: Client = server.connect();
    client.send(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    client.reply()
}

/// What `GET /admin/apps` says that cannot be served, a line for each.
pub fn problems(server: &Server) -> String {
    let apps = server.ask_json("GET", "/admin/apps", "");
    let lines = apps["problems"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// The warnings of the active version of an app, a line for each.
pub fn warnings(server: &Server, app: &str) -> String {
    let app = server.ask_json("GET", &format!("/admin/apps/{app}"), "");
    let versions = app["versions"].as_array().unwrap().iter();
    let lines = versions.flat_map(|version| version["warnings"].as_array().cloned().unwrap_or_default());
    lines.map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
}

/// One of the lines has all of these.
#[track_caller]
pub fn has_line(text: &str, parts: &[&str]) {
    let fits = |line: &str| parts.iter().all(|part| line.contains(part));
    assert!(text.lines().any(fits), "no line has {parts:?}:\n{text}");
}

/// Waits for a problem that has all of these in it.
#[track_caller]
pub fn until_problem(server: &Server, parts: &[&str]) {
    let is_there = || problems(server).lines().any(|line| parts.iter().all(|part| line.contains(part)));
    eventually(server, &format!("a problem has {parts:?}"), is_there);
}

#[track_caller]
pub fn eventually(server: &Server, what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to be that {what}; the log:\n{}", server.log());
        std::thread::yield_now();
    }
}
