use std::io::Cursor;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::upload::{UploadLimits, Uploads};

use super::*;

fn folder(files: &[&str]) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    for name in files {
        let path = temp.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("this is {name}")).unwrap();
    }
    temp
}

fn packed(folder: &Path, dependencies: Dependencies) -> Result<Vec<u8>, PackError> {
    let mut out = Vec::new();
    pack(folder, dependencies, &mut out).map(|_| out)
}

/// The names in an archive.
fn names(archive: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn packed_and_omitted_files() {
    let temp = folder(&[
        "index.ts",
        ".env",
        ".env.local",
        ".npmrc",
        ".git/config",
        ".hearth/hearth.db",
        "src/.cache/x",
        "src/a.ts",
        "node_modules/a/index.js",
        "node_modules/.prisma/client.js",
        "node_modules/.bin/a",
        "node_modules/a/node_modules/b/.hidden/x.js",
    ]);
    let own = [".env", ".npmrc", "index.ts"];
    let modules =
        ["node_modules/.prisma/client.js", "node_modules/a/index.js", "node_modules/a/node_modules/b/.hidden/x.js"];
    let all: Vec<_> = own.iter().chain(&modules).chain(&["src/a.ts"]).copied().collect();
    assert_eq!(names(&packed(temp.path(), Dependencies::Include).unwrap()), all);
    let few: Vec<_> = own.iter().chain(&["src/a.ts"]).copied().collect();
    assert_eq!(names(&packed(temp.path(), Dependencies::LeaveOut).unwrap()), few);
}

#[test]
fn packing_is_reproducible_and_reversible() {
    let long = format!("{}end.js", "a-long-name/".repeat(20));
    let files = ["index.ts", "b/ü.js", long.as_str()];
    let one = folder(&files);
    let two = folder(&files);
    fs::set_permissions(one.path().join("index.ts"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(two.path().join("index.ts"), fs::Permissions::from_mode(0o755)).unwrap();
    let archive = packed(one.path(), Dependencies::Include).unwrap();
    assert_eq!(archive, packed(two.path(), Dependencies::Include).unwrap());
    let temp = tempfile::tempdir().unwrap();
    let uploads = Uploads::open(temp.path().join("uploads")).unwrap();
    let unpacked = uploads.unpack(Cursor::new(archive), &UploadLimits::default()).unwrap();
    for name in files {
        assert_eq!(fs::read_to_string(unpacked.folder().join(name)).unwrap(), format!("this is {name}"));
    }
    assert_eq!(fs::metadata(unpacked.folder().join("index.ts")).unwrap().permissions().mode() & 0o100, 0o100);
}

#[test]
fn the_result_has_counts_and_sizes() {
    let temp = folder(&["a", "bb"]);
    let told = pack(temp.path(), Dependencies::Include, Vec::new()).unwrap();
    assert_eq!(told, Packed { files: 2, size: ByteSize(19) });
}

#[test]
fn folders_that_cannot_be_uploaded() {
    let temp = folder(&["index.ts"]);
    symlink("index.ts", temp.path().join("link.ts")).unwrap();
    let error = packed(temp.path(), Dependencies::Include).unwrap_err();
    assert!(matches!(&error, PackError::Link { path } if path.ends_with("link.ts")), "{error}");
    fs::remove_file(temp.path().join("link.ts")).unwrap();
    fs::write(temp.path().join(std::ffi::OsStr::from_bytes(b"\xff.js")), "").unwrap();
    assert!(matches!(packed(temp.path(), Dependencies::Include), Err(PackError::Name { .. })));
    let empty = folder(&[".git/config"]);
    assert!(matches!(packed(empty.path(), Dependencies::Include), Err(PackError::Empty { .. })));
    let missing = temp.path().join("missing");
    assert!(matches!(packed(&missing, Dependencies::Include), Err(PackError::NotAFolder { .. })));
}

#[test]
fn links_in_omitted_folders_are_ignored() {
    let temp = folder(&["index.ts", "node_modules/.bin/x", "node_modules/a/index.js"]);
    symlink("../a/index.js", temp.path().join("node_modules/.bin/a")).unwrap();
    assert!(packed(temp.path(), Dependencies::Include).is_ok());
    symlink("a", temp.path().join("node_modules/b")).unwrap();
    assert!(packed(temp.path(), Dependencies::LeaveOut).is_ok());
    assert!(matches!(packed(temp.path(), Dependencies::Include), Err(PackError::Link { .. })));
}

#[test]
fn files_that_the_server_refuses_are_refused_before() {
    let temp = tempfile::tempdir().unwrap();
    for (name, size) in [("small.js", 10), ("large.bin", 300)] {
        fs::write(temp.path().join(name), vec![0; size]).unwrap();
    }
    let files = list(temp.path(), Dependencies::Include).unwrap();
    let limits = |size, file, files| UploadLimits {
        size: ByteSize(size),
        file: ByteSize(file),
        files,
        ..UploadLimits::default()
    };
    let told = |limits: UploadLimits| check_limits(temp.path(), &files, &limits).map_err(|error| error.to_string());
    assert_eq!(told(limits(310, 300, 2)), Ok(()));
    let error = told(limits(309, 300, 2)).unwrap_err();
    assert!(error.contains("holds 310b, and an upload may hold 309b") && error.contains("large.bin"), "{error}");
    let error = told(limits(310, 299, 2)).unwrap_err();
    assert!(error.contains("large.bin is 300b, and one file may be 299b"), "{error}");
    let error = told(limits(310, 300, 1)).unwrap_err();
    assert!(error.contains("holds 2 files, and an upload may hold 1"), "{error}");
}
