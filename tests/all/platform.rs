//! Web standards and Node's modules: each file of `tests/platform/` is an app that tests itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::serve_file;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/platform");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_test = |path: &PathBuf| path.extension().is_some_and(|it| it == "js") && !path.ends_with("harness.js");
    let mut files: Vec<_> = entries.filter(is_test).collect();
    files.sort();
    files
}

#[test]
fn every_file_passes_its_own_cases() {
    let mut failures = String::new();
    for file in files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let server = serve_file(&file, &["--workers", "1", "--cpu", "60s", "--egress", "all"]);
        // The files make requests to themselves, at the address that they were asked at.
        let mut client = server.connect();
        client.send(format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", server.address()));
        let reply = client.reply();
        if reply.status != 200 {
            writeln!(failures, "{name}: {} {}", reply.status, reply.text()).unwrap();
            continue;
        }
        let result: Value = serde_json::from_str(reply.text()).unwrap();
        assert!(result["cases"].as_u64().unwrap() > 0, "{name} has no cases");
        for failure in result["failures"].as_array().unwrap() {
            writeln!(failures, "{name}: {}: {}", failure["name"], failure["error"].as_str().unwrap()).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
