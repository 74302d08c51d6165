//! The page of breadcrumbs, as a crashed process may have left it, and as a healthy one writes it.
//!
//! - Any bytes are read without harm: only what begins as a page is one, each record is at most one line of the answer, in
//!   order, and records do not touch each other.
//! - What a thread wrote is what is read, names cut at a character.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use hearth_crash::breadcrumbs::{AppRef, Breadcrumbs, TurnPhase, parse, read};

const RECORD: usize = 512;
const NAME: usize = 160;

thread_local! {
    static FILE: RefCell<tempfile::NamedTempFile> =
        RefCell::new(tempfile::NamedTempFile::new().expect("a temporary file can be made"));
}

pub fn check(data: &[u8]) {
    garbage(data);
    // With the right start, so that most inputs get past it.
    garbage(&[b"HRTHCRM2", data].concat());
    FILE.with_borrow(|file| written(data, file));
}

fn garbage(page: &[u8]) {
    let is_page = page.len() >= RECORD && page.starts_with(b"HRTHCRM2");
    let Ok(trail) = parse(page) else {
        assert!(!is_page, "a page is refused");
        return;
    };
    assert!(is_page, "what is no page is read");
    let running = trail.running;
    let records = page.len() / RECORD - 1;
    assert!(running.iter().map(|r| r.thread).is_sorted_by(|a, b| a < b));
    for thread in 0..records {
        let record = &page[RECORD * (thread + 1)..][..RECORD];
        let found = running.iter().find(|r| r.thread == thread);
        assert_eq!(found.is_some(), record[..8] != [0; 8], "record {thread}");
        assert!(found.is_none_or(|r| r.app.chars().count() <= NAME));
        // Alone on a page it says the same.
        let alone = parse(&[&page[..RECORD], record].concat()).expect("it begins as a page");
        assert_eq!(alone.running.first().map(|r| (&r.app, r.request)), found.map(|r| (&r.app, r.request)));
    }
    assert!(running.last().is_none_or(|r| r.thread < records));
}

/// The input as names of apps, one a line, each run by a thread of its own.
fn written(data: &[u8], file: &tempfile::NamedTempFile) {
    let text = String::from_utf8_lossy(data);
    let names: Vec<&str> = text.lines().take(6).collect();
    let path = file.path();
    let page = File::options().read(true).write(true).open(path).and_then(|file| file.set_len(0).map(|()| file));
    let page = Breadcrumbs::in_file(names.len(), &page.expect("the file can be opened")).expect("a page can be mapped");
    let mut crumbs: Vec<_> = names.iter().filter_map(|_| page.claim()).collect();
    assert!(crumbs.len() == names.len() && page.claim().is_none());
    let mut expected = Vec::new();
    for (thread, (crumb, name)) in crumbs.iter_mut().zip(&names).enumerate() {
        let request = (thread as u64) << 40 | name.len() as u64;
        let reference = |app| AppRef { app, version: "1.0.0", owner: "owner" };
        crumb.set(1, || reference("what ran before, with a longer name than most"), 1, TurnPhase::Loading);
        crumb.set(2, || reference(name), request, TurnPhase::Handling);
        let cut = (0..=NAME.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        expected.push((thread, name[..cut].to_owned(), "owner".to_owned(), request));
    }
    assert_eq!(told(path), expected);
    for crumb in crumbs.iter_mut().take(1) {
        crumb.clear();
        expected.remove(0);
    }
    assert_eq!(told(path), expected);
}

fn told(path: &Path) -> Vec<(usize, String, String, u64)> {
    let running = read(path).expect("what was written is a page").running;
    running.into_iter().map(|one| (one.thread, one.app, one.owner, one.request)).collect()
}
