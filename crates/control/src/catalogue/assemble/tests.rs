#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// `apps/one`, `apps/@acme/two`, `apps/three/1.0.0` and a link `apps/four`.
struct Fixture {
    temp: TempDir,
    store: SqliteStore,
    roots: Vec<PathBuf>,
}

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for folder in ["apps/one", "apps/@acme/two", "apps/three/1.0.0", "elsewhere/four"] {
            fs::create_dir_all(top.join(folder)).unwrap();
            fs::write(top.join(folder).join("index.js"), "export default {}").unwrap();
        }
        symlink(top.join("elsewhere/four"), top.join("apps/four")).unwrap();
        let store = SqliteStore::open(&top.join("data")).unwrap();
        Self { temp, store, roots: vec![top.join("apps")] }
    }

    fn assemble(&self, before: &Catalogue) -> Catalogue {
        let (operator, installer) = (OperatorConfig::default(), Installer::default());
        let sources =
            Sources { store: &self.store, operator: &operator, roots: &self.roots, installer: &installer, before };
        super::assemble(&sources).unwrap()
    }

    fn allow(&self, path: &str, mode: u32) {
        fs::set_permissions(self.temp.path().join(path), Permissions::from_mode(mode)).unwrap();
    }
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    let mut names: Vec<String> = catalogue.versions.iter().map(|one| one.spec.app.to_string()).collect();
    names.sort();
    names
}

const ALL: [&str; 4] = ["@acme/two", "four", "one", "three"];

#[test]
fn versions_that_cannot_be_read_now_are_served_as_before() {
    let test = || {
        // Root can read everything unless this thread drops its capabilities, which are per thread.
        hearth_jail::privileges::drop_capabilities().unwrap();
        let fixture = Fixture::new();
        let before = fixture.assemble(&Catalogue::default());
        assert_eq!(names(&before), ALL);
        for (path, mode) in
            [("apps", 0), ("apps", 0o400), ("apps/@acme", 0), ("apps/three", 0), ("apps/one", 0), ("elsewhere/four", 0)]
        {
            fixture.allow(path, mode);
            let now = fixture.assemble(&before);
            fixture.allow(path, 0o700);
            assert_eq!(names(&now), ALL, "{path}: {:?}", now.problems);
            assert!(now.is_partial(), "{path}");
            let problem = now.problems.iter().find(|problem| problem.message.contains("is served on"));
            assert!(problem.is_some_and(|problem| problem.message.contains("cannot be read")), "{:?}", now.problems);
            let specs = |catalogue: &Catalogue| catalogue.versions.iter().map(|one| one.spec.identity.clone()).max();
            assert_eq!(specs(&now), specs(&before), "{path}");
        }
        fixture.allow("apps/one/index.js", 0);
        assert_eq!(names(&fixture.assemble(&before)), ALL);
        let after = fixture.assemble(&before);
        assert!(!after.is_partial() && after.problems.is_empty(), "{:?}", after.problems);
        fs::remove_dir_all(fixture.temp.path().join("apps/one")).unwrap();
        assert_eq!(names(&fixture.assemble(&after)), ["@acme/two", "four", "three"], "removed versions are not kept");
        fs::remove_dir_all(fixture.temp.path().join("apps")).unwrap();
        assert_eq!(names(&fixture.assemble(&after)), [""; 0]);
    };
    std::thread::spawn(test).join().unwrap();
}
