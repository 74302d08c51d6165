//! Entries that are refused in every format.

use super::super::{EntryPathError, SpecialFile};
use super::*;

#[test]
fn paths_that_leave_the_folder() {
    let fixture = Fixture::new();
    let cases = [
        ("../untouched", EntryPathError::Parent),
        ("a/../../untouched", EntryPathError::Parent),
        ("a/..", EntryPathError::Parent),
        ("/tmp/untouched", EntryPathError::Absolute),
        ("..\\untouched", EntryPathError::Backslash),
        ("C:/untouched", EntryPathError::Drive),
        ("a\nb", EntryPathError::Control),
    ];
    for (name, expected) in cases {
        let good = tar_file("good.js", "x");
        let bad = tar_file(name, "evil");
        for archive in [
            tar(&[good.clone(), bad.clone()]),
            gzip(&tar(&[good.clone(), bad])),
            tar(&[good, tar_entry(name.as_bytes(), b'5', b"")]),
            zip(&[Zipped::stored("good.js", b"x"), Zipped::stored(name, b"evil")]),
        ] {
            let error = fixture.refused(&archive);
            assert!(
                matches!(&error, UploadError::Path { entry, fault } if entry == name && *fault == expected),
                "{error}"
            );
        }
    }
    let error = fixture.refused(&tar(&[tar_file("../x", "")]));
    assert_eq!(
        error.to_string(),
        r#"the path of the entry "../x" has ".." in it: paths must stay inside the app's folder"#
    );
}

#[test]
fn names_with_other_bytes() {
    let fixture = Fixture::new();
    let zipped =
        |name: &[u8]| zip(&[Zipped { name: name.to_vec(), local_name: name.to_vec(), ..Zipped::stored("", b"") }]);
    let cases: [(&[u8], EntryPathError); 3] =
        [(b"a\xffb", EntryPathError::NotUtf8), (b"", EntryPathError::Empty), (b"a\0b", EntryPathError::Control)];
    for (name, expected) in cases {
        assert!(matches!(fixture.refused(&zipped(name)), UploadError::Path { fault, .. } if fault == expected));
    }
    let long = "x/".repeat(1000);
    assert!(matches!(
        fixture.refused(&zipped(long.as_bytes())),
        UploadError::Path { fault: EntryPathError::TooLong, .. }
    ));
    assert!(matches!(
        fixture.refused(&tar(&[tar_entry(b"a\xff", b'0', b"")])),
        UploadError::Path { fault: EntryPathError::NotUtf8, .. }
    ));
    // The folder itself, as a file.
    assert!(matches!(
        fixture.refused(&tar(&[tar_file(".", "x")])),
        UploadError::Path { fault: EntryPathError::Empty, .. }
    ));
}

#[test]
fn links_devices_and_pipes() {
    let fixture = Fixture::new();
    let kinds = [
        (b'1', SpecialFile::HardLink),
        (b'2', SpecialFile::SymbolicLink),
        (b'3', SpecialFile::Device),
        (b'4', SpecialFile::Device),
        (b'6', SpecialFile::Pipe),
        (b'S', SpecialFile::SparseFile),
        (b'V', SpecialFile::Unknown),
        (b'M', SpecialFile::Unknown),
    ];
    for (kind, expected) in kinds {
        let mut header = tar_header(b"a/link", kind, 0, 0o777);
        header[157..168].copy_from_slice(b"../../etc/x");
        tar_sum(&mut header);
        // An entry that would be written through the link.
        let archive = tar(&[header.to_vec(), tar_file("a/link/untouched", "evil")]);
        let error = fixture.refused(&archive);
        assert!(
            matches!(&error, UploadError::NotAFile { entry, what } if entry == "a/link" && *what == expected),
            "{error}"
        );
    }
    let kinds = [
        (0o120_777, SpecialFile::SymbolicLink),
        (0o020_666, SpecialFile::Device),
        (0o060_666, SpecialFile::Device),
        (0o010_666, SpecialFile::Pipe),
    ];
    for (mode, expected) in kinds {
        let link = Zipped { attributes: mode << 16, ..Zipped::stored("link", b"../../etc") };
        let error = fixture.refused(&zip(&[link, Zipped::stored("link/x", b"evil")]));
        assert!(
            matches!(&error, UploadError::NotAFile { entry, what } if entry == "link" && *what == expected),
            "{error}"
        );
    }
    let error = fixture.refused(&tar(&[tar_entry(b"l", b'2', b"")])).to_string();
    assert!(error.starts_with(r#"the entry "l" is a symbolic link: put in its place what it stands for"#), "{error}");
}

#[test]
fn duplicate_names() {
    let fixture = Fixture::new();
    let names = [("a.js", "a.js"), ("a.js", "./a.js"), ("x/a.js", "x//a.js")];
    for (one, two) in names {
        for archive in [
            tar(&[tar_file(one, "1"), tar_file(two, "2")]),
            zip(&[Zipped::stored(one, b"1"), Zipped::stored(two, b"2")]),
        ] {
            assert!(matches!(fixture.refused(&archive), UploadError::Duplicate { .. }), "{one} {two}");
        }
    }
    for names in [["a", "a/b"], ["a/b", "a"], ["a", "a/"], ["a/", "a"]] {
        let entries = names.map(|name| tar_entry(name.as_bytes(), b'0', b""));
        assert!(matches!(fixture.refused(&tar(&entries)), UploadError::Clash { entry } if entry == "a"), "{names:?}");
        let entries = names.map(|name| Zipped::stored(name, b""));
        assert!(matches!(fixture.refused(&zip(&entries)), UploadError::Clash { entry } if entry == "a"), "{names:?}");
    }
    let fine = fixture.unpack(&tar(&[tar_file("A", "1"), tar_file("a", "2")]));
    assert!(fine.is_ok(), "names that differ by case are two names");
}

#[test]
fn truncated_archives() {
    let fixture = Fixture::new();
    let body = "some text that does not compress to nothing: 0123456789".repeat(30);
    let entries = [tar_file("a.js", &body), tar_file("b.js", &body)];
    let plain = tar(&entries);
    // The end of a tar is two empty blocks, of which one is enough.
    for archive in [plain[..plain.len() - 1024].to_vec(), gzip(&plain)] {
        for part in 0..40 {
            let cut = archive.len() * part / 40;
            let error = fixture.refused(&archive[..cut]);
            let early = cut < 512;
            assert!(
                matches!(&error, UploadError::Truncated { .. })
                    || (early && matches!(&error, UploadError::UnknownKind)),
                "{cut}: {error}"
            );
        }
    }
    assert!(matches!(fixture.refused(&plain[..plain.len() - 1024]), UploadError::Truncated { .. }), "at a border");
    let zipped = zip(&[Zipped::deflated("a.js", body.as_bytes()), Zipped::stored("b.js", body.as_bytes())]);
    for part in 0..40 {
        let error = fixture.refused(&zipped[..zipped.len() * part / 40]);
        assert!(matches!(&error, UploadError::Truncated { .. } | UploadError::UnknownKind), "{error}");
    }
}
