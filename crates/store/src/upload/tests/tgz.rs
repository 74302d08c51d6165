//! Cases of tar and gzip.

use super::super::{EntryPathError, SpecialFile};
use super::*;

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let length = (1..).find(|length| rest + length.to_string().len() == *length).unwrap();
        body.extend_from_slice(format!("{length} {key}={value}\n").as_bytes());
    }
    body
}

#[test]
fn long_names_of_both_kinds() {
    let fixture = Fixture::new();
    let long = format!("{}/index.js", "deep/".repeat(40));
    let gnu = [tar_entry(b"././@LongLink", b'L', format!("{long}\0").as_bytes()), tar_file("cut", "x")];
    let posix = [tar_entry(b"pax", b'x', &pax(&[("mtime", "1.5"), ("path", &long)])), tar_file("cut", "x")];
    for entries in [gnu, posix] {
        // The outermost folder is stripped.
        let unpacked = fixture.unpack(&tar(&entries)).unwrap();
        assert!(unpacked.folder().join("deep/".repeat(39)).join("index.js").is_file());
    }
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    builder.append_data(&mut header, &long, &b"x"[..]).unwrap();
    builder.append_data(&mut header.clone(), "short", &b"y"[..]).unwrap();
    let unpacked = fixture.unpack(&gzip(&builder.into_inner().unwrap())).unwrap();
    assert!(unpacked.folder().join("short").is_file() && unpacked.folder().join(long).is_file());
    let mut split = tar_header(b"index.js", b'0', 0, 0o644);
    split[345..353].copy_from_slice(b"pre/fix/");
    tar_sum(&mut split);
    let unpacked = fixture.unpack(&tar(&[split.to_vec(), tar_file("x", "")])).unwrap();
    assert!(unpacked.folder().join("pre/fix/index.js").is_file());
}

#[test]
fn long_names_are_checked_like_short_ones() {
    let fixture = Fixture::new();
    let cases: [(Vec<u8>, EntryPathError); 3] = [
        (tar_entry(b"l", b'L', b"../../untouched\0"), EntryPathError::Parent),
        (tar_entry(b"p", b'x', &pax(&[("path", "/etc/x")])), EntryPathError::Absolute),
        (tar_entry(b"l", b'L', &[b'x'; 70_000]), EntryPathError::TooLong),
    ];
    for (extra, expected) in cases {
        let error = fixture.refused(&tar(&[extra, tar_file("good", "")]));
        assert!(matches!(&error, UploadError::Path { fault, .. } if *fault == expected), "{error}");
        assert!(error.to_string().len() < 1000, "what is shown is bounded");
    }
    let error = fixture.refused(&tar(&[tar_entry(b"l", b'L', &vec![b'x'; 2 << 20]), tar_file("good", "")]));
    assert!(matches!(error, UploadError::Damaged { .. }), "{error}");
}

#[test]
fn headers_that_could_be_read_in_two_ways() {
    let fixture = Fixture::new();
    let size = tar_entry(b"p", b'x', &pax(&[("size", "1024")]));
    assert!(matches!(fixture.refused(&tar(&[size, tar_file("a", "x")])), UploadError::Damaged { .. }));
    let same = tar_entry(b"p", b'x', &pax(&[("size", "1")]));
    assert!(fixture.unpack(&tar(&[same, tar_file("a", "x")])).is_ok());
    let sparse = tar_entry(b"p", b'x', &pax(&[("GNU.sparse.major", "1")]));
    let error = fixture.refused(&tar(&[sparse, tar_file("a", "x")]));
    assert!(matches!(error, UploadError::NotAFile { what: SpecialFile::SparseFile, .. }), "{error}");
    let global = tar_entry(b"g", b'g', &pax(&[("path", "b")]));
    assert!(matches!(fixture.refused(&tar(&[global, tar_file("a", "x")])), UploadError::Damaged { .. }));
    let comment = tar_entry(b"g", b'g', &pax(&[("comment", "a commit\nin two lines")]));
    assert!(fixture.unpack(&tar(&[comment, tar_file("a", "x")])).is_ok());
    for malformed in [&b"x"[..], b"5 a=b\n", b"99 path=a\n", b"6 path\n", b"18446744073709551615 a=b\n", b"0 a=b\n"] {
        let error = fixture.refused(&tar(&[tar_entry(b"p", b'x', malformed), tar_file("a", "x")]));
        assert!(matches!(error, UploadError::Damaged { .. }), "{malformed:?}: {error}");
    }
    let full_folder = tar(&[tar_entry(b"a/", b'5', b"contents"), tar_file("b", "")]);
    assert!(matches!(fixture.refused(&full_folder), UploadError::Damaged { .. }));
}

#[test]
fn a_wrong_checksum_is_damage() {
    let fixture = Fixture::new();
    let mut archive = tar(&[tar_file("a", "x"), tar_file("b", "y")]);
    archive[1024] ^= 1;
    let error = fixture.refused(&archive);
    assert_eq!(
        error.to_string(),
        "the .tar archive is damaged (a header's checksum is wrong): make it again and upload it again"
    );
}

#[test]
fn nothing_may_follow_the_end() {
    let fixture = Fixture::new();
    let whole = tar(&[tar_file("a", "x")]);
    let two = [whole.clone(), whole.clone()].concat();
    assert!(matches!(fixture.refused(&two), UploadError::Damaged { .. }));
    let padded = [whole.clone(), vec![0; 10_240]].concat();
    assert!(fixture.unpack(&padded).is_ok());
    assert!(matches!(
        fixture.refused(&[gzip(&whole), b"junk, and longer than a header".to_vec()].concat()),
        UploadError::Damaged { .. }
    ));
}

#[test]
fn gzip_may_have_several_members_and_checksums_must_match() {
    let fixture = Fixture::new();
    let whole = tar(&[tar_file("a", "x")]);
    let parts = [gzip(&whole[..700]), gzip(&whole[700..])].concat();
    assert!(fixture.unpack(&parts).is_ok());
    let mut wrong = gzip(&whole);
    let at = wrong.len() - 5;
    wrong[at] ^= 1;
    let error = fixture.refused(&wrong);
    assert!(matches!(error, UploadError::Damaged { .. }), "{error}");
}
