//! Files that an app may read, and those that it may not.

use std::io::Read;
use std::os::unix::fs::symlink;

use hearth_core::files::{AppFiles, FileRefusal, Links, PathKind};

use super::*;

fn app() -> App {
    let app = App::new(&[
        ("main.js", ""),
        ("public/a.html", "<p>a</p>"),
        (".well-known/x", "dots are fine"),
        (".env", "KEY=1"),
        ("sub/.env.local", "KEY=2"),
        (".environment", "not that"),
    ]);
    write(&app.folder.path().join("outside"), &[("secret", "secret")]);
    app
}

fn files(app: &App) -> Arc<dyn AppFiles> {
    app.modules.files().unwrap()
}

fn read(files: &dyn AppFiles, path: &str) -> Result<String, FileRefusal> {
    let mut opened = files.open(path)?;
    let mut text = String::new();
    opened.file.read_to_string(&mut text).unwrap();
    assert_eq!(opened.len, text.len() as u64);
    assert_eq!(files.metadata(path).map(|facts| facts.len), Ok(opened.len));
    Ok(text)
}

#[test]
fn paths_are_relative_to_the_folder() {
    let app = app();
    let files = files(&app);
    for path in
        ["public/a.html", "./public/a.html", "/public/a.html", "/public/../public/./a.html", "a/../public/a.html"]
    {
        assert_eq!(read(&*files, path).as_deref(), Ok("<p>a</p>"), "{path}");
    }
    assert_eq!(read(&*files, ".well-known/x").as_deref(), Ok("dots are fine"));
    assert_eq!(read(&*files, ".environment").as_deref(), Ok("not that"));
}

#[test]
fn nothing_is_read_outside_of_it() {
    let app = app();
    let files = files(&app);
    symlink(app.folder.path().join("outside"), app.path("link")).unwrap();
    symlink("../../outside/secret", app.path("public/secret")).unwrap();
    for path in
        ["../outside/secret", "/../outside/secret", "public/../../outside/secret", "link/secret", "public/secret"]
    {
        assert_eq!(read(&*files, path), Err(FileRefusal::Outside), "{path}");
        assert_eq!(files.metadata(path), Err(FileRefusal::Outside), "{path}");
    }
    let real = app.folder.path().join("outside/secret");
    for path in [real.to_str().unwrap(), "..%2foutside%2fsecret", "/etc/passwd", "a\0b", "public/a.html/x", ""] {
        let refused = read(&*files, path).unwrap_err();
        assert!(matches!(refused, FileRefusal::Missing | FileRefusal::NotAFile), "{path}: {refused:?}");
    }
}

#[test]
fn the_environment_is_not_read_under_any_name() {
    let app = app();
    let files = files(&app);
    symlink(app.path(".env"), app.path("public/harmless.txt")).unwrap();
    symlink(app.path("public/a.html"), app.path(".env.link")).unwrap();
    for path in [".env", "./sub/../.env", "sub/.env.local", "public/harmless.txt", ".env.link", ".env.missing"] {
        assert_eq!(read(&*files, path), Err(FileRefusal::Hidden), "{path}");
    }
}

#[test]
fn only_regular_files() {
    let app = app();
    assert_eq!(read(&*files(&app), "public"), Err(FileRefusal::NotAFile));
    assert_eq!(read(&*files(&app), "/"), Err(FileRefusal::NotAFile));
}

/// A thread swaps a file and a link that leads out.
#[test]
fn a_link_that_is_swapped_in_has_no_effect() {
    let app = app();
    let (files, folder) = (files(&app), app.path("public"));
    let (name, spare) = (folder.join("swapped"), folder.join("spare"));
    std::fs::write(&name, "mine").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                symlink("../../outside/secret", &spare).unwrap();
                std::fs::rename(&spare, &name).unwrap();
                std::fs::write(&spare, "mine").unwrap();
                std::fs::rename(&spare, &name).unwrap();
            }
        });
        for _ in 0..20_000 {
            match files.open("public/swapped") {
                Ok(mut opened) => {
                    let mut text = String::new();
                    opened.file.read_to_string(&mut text).unwrap();
                    assert_eq!(text, "mine");
                }
                Err(FileRefusal::Outside | FileRefusal::Missing | FileRefusal::Unreadable { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn folders_are_listed_without_what_is_hidden() {
    let app = app();
    let files = files(&app);
    symlink("a.html", app.path("public/link")).unwrap();
    let mut entries = files.list("/public").unwrap();
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(entries, [("a.html".to_owned(), PathKind::File), ("link".to_owned(), PathKind::Link)]);
    assert_eq!(files.list("sub"), Ok(vec![]), "an environment file is not named");
    assert_eq!(files.list("main.js"), Err(FileRefusal::NotAFile));
    assert_eq!(files.list("nothing"), Err(FileRefusal::Missing));
    symlink(app.folder.path().join("outside"), app.path("away")).unwrap();
    assert_eq!(files.list("away"), Err(FileRefusal::Outside));
    assert_eq!(files.list("../outside"), Err(FileRefusal::Outside));
}

#[test]
fn links_are_described_or_followed() {
    let app = app();
    let files = files(&app);
    symlink("public/a.html", app.path("link")).unwrap();
    symlink(app.folder.path().join("outside/secret"), app.path("away")).unwrap();
    symlink(".env", app.path("disguised")).unwrap();
    let kind = |path, links| files.stat(path, links).map(|facts| facts.kind);
    assert_eq!(kind("link", Links::Follow), Ok(PathKind::File));
    assert_eq!(kind("link", Links::Keep), Ok(PathKind::Link));
    assert_eq!(files.real_path("link").as_deref(), Ok("/public/a.html"));
    assert_eq!(kind("/", Links::Keep), Ok(PathKind::Folder));
    assert_eq!(kind("away", Links::Follow), Err(FileRefusal::Outside));
    assert_eq!(kind("away", Links::Keep), Ok(PathKind::Link), "a link itself lies in the folder");
    assert_eq!(files.real_path("away"), Err(FileRefusal::Outside));
    assert_eq!(kind("disguised", Links::Follow), Err(FileRefusal::Hidden));
    assert_eq!(kind(".env", Links::Keep), Err(FileRefusal::Hidden));
    assert_eq!(kind("a\0b", Links::Keep), Err(FileRefusal::Missing));
}
