#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// `apps/one`, `apps/@acme/two`, `apps/three/1.0.0` and a link `apps/four`.
struct Place {
    temp: TempDir,
    store: SqliteStore,
    roots: Vec<PathBuf>,
}

impl Place {
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

    fn look(&self, before: &Catalogue) -> Catalogue {
        let (operator, installer) = (OperatorConfig::default(), Installer::default());
        let sources =
            Sources { store: &self.store, operator: &operator, roots: &self.roots, installer: &installer, before };
        assemble(&sources).unwrap()
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
fn what_cannot_be_read_now_is_served_as_it_was() {
    let look = || {
        // Root may read everything: not so without capabilities. They are this thread's alone.
        hearth_jail::privileges::drop_capabilities().unwrap();
        let place = Place::new();
        let before = place.look(&Catalogue::default());
        assert_eq!(names(&before), ALL);
        for (path, mode) in
            [("apps", 0), ("apps", 0o400), ("apps/@acme", 0), ("apps/three", 0), ("apps/one", 0), ("elsewhere/four", 0)]
        {
            place.allow(path, mode);
            let now = place.look(&before);
            place.allow(path, 0o700);
            assert_eq!(names(&now), ALL, "{path}: {:?}", now.problems);
            assert!(now.is_partial(), "{path}");
            let told = now.problems.iter().find(|problem| problem.message.contains("is served on"));
            assert!(told.is_some_and(|problem| problem.message.contains("cannot be read")), "{:?}", now.problems);
            let specs = |catalogue: &Catalogue| catalogue.versions.iter().map(|one| one.spec.identity.clone()).max();
            assert_eq!(specs(&now), specs(&before), "{path}");
        }
        place.allow("apps/one/index.js", 0);
        assert_eq!(names(&place.look(&before)), ALL);
        let after = place.look(&before);
        assert!(!after.is_partial() && after.problems.is_empty(), "{:?}", after.problems);
        fs::remove_dir_all(place.temp.path().join("apps/one")).unwrap();
        assert_eq!(names(&place.look(&after)), ["@acme/two", "four", "three"], "what is gone is gone");
        fs::remove_dir_all(place.temp.path().join("apps")).unwrap();
        assert_eq!(names(&place.look(&after)), [""; 0]);
    };
    std::thread::spawn(look).join().unwrap();
}
