//! The apps of the soak: kinds of good and bad behaviour (`apps/`), each in many copies, with the allowed outcomes of requests.

use std::path::Path;

/// Gives a few hundred apps, several times as many as may be warm at once.
const COPIES: usize = 11;

pub struct Kind {
    pub name: &'static str,
    /// The entry's name, and its code in one or more variants.
    entry: &'static str,
    codes: &'static [&'static str],
    /// Relative frequency of its requests.
    pub weight: usize,
    /// Its behaviours: `?way=`, by position.
    pub ways: &'static [Way],
}

pub struct Way {
    pub shape: Shape,
    pub outcomes: &'static [Outcome],
}

/// The request body, and the expected response with status 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The mark of app and request.
    Mark,
    /// The mark, the worker's name and a count.
    Count,
    /// The request's body, as it was and in capitals.
    Echo,
    Upper,
    /// The mark and the request's items, the last first.
    Json,
    /// The requested number of lines, each repeated.
    Ticks {
        copies: usize,
    },
}

/// How a request may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answer,
    /// One of Hearth's own errors.
    Code(&'static str),
    /// The response breaks off after its head, for a reason.
    CutOff,
}

#[derive(Clone)]
pub struct App {
    pub name: String,
    pub kind: &'static Kind,
}

use Outcome::{Answer, Code, CutOff};
use Shape::{Count, Echo, Json, Mark, Ticks, Upper};

const LOOPS: Way = Way { shape: Mark, outcomes: &[Code("limit_cpu"), Code("collateral"), Code("stuck")] };
const HOGS: Way = Way {
    shape: Mark,
    outcomes: &[
        Code("limit_heap"),
        Code("limit_cpu"),
        Code("limit_wall"),
        Code("limit_budget"),
        Code("collateral"),
        Code("stuck"),
    ],
};
/// A good request in bad company.
const SUFFERS: Way = Way { shape: Mark, outcomes: &[Answer, Code("collateral"), Code("stuck")] };
const FAILS: Way = Way { shape: Mark, outcomes: &[Code("app_failed")] };
const NEVER: Way = Way { shape: Mark, outcomes: &[Code("limit_wall")] };

const fn answers(shape: Shape) -> Way {
    Way { shape, outcomes: &[Answer] }
}

/// Bad apps first: the apps that are requested last stay warm, and their memory is compared.
pub const KINDS: [Kind; 20] = [
    kind("broken", &BROKEN, 3, &[Way { shape: Mark, outcomes: &[Code("load_failed")] }]),
    kind("throws", &[include_str!("apps/throws.js")], 6, &[FAILS, FAILS, FAILS, FAILS, FAILS]),
    kind("uncaught", &[include_str!("apps/uncaught.js")], 6, &[answers(Mark), answers(Mark), answers(Mark)]),
    kind("loop", &[include_str!("apps/loop.js")], 1, &[LOOPS, HOGS, LOOPS, LOOPS, BEGUN_LOOP]),
    kind("hog", &[include_str!("apps/hog.js")], 1, &[HOGS, HOGS, HOGS, HOGS, HOGS, HOGS, HOGS, HOGS]),
    kind("never", &[include_str!("apps/never.js")], 1, &[NEVER, NEVER, NEVER]),
    kind("mixed", &[include_str!("apps/mixed.js")], 4, &MIXED),
    kind("hoard", &[include_str!("apps/hoard.js")], 3, &[HOARDS, HOARDS]),
    kind("background", &[include_str!("apps/background.js")], 6, &[SUFFERS, SUFFERS, SUFFERS, SUFFERS]),
    kind("busy", &[include_str!("apps/busy.js")], 2, &[answers(Mark)]),
    kind("leftover", &[include_str!("apps/leftover.js")], 6, &[answers(Mark)]),
    kind(
        "slow",
        &[include_str!("apps/slow.js")],
        5,
        &[answers(Ticks { copies: 1 }), answers(Ticks { copies: 1 }), answers(Ticks { copies: 1000 })],
    ),
    kind("json", &[include_str!("apps/json.js")], 6, &[answers(Json)]),
    kind("echo", &[include_str!("apps/echo.js")], 10, &[answers(Echo)]),
    kind("upper", &[include_str!("apps/upper.js")], 6, &[answers(Upper)]),
    kind("context", &[include_str!("apps/context.js")], 10, &[answers(Mark)]),
    kind("events", &[include_str!("apps/events.js")], 10, &[answers(Mark)]),
    Kind { entry: "index.ts", ..kind("typed", &[include_str!("apps/typed.ts")], 8, &[answers(Mark)]) },
    kind("counter", &[include_str!("apps/counter.js")], 16, &[answers(Count)]),
    kind("hello", &[include_str!("apps/hello.js")], 20, &[answers(Mark)]),
];

const BROKEN: [&str; 4] = [
    include_str!("apps/broken_syntax.js"),
    include_str!("apps/broken_throw.js"),
    include_str!("apps/broken_import.js"),
    include_str!("apps/broken_await.js"),
];
const BEGUN_LOOP: Way = Way { shape: Mark, outcomes: &[CutOff, Code("collateral"), Code("stuck")] };
const HOARDS: Way =
    Way { shape: Mark, outcomes: &[Answer, Code("limit_heap"), Code("limit_budget"), Code("collateral")] };
const MIXED: [Way; 7] = [
    SUFFERS,
    SUFFERS,
    Way { shape: Mark, outcomes: &[Answer, CutOff, Code("collateral"), Code("stuck")] },
    LOOPS,
    HOGS,
    SUFFERS,
    Way { shape: Mark, outcomes: &[Code("app_failed"), Code("collateral"), Code("stuck")] },
];

const fn kind(name: &'static str, codes: &'static [&'static str], weight: usize, ways: &'static [Way]) -> Kind {
    Kind { name, entry: "index.js", codes, weight, ways }
}

/// Writes all apps below `folder`.
pub fn write(folder: &Path) -> std::io::Result<Vec<App>> {
    let mut apps = Vec::new();
    for kind in &KINDS {
        for copy in 0..COPIES {
            let name = format!("{}-{copy}", kind.name);
            let home = folder.join(&name);
            std::fs::create_dir_all(&home)?;
            std::fs::write(home.join(kind.entry), kind.codes[copy % kind.codes.len()])?;
            std::fs::write(home.join("common.js"), include_str!("apps/common.js"))?;
            std::fs::write(home.join("name.js"), format!("export const NAME = {name:?};\n"))?;
            apps.push(App { name, kind });
        }
    }
    Ok(apps)
}
