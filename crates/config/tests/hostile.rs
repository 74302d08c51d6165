//! Malformed files: seeds that were cut, doubled and mixed. Every input is read or refused without
//! a panic; errors point into the file; and a valid result can be resolved and sent.

use std::path::Path;

use hearth_config::{
    AppCeilings, AppOrigin, ConfigErrors, ConfigProblem, Layers, Manifest, OperatorConfig, Settings, parse_dotenv,
};

const MUTATIONS: usize = 20_000;

const SEEDS: [&str; 9] = [
    "name: shop\nversion: 1.2.3\nenv: { PORT: 8080, A: \"b\\n\\x41\", B: 'c' }\ntimeout: 30s\nttl: 1h\nidleTimeout: 1.5m\n",
    "publicRoutes:\n  GET: [/health, /a/**, '/u/:id']\n  ALL:\n  - /x/*.css\nauth: token\nrateLimit: 100/1m\n",
    "egress:\n- api.example.com:443\n- 10.0.0.0/8\nhosts: ['*.example.com', a.b]\ncrons: ['*/5 * * * *', \"@daily\", 0 0 1 jan-mar mon]\n",
    "memory: 64mb\ncpu: 500ms\nmaxBodySize: 10 KB\nmaxWorkers: none\nexecution: pinned\nstatic: public/../x\nentrypoint: a.ts\n",
    "env:\n  TEXT: |-\n    one\n     two\n\n  MORE: >+\n    three\n    four\n\n  ? KEY\n  : value # comment\n",
    "%YAML 1.2\n---\nname: &a b\nowner: *a\nversion: !!str 1\n...\n---\n{a: [b, {c: d}], ? e : f}\n",
    "listen: [127.0.0.1:80, '[::]:1']\ntls: [{cert: a, key: b}]\ndefaults: {ttl: 0}\napps: {shop: {hosts: [a.b]}, '@a/b': {memory: 1gb}}\n",
    "trusted_proxies: [10.0.0.0/8, ::1]\nceilings: {memory: 1gb, max_workers: 4}\njail: auto\naccess_log: off\negress: none\n",
    "# c\nexport A=b # c\nB='x'\nC=\"a\\nb\nc\" # d\n",
];

#[test]
fn no_file_causes_a_panic() {
    let mut random = Random(0x5eed_0000_0000_0001);
    for seed in SEEDS {
        check(seed);
    }
    for _ in 0..MUTATIONS {
        let mut text: Vec<char> = random.choose(&SEEDS).chars().collect();
        for _ in 0..*random.choose(&[1, 1, 2, 4, 8]) {
            mutate(&mut text, &mut random);
        }
        check(&text.into_iter().collect::<String>());
    }
}

fn check(text: &str) {
    struct Report<'a>(&'a str);
    impl Drop for Report<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("the text was {:?}", self.0);
            }
        }
    }
    let _report = Report(text);
    let dotenv = parse_dotenv(text, Path::new("f"));
    let operator = OperatorConfig::parse(text, Path::new("f"));
    let manifest = Manifest::parse(text, Path::new("f"));
    for errors in [dotenv.as_ref().err(), operator.as_ref().err(), manifest.as_ref().err()].into_iter().flatten() {
        points_into(errors, text);
    }
    let Ok(manifest) = manifest else { return };
    let origin = AppOrigin::Uploaded { owner: None };
    let layers = Layers { app: None, manifest: &manifest, dotenv: dotenv.as_ref().ok(), defaults: None, origin };
    let Ok(resolved) = Settings::resolve(&layers, &AppCeilings::default()) else { return };
    let sent = serde_json::to_string(&resolved.settings).expect("settings can be sent");
    assert_eq!(serde_json::from_str::<Settings>(&sent).expect("and read"), resolved.settings);
}

fn points_into(errors: &ConfigErrors, text: &str) {
    let lines = text.split(['\n', '\r']).count();
    // A lone carriage return ends a line of YAML, but not of `.env`.
    let longest = text.split('\n').map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(errors.iter().next().is_some());
    for error in errors.iter() {
        assert_ne!(error.problem, ConfigProblem::Parser, "the parser panicked");
        let at = error.place.position.expect("errors of files have a position");
        assert!((1..=lines + 1).contains(&at.line), "{error}: there are {lines} lines");
        assert!((1..=longest + 2).contains(&at.column), "{error}: lines have up to {longest} columns");
        assert!(!error.to_string().contains('\n'), "{error} is one line");
    }
}

fn mutate(text: &mut Vec<char>, random: &mut Random) {
    const CHARS: &[char] = &[
        '\0', '\t', '\n', '\r', ' ', '!', '"', '#', '%', '&', '\'', '*', ',', '-', '.', '/', '0', '9', ':', '<', '=',
        '>', '?', '@', 'a', '[', '\\', ']', '`', '{', '|', '}', '~', '\u{85}', '\u{a0}', '\u{2028}', '\u{feff}', 'ä',
        '😀',
    ];
    let at = random.below(text.len() + 1);
    let end = (at + random.below(12)).min(text.len());
    match random.below(5) {
        0 => drop(text.drain(at..end)),
        1 => text.insert(at, *random.choose(CHARS)),
        2 if at < text.len() => text[at] = *random.choose(CHARS),
        3 => {
            let copy = text[at..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, copy);
        }
        _ => {
            let other: Vec<char> = random.choose(&SEEDS).chars().collect();
            let start = random.below(other.len() + 1);
            let length = random.below(other.len() - start + 1);
            text.splice(at..end, other[start..start + length].iter().copied());
        }
    }
}

/// Xorshift: the same numbers on every machine.
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
