//! The fuzz targets on their seeds, and on mutations of them that are the same each time: no libFuzzer, stable Rust, a few
//! seconds. It keeps the targets compiling and their promises kept; finding what is new is libFuzzer's part.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

const MUTATIONS: usize = 2_000;

/// One test for each target, and the list of them.
macro_rules! targets {
    ($($name:ident),*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                run(stringify!($name), targets::$name::check);
            }
        )*
    };
}

targets!(
    agent_protocol,
    archive,
    breadcrumbs,
    cron,
    dotenv,
    egress_policy,
    headers,
    http_chunked,
    http_head,
    json,
    manifest,
    module_source,
    module_specifier,
    routes,
    static_files,
    units,
    version_range,
    websocket
);

/// A target that was added is run here, and can be run there.
#[test]
fn every_target_is_known_everywhere() {
    let names = |folder: &str| {
        let entries = fs::read_dir(fuzz().join(folder)).expect("the folder is there");
        let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let mut names: Vec<String> = entries.flatten().filter_map(|entry| stem(entry.path())).collect();
        names.sort();
        names
    };
    assert_eq!(names("seeds"), NAMES);
    assert_eq!(names("fuzz_targets"), NAMES);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the manifest is there");
    for name in NAMES {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn run(name: &str, check: fn(&[u8])) {
    let folder = fs::read_dir(fuzz().join("seeds").join(name)).expect("every target has seeds");
    let mut files: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a seed can be read")).collect();
    assert!(seeds.len() >= 3, "{name} has few seeds");
    for seed in &seeds {
        with_report(check, seed);
    }
    let mut random = Random(0x5eed_0000_0000_0001);
    for _ in 0..MUTATIONS {
        let mut bytes = random.choose(&seeds).clone();
        for _ in 0..*random.choose(&[1, 1, 2, 4]) {
            mutate(&mut bytes, &seeds, &mut random);
        }
        with_report(check, &bytes);
    }
}

/// Prints the input of a check that fails: kept as a seed it is a test for good.
fn with_report(check: fn(&[u8]), bytes: &[u8]) {
    struct Report<'a>(&'a [u8]);
    impl Drop for Report<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("the input was b\"{}\"", self.0.escape_ascii());
            }
        }
    }
    let _report = Report(bytes);
    check(bytes);
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    const BYTES: &[u8] = b"\0\t\n\r !\"#%&'()*,-./0159:;<=>?@AZ[\\]_`az{|}~\x7f\x80\xbf\xc3\xff";
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(12)).min(bytes.len());
    match random.below(6) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.insert(at, *random.choose(BYTES)),
        2 if at < bytes.len() => bytes[at] = *random.choose(BYTES),
        3 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        4 => {
            let copy = bytes[at..end].to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        _ => {
            let other = random.choose(seeds);
            let start = random.below(other.len() + 1);
            let length = random.below(other.len() - start + 1);
            bytes.splice(at..end, other[start..start + length].iter().copied());
        }
    }
}

/// Xorshift: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
