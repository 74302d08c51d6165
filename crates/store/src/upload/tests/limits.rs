//! Limits count extracted bytes, not sizes in headers.

use hearth_core::ByteSize;

use super::*;

fn limits() -> UploadLimits {
    UploadLimits { archive: ByteSize::mb(1), size: ByteSize(1000), file: ByteSize(600), files: 3 }
}

fn in_all_kinds(files: &[(&str, &str)]) -> [Vec<u8>; 4] {
    let plain = tar(&files.iter().map(|(name, body)| tar_file(name, body)).collect::<Vec<_>>());
    let deflated: Vec<_> = files.iter().map(|(name, body)| Zipped::deflated(name, body.as_bytes())).collect();
    let streamed: Vec<_> = files.iter().map(|(name, body)| Zipped::streamed(name, body.as_bytes())).collect();
    [gzip(&plain), plain, zip(&deflated), zip(&streamed)]
}

#[test]
fn sizes_and_numbers() {
    let fixture = Fixture::new();
    let body = "x".repeat(600);
    for archive in in_all_kinds(&[("a/1", &body), ("a/2", &body[..400])]) {
        assert!(fixture.unpack_within(&archive, &limits()).is_ok());
    }
    for archive in in_all_kinds(&[("a/1", &body), ("a/2", &body[..401])]) {
        let error = fixture.refused_within(&archive, &limits());
        assert!(matches!(error, UploadError::TooLarge { limit: ByteSize(1000) }), "{error}");
    }
    let long = "x".repeat(601);
    for archive in in_all_kinds(&[("a/1", &long)]) {
        let error = fixture.refused_within(&archive, &limits());
        assert!(matches!(&error, UploadError::FileTooLarge { entry, .. } if entry == "a/1"), "{error}");
    }
    let many = [("1", ""), ("2", ""), ("3", ""), ("4", "")];
    for archive in in_all_kinds(&many) {
        let error = fixture.refused_within(&archive, &limits());
        assert!(matches!(error, UploadError::TooManyFiles { limit: 3 }), "{error}");
    }
    for archive in in_all_kinds(&[("a/b/c/d/e", "")]) {
        let error = fixture.refused_within(&archive, &limits());
        assert!(matches!(error, UploadError::TooManyFiles { limit: 3 }), "{error}");
    }
}

#[test]
fn the_archive_itself() {
    let fixture = Fixture::new();
    let small = UploadLimits { archive: ByteSize(100), ..UploadLimits::default() };
    let archive = tar(&[tar_file("a", "")]);
    assert!(matches!(fixture.refused_within(&archive, &small), UploadError::ArchiveTooLarge { .. }));
    let mut spool = fixture.uploads.spool(&small).unwrap();
    spool.write(&archive[..100]).unwrap();
    let error = spool.write(&archive[100..]).unwrap_err();
    assert_eq!(error.to_string(), "the archive is larger than 100b: leave out what the app does not need");
    drop(spool);
    fixture.assert_clean();
}

#[test]
fn bombs_of_zeros() {
    let fixture = Fixture::new();
    let zeros = "\0".repeat(20 << 20);
    let tight = UploadLimits { size: ByteSize::mb(2), file: ByteSize::mb(1), ..UploadLimits::default() };
    for archive in in_all_kinds(&[("bomb", &zeros)]) {
        let error = fixture.refused_within(&archive, &UploadLimits { archive: ByteSize::mb(64), ..tight.clone() });
        assert!(matches!(error, UploadError::FileTooLarge { .. }), "{error}");
    }
    // Bombs in skipped data: desktop files, and data after the end.
    let litter = tar_file(".DS_Store", &zeros);
    let error = fixture.refused_within(&gzip(&tar(&[litter])), &tight);
    assert!(matches!(error, UploadError::FileTooLarge { .. }), "{error}");
    let mut tail = tar(&[tar_file("a", "")]);
    tail.extend_from_slice(zeros.as_bytes());
    let few = UploadLimits { files: 10, ..tight };
    let error = fixture.refused_within(&gzip(&tail), &few);
    assert!(matches!(error, UploadError::TooLarge { .. }), "{error}");
    // Endless headers, each of them harmless.
    let endless = tar_entry(b"p", b'x', b"").repeat(10_000);
    let error = fixture.refused_within(&gzip(&endless), &few);
    assert!(matches!(error, UploadError::TooLarge { .. }), "{error}");
    let endless = zip(&vec![Zipped::stored("a/", b""); 50]);
    assert!(matches!(fixture.refused_within(&endless, &few), UploadError::TooManyFiles { .. }));
}

#[test]
fn header_sizes_are_not_trusted() {
    let fixture = Fixture::new();
    // A header of petabytes with a few bytes of content.
    for kind in [b'0', b'L', b'x', b'g'] {
        let mut header = tar_header(b"a", kind, 0, 0o644);
        header[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        tar_sum(&mut header);
        let archive = tar(&[header.to_vec()]);
        assert!(matches!(fixture.refused(&archive), UploadError::FileTooLarge { .. } | UploadError::Damaged { .. }));
    }
    let liar = Zipped { size: u32::MAX - 1, local_size: u32::MAX - 1, ..Zipped::deflated("a", b"few") };
    assert!(matches!(fixture.refused(&zip(&[liar])), UploadError::Damaged { .. }));
    // A header of a few bytes with much content.
    let zeros = vec![0; 1 << 20];
    let liar = Zipped { size: 3, local_size: 3, ..Zipped::deflated("a", &zeros) };
    assert!(matches!(fixture.refused(&zip(&[liar])), UploadError::Damaged { .. }));
}
