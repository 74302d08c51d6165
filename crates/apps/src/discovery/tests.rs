//! Discovery and precedence in temporary folders.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::versions::AppVersion;

/// A folder with these files, all empty.
fn root(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    root
}

/// `layout name version folder`, with the folder relative to the root.
fn lines(catalogue: &Catalogue, root: &Path) -> Vec<String> {
    let root = root.canonicalize().unwrap();
    let line = |found: &Found| {
        let version = found.version.as_ref().map_or("-".to_owned(), AppVersion::to_string);
        let folder = found.folder.strip_prefix(&root).unwrap().display();
        format!("{:?} {} {version} {folder}", found.layout, found.name)
    };
    catalogue.found.iter().map(line).collect()
}

/// The apps of a root without problems.
fn found(root: &Path) -> Vec<String> {
    let catalogue = discover(&[root.to_path_buf()]);
    assert_eq!(catalogue.problems, []);
    lines(&catalogue, root)
}

/// The problems, without the path of the root.
fn problems(catalogue: &Catalogue, root: &Path) -> Vec<String> {
    let root = format!("{}/", root.display());
    catalogue.problems.iter().map(|problem| problem.to_string().replace(&root, "")).collect()
}

#[test]
fn all_layouts_are_found() {
    let root = root(&[
        "plain/index.ts",
        "flat@1.2.3/index.js",
        "flat@v2/package.json",
        "flat@latest/index.html",
        "nested/1.0.0/manifest.yaml",
        "nested/v1.2/src/index.tsx",
        "nested/latest/index.mjs",
        "@acme/plain/package.json",
        "@acme/flat@1.0.0-beta.1/index.js",
        "@acme/nested/1/index.js",
    ]);
    assert_eq!(
        found(root.path()),
        [
            "Flat @acme/flat 1.0.0-beta.1 @acme/flat@1.0.0-beta.1",
            "Nested @acme/nested 1.0.0 @acme/nested/1",
            "Plain @acme/plain - @acme/plain",
            "Flat flat 1.2.3 flat@1.2.3",
            "Flat flat latest flat@latest",
            "Flat flat 2.0.0 flat@v2",
            "Nested nested 1.0.0 nested/1.0.0",
            "Nested nested latest nested/latest",
            "Nested nested 1.2.0 nested/v1.2",
            "Plain plain - plain",
        ]
    );
}

#[test]
fn an_app_is_not_searched_for_versions() {
    let root = root(&[
        "a/index.ts",
        "a/v1/index.ts",
        "b/src/index.ts",
        "b/1.0.0/index.ts",
        "c/1/index.js",
        "c/docs/index.html",
    ]);
    assert_eq!(found(root.path()), ["Plain a - a", "Plain b - b", "Nested c 1.0.0 c/1"]);
}

#[test]
fn hidden_folders_and_folders_without_apps_are_ignored() {
    let root = root(&[
        ".git/index.js",
        ".hidden@1.0.0/index.js",
        "node_modules/pkg/package.json",
        "shared/code.ts",
        "index.js",
        "README.md",
        "a/.1.0.0/index.js",
        "a/node_modules/index.js",
        "@acme/.x/index.js",
        "@acme/node_modules/x/index.js",
    ]);
    fs::create_dir(root.path().join("empty")).unwrap();
    fs::create_dir_all(root.path().join("d/index.js")).unwrap();
    assert_eq!(found(root.path()), [""; 0]);
}

#[test]
fn bad_names_are_problems_and_other_apps_are_served() {
    let root = root(&[
        "good/index.js",
        "_bad/index.js",
        "b d/index.js",
        "bad@/index.js",
        "bad@one/index.js",
        "empty@1.0.0/x.js",
        "nested/1.0.0/x.js",
        "@_bad/a/index.js",
        "@acme/@x/index.js",
        "@/a/index.js",
        &format!("@{}/{}/index.js", "a".repeat(60), "b".repeat(60)),
    ]);
    fs::create_dir(root.path().join(std::ffi::OsStr::from_bytes(b"\xff"))).unwrap();
    let catalogue = discover(&[root.path().to_path_buf()]);
    assert_eq!(lines(&catalogue, root.path()), ["Plain good - good"]);
    let problems = problems(&catalogue, root.path());
    let expect = [
        ("@: ", "at least one character"),
        ("@_bad: ", "does not begin with '_'"),
        ("@aaaaaaaa", "at most 100 characters"),
        ("@acme/@x: ", "not a version"),
        ("_bad: ", "does not begin with '_'"),
        ("b d: ", "has no ' '"),
        ("bad@: ", "\"\" is not a version"),
        ("bad@one: ", "\"one\" is not a version"),
        ("empty@1.0.0: ", "holds no app"),
        ("nested/1.0.0: ", "holds no app"),
        ("\u{fffd}: ", "not UTF-8"),
    ];
    assert_eq!(problems.len(), expect.len(), "{problems:#?}");
    for (problem, (path, text)) in problems.iter().zip(expect) {
        assert!(problem.starts_with(path) && problem.contains(text), "{problem}: {path}, {text}");
    }
}

#[test]
fn roots_that_cannot_be_read_are_problems() {
    let root = root(&["file", "good/index.js"]);
    let roots = [root.path().join("none"), root.path().join("file"), root.path().to_path_buf()];
    let catalogue = discover(&roots);
    assert_eq!(lines(&catalogue, root.path()), ["Plain good - good"]);
    assert_eq!(catalogue.found[0].root, 2);
    let problems = problems(&catalogue, root.path());
    assert!(problems[0].starts_with("none: cannot be read: "), "{problems:?}");
    assert!(problems[1].starts_with("file: is not a folder"), "{problems:?}");
    assert_eq!(problems.len(), 2);
}

#[test]
fn links_are_followed_where_the_operator_put_them() {
    let outside = root(&["app/index.js", "versions/2.0.0/index.js"]);
    let root = root(&["real/index.js", "nested/1.0.0/index.js", "@acme/x/index.js", "file"]);
    let (inside, outside) = (root.path(), outside.path());
    symlink(outside.join("app"), inside.join("linked")).unwrap();
    symlink(outside.join("app"), inside.join("@acme/linked@1.0.0")).unwrap();
    symlink("real", inside.join("twin")).unwrap();
    symlink("file", inside.join("no-folder")).unwrap();
    symlink("1.0.0", inside.join("nested/latest")).unwrap();
    symlink(outside.join("app"), inside.join("nested/3.0.0")).unwrap();
    symlink("nowhere", inside.join("broken")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    let catalogue = discover(&[inside.to_path_buf()]);
    let folder = |name: &str| {
        let found = catalogue.found.iter().filter(|found| found.name.as_str() == name);
        found.map(|found| found.folder.clone()).collect::<Vec<_>>()
    };
    let real = |path: PathBuf| path.canonicalize().unwrap();
    assert_eq!(folder("linked"), [real(outside.join("app"))]);
    assert_eq!(folder("@acme/linked"), [real(outside.join("app"))]);
    assert_eq!(folder("twin"), [real(inside.join("real"))]);
    assert_eq!(folder("nested"), [real(inside.join("nested/1.0.0")), real(inside.join("nested/1.0.0"))]);
    let mut problems = problems(&catalogue, inside);
    problems.sort();
    assert!(problems[0].starts_with("broken: cannot be read"), "{problems:#?}");
    assert!(problems[1].starts_with("loop: cannot be read"), "{problems:#?}");
    assert!(problems[2].starts_with("nested/3.0.0: is a link that leads out of"), "{problems:#?}");
    assert_eq!(problems.len(), 3);
}

/// As the caller does, with `latest` for plain folders.
fn settled(roots: &[&Path]) -> (Vec<ServedFolder>, Vec<DiscoveryProblem>) {
    let roots: Vec<PathBuf> = roots.iter().map(|root| root.canonicalize().unwrap()).collect();
    let catalogue = discover(&roots);
    assert_eq!(catalogue.problems, []);
    let named = |found: Found| {
        let version = found.version.clone().unwrap_or(AppVersion::Latest);
        (found, version)
    };
    let mut all: Vec<_> = catalogue.found.into_iter().map(named).collect();
    let forwards = resolve_precedence(all.clone());
    all.reverse();
    assert_eq!(resolve_precedence(all), forwards);
    forwards
}

#[test]
fn the_first_of_two_is_served_and_the_other_reported() {
    let first = root(&["a@1.0.0/index.js", "a/v1/index.js", "a/latest/index.js", "b@latest/index.js", "b/index.js"]);
    let second = root(&["a@1.0.0/index.js", "a@2.0.0/index.js"]);
    let (kept, problems) = settled(&[first.path(), second.path()]);
    let kept: Vec<String> =
        kept.iter().map(|one| format!("{}@{} {} {:?}", one.name, one.version, one.root, one.layout)).collect();
    assert_eq!(kept, ["a@1.0.0 0 Flat", "b@latest 0 Flat", "a@latest 0 Nested", "a@2.0.0 1 Flat"]);
    let messages: Vec<String> = problems.iter().map(DiscoveryProblem::to_string).collect();
    let real = |root: &TempDir, path: &str| root.path().canonicalize().unwrap().join(path).display().to_string();
    let expect = |loser: String, version: &str, winner: String| {
        format!("{loser}: is {version}, as {winner} is, which is served; remove one of them or change its version")
    };
    assert_eq!(
        messages,
        [
            expect(real(&first, "a/v1"), "a@1.0.0", real(&first, "a@1.0.0")),
            expect(real(&first, "b"), "b@latest", real(&first, "b@latest")),
            expect(real(&second, "a@1.0.0"), "a@1.0.0", real(&first, "a@1.0.0")),
        ]
    );
}

#[test]
fn one_folder_found_twice_is_no_collision() {
    let root = root(&["a@1.0.0/index.js", "b/1.0.0/index.js"]);
    symlink("1.0.0", root.path().join("b/v1")).unwrap();
    let (kept, problems) = settled(&[root.path(), root.path()]);
    assert_eq!((kept.len(), problems), (2, vec![]));
}

/// Folders without read permission; root can read them nevertheless.
#[test]
fn folders_that_cannot_be_read_are_problems() {
    let root = root(&["good/index.js", "locked/1.0.0/index.js", "flat@1.0.0/index.js"]);
    let locked = [root.path().join("flat@1.0.0"), root.path().join("locked")];
    let lock =
        |mode| locked.iter().for_each(|path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap());
    lock(0o000);
    let readable = fs::read_dir(&locked[0]).is_ok();
    let catalogue = discover(&[root.path().to_path_buf()]);
    lock(0o755);
    let problems = problems(&catalogue, root.path());
    assert_eq!(problems.len(), if readable { 0 } else { 2 }, "{problems:?}");
    for (problem, name) in problems.iter().zip(["flat@1.0.0", "locked"]) {
        assert!(problem.starts_with(&format!("{name}: cannot be read: ")), "{problem}");
    }
    assert!(lines(&catalogue, root.path()).contains(&"Plain good - good".to_owned()));
}
