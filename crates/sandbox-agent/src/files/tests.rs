#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use super::*;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hearth-agent-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_read_in_pieces() {
    let folder = Folder::new("pieces");
    let content: Vec<u8> = (0..CHUNK + 1000).map(|index| index as u8).collect();
    fs::write(folder.path("a"), &content).unwrap();
    let first = read(&folder.path("a"), 0, u32::MAX).unwrap();
    assert_eq!((first.bytes.len(), first.end, first.size), (CHUNK, false, content.len() as u64));
    let second = read(&folder.path("a"), CHUNK as u64, u32::MAX).unwrap();
    assert!(second.end);
    assert_eq!([first.bytes, second.bytes].concat(), content);
    assert!(read(&folder.path("a"), u64::MAX, 1).unwrap().end);
}

#[test]
fn what_is_no_file_is_not_read() {
    let folder = Folder::new("kinds");
    nix::unistd::mkfifo(folder.path("pipe").as_str(), Mode::from_bits_truncate(0o600)).unwrap();
    for path in [folder.path("pipe"), folder.path("."), "/dev/zero".to_owned()] {
        assert_eq!(read(&path, 0, 10).err().unwrap().kind, FailureKind::Invalid, "{path}");
    }
    assert_eq!(read(&folder.path("none"), 0, 10).err().unwrap().kind, FailureKind::NotFound);
    assert_eq!(read("", 0, 10).err().unwrap().kind, FailureKind::Invalid);
    assert_eq!(read("a\0b", 0, 10).err().unwrap().kind, FailureKind::Invalid);
    let file = fs::File::open("/dev/null").unwrap();
    let magic = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    assert!(read(&magic, 0, 10).is_err(), "the agent's own descriptors are not files of the sandbox");
}

#[test]
fn folders_are_listed_by_name_and_page() {
    let folder = Folder::new("list");
    for name in ["c", "a", "b", "d"] {
        fs::write(folder.path(name), name).unwrap();
    }
    symlink("/nowhere", folder.path("e")).unwrap();
    let page = list(&folder.path(""), None, 2).unwrap();
    let names = |page: &FilePage| page.entries.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&page), page.more), (vec!["a".to_owned(), "b".to_owned()], true));
    let page = list(&folder.path(""), Some("b"), 100).unwrap();
    assert_eq!((names(&page).join(""), page.more), ("cde".to_owned(), false));
    assert_eq!(page.entries[2].kind, EntryKind::Link);
    assert_eq!(page.entries[2].target.as_deref(), Some("/nowhere"));
}

#[test]
fn a_write_takes_its_place_when_it_is_whole_and_leaves_nothing_when_it_is_not() {
    use hearth_sandbox_agent::AgentCallId;
    let folder = Folder::new("write");
    let mut file_writers = crate::file_writer::FileWriters::default();
    fs::write(folder.path("a"), "old").unwrap();
    file_writers.begin(AgentCallId(1), &folder.path("a"), Some(0o755), Missing::Refuse).unwrap();
    file_writers.chunk(AgentCallId(1), b"new").unwrap();
    assert_eq!(fs::read(folder.path("a")).unwrap(), b"old");
    file_writers.finish(AgentCallId(1)).unwrap().unwrap();
    assert_eq!(fs::read(folder.path("a")).unwrap(), b"new");
    assert_eq!(stat(&folder.path("a")).unwrap().mode, 0o755);

    file_writers.begin(AgentCallId(2), &folder.path("x/y/b"), None, Missing::Create).unwrap();
    file_writers.chunk(AgentCallId(2), b"half").unwrap();
    assert_eq!(file_writers.cancel(AgentCallId(2)).unwrap().kind, FailureKind::Cancelled);
    assert!(file_writers.finish(AgentCallId(2)).is_none());
    assert_eq!(fs::read_dir(folder.path("x/y")).unwrap().count(), 0);

    let refused = file_writers.begin(AgentCallId(3), &folder.path("no/b"), None, Missing::Refuse).unwrap_err();
    assert_eq!(refused.kind, FailureKind::NotFound);
    assert_eq!(
        file_writers.begin(AgentCallId(4), &folder.path("x"), None, Missing::Create).unwrap_err().kind,
        FailureKind::Invalid
    );
    remove(&folder.path("x"), Removal::Tree).unwrap();
    assert_eq!(stat(&folder.path("x")).unwrap_err().kind, FailureKind::NotFound);
}
