//! An uploaded archive (`.tgz`, `.tar`, `.zip`).
//!
//! - Files are created below the upload's folder only; an error leaves nothing behind, a dropped upload neither.
//! - What is extracted are files and folders, no links, and as many and as large as reported and as the limits allow.
//! - The same archive gives the same hash.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use hearth_core::ByteSize;
use hearth_store::{UploadLimits, Uploads};

const LIMITS: UploadLimits =
    UploadLimits { archive: ByteSize::kb(64), size: ByteSize::kb(128), file: ByteSize::kb(64), files: 64 };

pub fn check(data: &[u8]) {
    let temp = tempfile::tempdir().expect("a temporary folder can be made");
    let (folder, beside) = (temp.path().join("uploads"), temp.path().join("beside"));
    fs::write(&beside, "unchanged").expect("a file can be written");
    let uploads = Uploads::aside(&folder).expect("the folder can be made");
    if let Ok(unpacked) = uploads.unpack(Cursor::new(data), &LIMITS) {
        assert!(unpacked.folder().starts_with(&folder), "{:?}", unpacked.folder());
        let (mut files, mut size) = (0, 0);
        measure(unpacked.folder(), &mut files, &mut size);
        assert_eq!((files, size), (unpacked.files(), unpacked.size().bytes()));
        assert!((1..=LIMITS.files).contains(&files) && size <= LIMITS.size.bytes(), "{files} files, {size} bytes");
        let again = uploads.unpack(Cursor::new(data), &LIMITS).expect("it was good before");
        assert_eq!(again.hash(), unpacked.hash());
    }
    let left = fs::read_dir(&folder).expect("the folder is there").count();
    assert_eq!(left, 0, "nothing is left of an upload");
    assert_eq!(fs::read_to_string(&beside).expect("the file is there"), "unchanged");
    assert_eq!(fs::read_dir(temp.path()).expect("the folder is there").count(), 2);
}

fn measure(folder: &Path, files: &mut u64, size: &mut u64) {
    for entry in fs::read_dir(folder).expect("an extracted folder can be read").flatten() {
        let facts = entry.metadata().expect("an extracted file is there");
        if facts.is_dir() {
            measure(&entry.path(), files, size);
        } else {
            assert!(facts.is_file(), "{:?} is neither a file nor a folder", entry.path());
            *files += 1;
            *size += facts.len();
        }
    }
}
