//! What a page of breadcrumbs says, read by whoever holds it too. The bytes may be anything: who wrote them has crashed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{
    BLAME, BreadcrumbError, CRASHED, Doing, HELD, HOLDER, HOLDER_DID_IT, LONGEST, MAGIC, NOBODY_DID_IT, RECORD, RUNNER,
};

/// What a page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    pub running: Vec<Running>,
    /// The thread that crashed, in the kernel's count.
    pub crashed: Option<u64>,
    pub blamed: Blamed,
}

/// What a thread was running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub thread: usize,
    pub app: String,
    pub version: String,
    pub owner: String,
    pub request: u64,
    /// The client's name for it, as far as it is known.
    pub request_text: Option<String>,
    pub doing: Option<Doing>,
    pub crashed: Crashed,
}

/// Whether it is the thread that brought the process down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashed {
    Yes,
    No,
}

/// Whose doing the crash is, as the process itself saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Blamed {
    /// Who ran on the thread that crashed.
    #[default]
    Runner,
    /// Who held so much of what all share.
    Holder {
        app: String,
        version: String,
        owner: String,
        bytes: u64,
    },
    Nobody,
}

/// Reads a page that another process left in a file: what each of its threads was running.
pub fn read(path: &Path) -> Result<Trail, BreadcrumbError> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(BreadcrumbError::Read)?;
    parse(&bytes)
}

/// The same, of bytes that may be anything.
pub fn parse(bytes: &[u8]) -> Result<Trail, BreadcrumbError> {
    if bytes.len() < RECORD || &bytes[..8] != MAGIC {
        return Err(BreadcrumbError::NotBreadcrumbs);
    }
    let (head, records) = bytes.split_at(RECORD);
    let crashed = Some(word(head, CRASHED)).filter(|thread| *thread != 0);
    let records = records.chunks_exact(RECORD).enumerate();
    let running = records.filter_map(|(thread, record)| {
        let request = word(record, 0);
        let [app, version, owner, text] = names(record, RUNNER);
        (request != 0).then(|| Running {
            thread,
            app,
            version,
            owner,
            request: request - 1,
            request_text: Some(text).filter(|text| !text.is_empty()),
            doing: Doing::of(word(record, 16)),
            crashed: if crashed == Some(word(record, 8)) { Crashed::Yes } else { Crashed::No },
        })
    });
    Ok(Trail { running: running.collect(), crashed, blamed: blamed(head) })
}

fn blamed(head: &[u8]) -> Blamed {
    match word(head, BLAME) {
        HOLDER_DID_IT => {
            let [app, version, owner, _] = names(head, HOLDER);
            Blamed::Holder { app, version, owner, bytes: word(head, HELD) }
        }
        NOBODY_DID_IT => Blamed::Nobody,
        _ => Blamed::Runner,
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The names whose lengths are at `at`.
fn names(record: &[u8], at: usize) -> [String; 4] {
    let (lengths, mut rest) = (word(record, at), &record[at + 8..]);
    [0, 1, 2, 3].map(|n: usize| {
        let length = ((lengths >> (16 * n)) as usize & 0xffff).min(LONGEST[n]).min(rest.len());
        let (name, after) = rest.split_at(length);
        rest = after;
        String::from_utf8_lossy(name).into_owned()
    })
}
