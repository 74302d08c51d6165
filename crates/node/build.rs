//! Makes the table of the modules' texts: the files of `js/`, and those of packages from npm, which `tools/setup` installs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Folders of installed packages, and the names below which their files stand in the table. A file of `js/` takes the place of
/// a package's file of the same name.
const PACKAGES: &[(&str, &str)] = &[("node_modules/readable-stream/lib", "internal/readable-stream/lib")];

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=js");
    let mut files = Vec::new();
    collect(&root.join("js"), Path::new(""), &mut files);
    for (folder, prefix) in PACKAGES {
        let folder = root.join(folder);
        assert!(folder.is_dir(), "{} is missing: run tools/setup (or `npm ci` in crates/node)", folder.display());
        println!("cargo:rerun-if-changed={}", folder.display());
        collect(&folder, Path::new(prefix), &mut files);
    }
    // Stable: of two files with one name that of `js/` is the first.
    files.sort_by(|(left, _), (right, _)| left.cmp(right));
    files.dedup_by(|(right, _), (left, _)| left == right);
    let mut table = String::from("[\n");
    for (index, (name, path)) in files.iter().enumerate() {
        println!("cargo:rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let copy = out.join(format!("{index}.js"));
        std::fs::write(&copy, ascii(&text)).unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
        writeln!(table, "    ({name:?}, include_str!({copy:?})),").expect("a String takes any text");
    }
    table.push(']');
    let path = out.join("table.rs");
    std::fs::write(&path, table).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The JavaScript files below a folder: names without the extension, and paths.
fn collect(folder: &Path, prefix: &Path, files: &mut Vec<(String, PathBuf)>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
        let name = prefix.join(path.file_name().expect("an entry of a folder has a name"));
        if path.is_dir() {
            println!("cargo:rerun-if-changed={}", path.display());
            collect(&path, &name, files);
        } else if path.extension().is_some_and(|extension| extension == "js") {
            files.push((name.with_extension("").to_string_lossy().into_owned(), path));
        }
    }
}

/// V8 takes the texts as they lie in the program if they are ASCII: other characters become escapes.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a String takes any text");
            }
        }
    }
    out
}
