//! Globals whose files have not run: apps cannot notice, and changes by an app before a file runs
//! do not affect it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::Bench;
use crate::one_module::{request, text};

pub fn lazy_globals_look_like_any_other(bench: &Bench) {
    assert_eq!(answer(bench, include_str!("shape.js")), "");
}

pub fn lazy_files_call_nothing_that_an_app_has_changed(bench: &Bench) {
    let mut words = BTreeSet::new();
    collect_words(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/js")), &mut words);
    assert!(words.len() > 1000, "the built-in files are in js/");
    let (tamper, hostile) = (include_str!("tamper.js"), include_str!("hostile.js"));
    for order in ["forward", "reverse"] {
        let code = format!(
            "const WORDS = {words:?}.split(' '), ORDER = {order:?};\n{tamper}{hostile}",
            words = joined(&words)
        );
        assert_eq!(answer(bench, &code), "", "{order}");
    }
}

fn answer(bench: &Bench, code: &str) -> String {
    let worker = bench.start(code).unwrap();
    bench.run(async move { text(worker.fetch(request(b"body")).await.unwrap()).await })
}

fn joined(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// All words of the built-in files that could be names.
fn collect_words(folder: &Path, words: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_words(&path, words);
        } else if path.extension().is_some_and(|extension| extension == "js") {
            let code = std::fs::read_to_string(&path).unwrap();
            let found = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
            words.extend(found.filter(|word| !word.is_empty() && *word != "__proto__").map(str::to_owned));
        }
    }
}
