//! Makes the snapshot: runs the built-in JavaScript in the V8 that the program will have, and keeps the heap.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let platform = hearth_runtime::Platform::init().unwrap_or_else(|error| panic!("V8 did not start: {error}"));
    let snapshot = hearth_runtime::Snapshot::make(platform)
        .unwrap_or_else(|error| panic!("the built-in JavaScript failed: {error}"));
    let path = Path::new(&out).join("hearth.snapshot");
    std::fs::write(&path, snapshot.bytes()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
