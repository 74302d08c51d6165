//! Valid archives of all formats.

use std::os::unix::fs::PermissionsExt;

use super::*;

const FILES: [(&str, &str); 3] = [("index.js", "export default 1"), ("public/a.css", "a{}"), ("public/deep/b.txt", "")];

fn as_tar(prefix: &str) -> Vec<u8> {
    tar(&FILES.map(|(name, body)| tar_file(&format!("{prefix}{name}"), body)))
}

fn as_zip(prefix: &str) -> Vec<u8> {
    zip(&FILES.map(|(name, body)| Zipped::deflated(&format!("{prefix}{name}"), body.as_bytes())))
}

#[test]
fn all_formats_become_the_same_folder() {
    let fixture = Fixture::new();
    let mut hashes = Vec::new();
    for prefix in ["", "./", "package/", "my-app/"] {
        for archive in [as_tar(prefix), gzip(&as_tar(prefix)), as_zip(prefix)] {
            let unpacked = fixture.unpack(&archive).unwrap();
            let expected =
                ["index.js=export default 1", "public/", "public/a.css=a{}", "public/deep/", "public/deep/b.txt="];
            assert_eq!(tree(unpacked.folder()), expected, "{prefix}");
            assert_eq!((unpacked.files(), unpacked.size().bytes()), (3, 19));
            hashes.push(unpacked.hash());
        }
    }
    assert!(hashes.windows(2).all(|two| two[0] == two[1]), "{hashes:?}");
    fixture.assert_clean();
}

#[test]
fn the_hash_depends_on_names_contents_and_modes() {
    let fixture = Fixture::new();
    let mut hashes: Vec<_> = [
        tar(&[tar_file("a", "1")]),
        tar(&[tar_file("a", "2")]),
        tar(&[tar_file("b", "1")]),
        tar(&[[tar_header(b"a", b'0', 0, 0o755).to_vec()].concat()]),
        tar(&[tar_file("a", "")]),
        tar(&[tar_file("a", "1"), tar_file("b", "")]),
    ]
    .iter()
    .map(|archive| fixture.unpack(archive).unwrap().hash().to_string())
    .collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
}

#[test]
fn one_folder_is_stripped_only_when_it_is_alone() {
    let fixture = Fixture::new();
    let cases: [(&[&str], &[&str]); 6] = [
        (&["app/index.js", "app/lib/a.js"], &["index.js=", "lib/", "lib/a.js="]),
        (&["app/index.js", "manifest.yaml"], &["app/", "app/index.js=", "manifest.yaml="]),
        (&["app/index.js", "other/index.js"], &["app/", "app/index.js=", "other/", "other/index.js="]),
        (&["a/b/index.js"], &["b/", "b/index.js="]),
        (&["index.js"], &["index.js="]),
        (&["app/index.js", "__MACOSX/app/._index.js", ".DS_Store", "._app"], &["index.js="]),
    ];
    for (names, expected) in cases {
        let files: Vec<_> = names.iter().map(|name| tar_file(name, "")).collect();
        assert_eq!(tree(fixture.unpack(&tar(&files)).unwrap().folder()), expected, "{names:?}");
    }
}

#[test]
fn folders_may_be_named_empty_or_twice() {
    let fixture = Fixture::new();
    let folder = |name: &str| tar_entry(name.as_bytes(), b'5', b"");
    let archive = tar(&[folder("./"), folder("a/"), folder("a"), tar_entry(b"old/", b'0', b""), tar_file("x", "")]);
    assert_eq!(tree(fixture.unpack(&archive).unwrap().folder()), ["a/", "old/", "x="]);
    let by_mode = Zipped { attributes: 0o040_755 << 16, ..Zipped::stored("b", b"") };
    let entries = [Zipped::stored("a/", b""), Zipped::stored("a/", b""), by_mode, Zipped::stored("x", b"")];
    assert_eq!(tree(fixture.unpack(&zip(&entries)).unwrap().folder()), ["a/", "b/", "x="]);
}

#[test]
fn only_the_executable_bit_of_a_mode_is_kept() {
    let fixture = Fixture::new();
    let modes = [("plain", 0o666, 0o644), ("root", 0o6777, 0o755), ("closed", 0o000, 0o644), ("own", 0o1700, 0o755)];
    let in_tar = tar(&modes.map(|(name, mode, _)| tar_header(name.as_bytes(), b'0', 0, mode).to_vec()));
    let in_zip =
        zip(&modes.map(|(name, mode, _)| Zipped { attributes: (0o100_000 | mode) << 16, ..Zipped::stored(name, b"") }));
    for archive in [in_tar, in_zip] {
        let unpacked = fixture.unpack(&archive).unwrap();
        for (name, _, expected) in modes {
            let mode = fs::metadata(unpacked.folder().join(name)).unwrap().permissions().mode() & 0o7777;
            // A strict umask may have removed more bits.
            assert_eq!(mode & !expected, 0, "{name} is {mode:o}");
            assert_eq!(mode & 0o100, expected & 0o100, "{name} is {mode:o}");
        }
    }
}

#[test]
fn an_archive_can_come_in_pieces() {
    let fixture = Fixture::new();
    let archive = gzip(&as_tar(""));
    let mut spool = fixture.uploads.spool(&UploadLimits::default()).unwrap();
    for piece in archive.chunks(7) {
        spool.write(piece).unwrap();
    }
    let unpacked = spool.unpack().unwrap();
    assert_eq!(unpacked.files(), 3);
    assert_eq!(fs::read_dir(fixture.temp.path().join("uploads")).unwrap().count(), 1, "the archive is gone");
    drop(unpacked);
    fixture.assert_clean();
    let mut spool = fixture.uploads.spool(&UploadLimits::default()).unwrap();
    spool.write(&archive[..10]).unwrap();
    drop(spool);
    fixture.assert_clean();
}

#[test]
fn other_data_is_reported_as_no_archive() {
    let fixture = Fixture::new();
    for garbage in [&b""[..], b"hello", &[b'x'; 5000], b"PK\x01\x02", b"\x1f", &[0; 100]] {
        assert!(matches!(fixture.refused(garbage), UploadError::UnknownKind), "{garbage:?}");
    }
    let error = fixture.refused(&gzip(&[b'x'; 5000]));
    assert!(matches!(error, UploadError::NotATar), "{error}");
}

#[test]
fn archives_without_files_are_refused() {
    let fixture = Fixture::new();
    let folders = tar(&[tar_entry(b"a/", b'5', b"")]);
    let litter = zip(&[Zipped::stored("__MACOSX/x", b"x")]);
    for empty in [tar(&[]), gzip(&tar(&[])), zip(&[]), folders, litter] {
        assert!(matches!(fixture.refused(&empty), UploadError::Empty));
    }
}
