//! Reads a page of breadcrumbs that another process wrote. The bytes may be anything, since their writer has crashed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{
    ATTRIBUTED_TO_HOLDER, ATTRIBUTED_TO_NO_APP, ATTRIBUTION, BreadcrumbError, CRASHED_THREAD, HELD_BYTES, HOLDER_NAMES,
    MAGIC, MAX_NAME_BYTES, RECORD_BYTES, RUNNER_NAMES, TurnPhase,
};

/// The content of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashTrail {
    pub running: Vec<Running>,
    /// Kernel id of the thread that crashed.
    pub crashed: Option<u64>,
    pub attribution: AttributionRecord,
}

/// What a thread was running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub thread: usize,
    pub app: String,
    pub version: String,
    pub owner: String,
    pub request: u64,
    /// The client's id of the request, as far as it is known.
    pub request_text: Option<String>,
    pub phase: Option<TurnPhase>,
    pub crashed: Crashed,
}

/// Whether it is the thread that brought the process down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashed {
    Yes,
    No,
}

/// The app that caused the crash, as the process itself saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AttributionRecord {
    /// The one that ran on the thread that crashed.
    #[default]
    Runner,
    /// The one that held too much of the shared memory.
    Holder { app: String, version: String, owner: String, bytes: u64 },
    /// None: the thread ran no app's code.
    NoApp,
}

/// Reads a page that another process left in a file: what each of its threads was running.
pub fn read(path: &Path) -> Result<CrashTrail, BreadcrumbError> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(BreadcrumbError::Read)?;
    parse(&bytes)
}

/// Parses a page from bytes that may be anything.
pub fn parse(bytes: &[u8]) -> Result<CrashTrail, BreadcrumbError> {
    if bytes.len() < RECORD_BYTES || &bytes[..8] != MAGIC {
        return Err(BreadcrumbError::NotBreadcrumbs);
    }
    let (head, records) = bytes.split_at(RECORD_BYTES);
    let crashed = Some(word(head, CRASHED_THREAD)).filter(|thread| *thread != 0);
    let records = records.chunks_exact(RECORD_BYTES).enumerate();
    let running = records.filter_map(|(thread, record)| {
        let request = word(record, 0);
        let [app, version, owner, text] = names(record, RUNNER_NAMES);
        (request != 0).then(|| Running {
            thread,
            app,
            version,
            owner,
            request: request - 1,
            request_text: Some(text).filter(|text| !text.is_empty()),
            phase: TurnPhase::from_word(word(record, 16)),
            crashed: if crashed == Some(word(record, 8)) { Crashed::Yes } else { Crashed::No },
        })
    });
    Ok(CrashTrail { running: running.collect(), crashed, attribution: attribution(head) })
}

fn attribution(head: &[u8]) -> AttributionRecord {
    match word(head, ATTRIBUTION) {
        ATTRIBUTED_TO_HOLDER => {
            let [app, version, owner, _] = names(head, HOLDER_NAMES);
            AttributionRecord::Holder { app, version, owner, bytes: word(head, HELD_BYTES) }
        }
        ATTRIBUTED_TO_NO_APP => AttributionRecord::NoApp,
        _ => AttributionRecord::Runner,
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The names whose lengths are at offset `at`.
fn names(record: &[u8], at: usize) -> [String; 4] {
    let (lengths, mut rest) = (word(record, at), &record[at + 8..]);
    [0, 1, 2, 3].map(|n: usize| {
        let length = ((lengths >> (16 * n)) as usize & 0xffff).min(MAX_NAME_BYTES[n]).min(rest.len());
        let (name, after) = rest.split_at(length);
        rest = after;
        String::from_utf8_lossy(name).into_owned()
    })
}
