//! Folders with one change each.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn app() -> tempfile::TempDir {
    let app = tempfile::tempdir().unwrap();
    write(app.path(), "index.ts", "export default 1");
    write(app.path(), "src/a.ts", "a");
    write(app.path(), ".env", "A=1");
    write(app.path(), "node_modules/.package-lock.json", "{}");
    write(app.path(), "node_modules/hono/index.js", "hono");
    app
}

fn both(root: &Path) -> (Stamp, AppHash) {
    (Stamp::from_folder(root).unwrap(), AppHash::from_folder(root).unwrap())
}

#[test]
fn the_same_app_has_the_same_hash_and_each_copy_its_own_stamp() {
    let (a, b) = (app(), app());
    assert_eq!(both(a.path()), both(a.path()));
    assert_eq!(AppHash::from_folder(a.path()).unwrap(), AppHash::from_folder(b.path()).unwrap());
    assert_ne!(Stamp::from_folder(a.path()).unwrap(), Stamp::from_folder(b.path()).unwrap());
    let text = AppHash::from_folder(a.path()).unwrap().to_string();
    assert!(text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()), "{text}");
}

#[test]
fn each_change_of_content_is_detected() {
    let app = app();
    let root = app.path();
    let mut before = both(root);
    let mut changed = |what: &str| {
        let after = both(root);
        assert_ne!(before.0, after.0, "stamp: {what}");
        assert_ne!(before.1, after.1, "content: {what}");
        before = after;
    };
    write(root, "index.ts", "export default 2!");
    changed("a file");
    write(root, "src/deep/b.ts", "b");
    changed("a new file");
    fs::rename(root.join("src/deep/b.ts"), root.join("src/deep/c.ts")).unwrap();
    changed("a new name");
    fs::remove_file(root.join("src/deep/c.ts")).unwrap();
    changed("a file removed");
    write(root, ".env", "A=2 and more");
    changed(".env");
    write(root, "public/.well-known/security.txt", "x");
    changed(".well-known");
    write(root, "node_modules/.package-lock.json", "{\"changed\":1}");
    changed("the list of packages");
    fs::create_dir(root.join("node_modules/zod")).unwrap();
    changed("a package");
    symlink("index.ts", root.join("main.ts")).unwrap();
    changed("a link");
    fs::remove_file(root.join("main.ts")).unwrap();
    symlink("src/a.ts", root.join("main.ts")).unwrap();
    changed("where a link leads");
    fs::remove_dir_all(root.join("node_modules")).unwrap();
    changed("no packages");
}

#[test]
fn excluded_files_do_not_count() {
    let app = app();
    let root = app.path();
    write(root, ".git/HEAD", "1");
    let before = both(root);
    write(root, ".git/HEAD", "2 and more");
    write(root, "src/.cache/x", "x");
    write(root, ".index.ts.swp", "x");
    write(root, "index.ts~", "x");
    write(root, "node_modules/hono/index.js", "changed by hand");
    assert_eq!(both(root), before);
}

#[test]
fn a_touched_file_has_another_stamp_and_the_same_hash() {
    let app = app();
    let before = both(app.path());
    let file = fs::File::options().write(true).open(app.path().join("src/a.ts")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let after = both(app.path());
    assert_ne!(before.0, after.0);
    assert_eq!(before.1, after.1);
}

#[test]
fn names_and_contents_are_separated() {
    let hash = |files: &[(&str, &str)]| {
        let root = tempfile::tempdir().unwrap();
        files.iter().for_each(|(file, text)| write(root.path(), file, text));
        AppHash::from_folder(root.path()).unwrap()
    };
    let all = [
        hash(&[]),
        hash(&[("a", "")]),
        hash(&[("a", "b")]),
        hash(&[("ab", "")]),
        hash(&[("a", ""), ("b", "")]),
        hash(&[("a/b", "")]),
        hash(&[("a", "b"), ("c", "d")]),
        hash(&[("a", "bc"), ("c", "d")]),
    ];
    let different: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
}

#[test]
fn links_are_not_followed_and_special_files_are_not_opened() {
    let app = app();
    symlink("/", app.path().join("everything")).unwrap();
    symlink("loop", app.path().join("loop")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(app.path().join("socket")).unwrap();
    let before = both(app.path());
    assert_eq!(both(app.path()), before);
    drop(socket);
}

#[test]
fn a_missing_folder_is_named() {
    let root = tempfile::tempdir().unwrap();
    let none = root.path().join("none");
    let error = Stamp::from_folder(&none).expect_err("nothing is there").to_string();
    assert!(error.starts_with(&format!("{}: cannot be read", none.display())), "{error}");
    fs::write(&none, "").unwrap();
    assert!(AppHash::from_folder(&none).is_err());
}
