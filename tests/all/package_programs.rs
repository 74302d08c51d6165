//! Packages from npm that run unmodified: each file of `tests/packages/programs/` is an app that really uses some of them, and
//! answers `ok`. Those that cannot run are in `known-failures.json` with the reason; one that runs after all fails too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::packages::packages;
use crate::server::serve_file;

/// Programs that run at once: they wait for themselves more than they work.
const AT_ONCE: usize = 3;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packages")
}

/// The programs, beside the packages that they use, in order.
fn programs() -> Vec<PathBuf> {
    let to = packages(&sources(), "packages").join("programs");
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).unwrap();
    let copy = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        std::fs::copy(entry.path(), &copy).unwrap();
        copy
    };
    let mut programs: Vec<_> = std::fs::read_dir(sources().join("programs")).unwrap().map(copy).collect();
    programs.sort();
    programs
}

fn known_failures() -> BTreeMap<String, String> {
    serde_json::from_slice(&std::fs::read(sources().join("known-failures.json")).unwrap()).unwrap()
}

/// What the program answers, `ok` if all is as it expects.
fn run(program: &Path) -> String {
    let server = serve_file(program, &["--workers", "1", "--cpu", "60s", "--egress", "all"]);
    // The programs make requests to themselves, at the address that they were asked at.
    let mut client = server.connect();
    client.send(format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", server.address()));
    let reply = client.reply();
    if reply.status != 200 {
        return format!("{} {}\n{}", reply.status, reply.text(), server.log());
    }
    reply.text().to_owned()
}

#[test]
fn every_program_runs_as_it_does_in_node() {
    let (programs, known) = (programs(), known_failures());
    let name = |program: &Path| program.file_stem().unwrap().to_str().unwrap().to_owned();
    let names: Vec<_> = programs.iter().map(|program| name(program)).collect();
    let mut failures: Vec<_> = known
        .keys()
        .filter(|known| !names.contains(known))
        .map(|known| format!("{known}: a known failure of no program"))
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (name, answer) = (name(program), run(program));
                    match (answer.as_str(), known.get(&name)) {
                        ("ok", None) => {}
                        ("ok", Some(reason)) => {
                            found.lock().unwrap().push(format!("{name}: runs, though it is a known failure: {reason}"));
                        }
                        (_, Some(_)) => {}
                        (_, None) => found.lock().unwrap().push(format!("{name}: {answer}")),
                    }
                }
            });
        }
    });
    failures.append(&mut found.into_inner().unwrap());
    failures.sort();
    assert!(failures.is_empty(), "{} of {} programs:\n{}", failures.len(), programs.len(), failures.join("\n"));
}
