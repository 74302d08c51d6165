//! Cases of zip.

use super::*;

#[test]
fn stored_deflated_and_streamed() {
    let fixture = Fixture::new();
    let entries = [Zipped::stored("a", b"one"), Zipped::deflated("b", b"two"), Zipped::streamed("c", b"three")];
    assert_eq!(tree(fixture.unpack(&zip(&entries)).unwrap().folder()), ["a=one", "b=two", "c=three"]);
    let mut commented = zip(&entries);
    let end = commented.len() - 2;
    commented[end] = 5;
    commented.extend_from_slice(b"hello");
    assert!(fixture.unpack(&commented).is_ok());
}

#[test]
fn an_archive_of_another_program() {
    let fixture = Fixture::new();
    let mut writer = rawzip::ZipArchiveWriter::new(Vec::new());
    let (mut entry, config) =
        writer.new_file("dir/a.txt").compression_method(rawzip::CompressionMethod::DEFLATE).start().unwrap();
    let mut data = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
    data.write_all(b"hello").unwrap();
    let (encoder, descriptor) = data.finish().unwrap();
    encoder.finish().unwrap();
    entry.finish(descriptor).unwrap();
    let archive = writer.finish().unwrap();
    assert_eq!(tree(fixture.unpack(&archive).unwrap().folder()), ["a.txt=hello"]);
}

#[test]
fn encrypted_entries() {
    let fixture = Fixture::new();
    let locked = Zipped { flags: 0x801, ..Zipped::stored("a", b"x") };
    let error = fixture.refused(&zip(&[locked]));
    assert_eq!(error.to_string(), r#"the entry "a" is encrypted: make the archive without a password"#);
}

#[test]
fn other_compressions() {
    let fixture = Fixture::new();
    for method in [1, 9, 12, 14, 93, 99, 65535] {
        let other = Zipped { method, local_method: method, ..Zipped::stored("a", b"x") };
        let error = fixture.refused(&zip(&[other]));
        assert!(matches!(&error, UploadError::Method { entry, .. } if entry == "a"), "{error}");
    }
}

#[test]
fn headers_that_disagree() {
    let fixture = Fixture::new();
    let good = Zipped::deflated("a.js", b"hello");
    let cases = [
        ("name", Zipped { local_name: b"../b".to_vec(), ..good.clone() }),
        ("name", Zipped { local_name: b"b.js".to_vec(), ..good.clone() }),
        ("compression", Zipped { local_method: 0, ..good.clone() }),
        ("size", Zipped { local_size: 4, ..good.clone() }),
        ("checksum", Zipped { local_crc: 1, ..good.clone() }),
        ("size", Zipped { local_size: 9, ..Zipped::streamed("a.js", b"hello") }),
    ];
    for (expected, entry) in cases {
        let error = fixture.refused(&zip(&[entry]));
        assert!(matches!(&error, UploadError::Disagreement { field, .. } if *field == expected), "{expected}: {error}");
    }
}

#[test]
fn contents_that_do_not_match_their_checksum() {
    let fixture = Fixture::new();
    let good = Zipped::deflated("a.js", b"hello");
    let crc = good.crc ^ 1;
    let mut garbage = good.clone();
    garbage.data = vec![0xff; 20];
    for entry in [
        Zipped { crc, local_crc: crc, ..good.clone() },
        Zipped { size: 4, local_size: 4, ..good.clone() },
        Zipped { size: 6, local_size: 6, ..good.clone() },
        garbage,
        Zipped { size: 1, local_size: 1, ..Zipped::stored("a/", b"x") },
    ] {
        let error = fixture.refused(&zip(&[entry]));
        assert!(matches!(error, UploadError::Damaged { .. }), "{error}");
    }
}

#[test]
fn a_directory_that_miscounts() {
    let fixture = Fixture::new();
    let good = zip(&[Zipped::stored("a", b"x"), Zipped::stored("b", b"y")]);
    let mut fewer = good.clone();
    let count = good.len() - 22 + 8;
    fewer[count] = 1;
    fewer[count + 2] = 1;
    assert!(matches!(fixture.refused(&fewer), UploadError::Damaged { .. }));
}

#[test]
fn bytes_behind_the_end() {
    let fixture = Fixture::new();
    let good = zip(&[Zipped::stored("a", b"x")]);
    for behind in [&b"x"[..], &[0; 70_000], b"PK\x05\x06", &zip(&[Zipped::stored("b", b"y")])[..40]] {
        let error = fixture.refused(&[&good, behind].concat());
        let is_refused = matches!(error, UploadError::Damaged { .. } | UploadError::Truncated { .. });
        assert!(is_refused, "{} bytes: {error}", behind.len());
    }
    assert!(fixture.unpack(&good).is_ok());
}
