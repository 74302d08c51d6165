//! Files and folders of a sandbox. Paths are absolute or relative to `/work`; the agent resolves
//! them inside the sandbox.

use std::time::Duration;

use super::wire::{wire_struct, wire_tags};

wire_tags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EntryKind, "kind of file" {
        0 => File,
        1 => Folder,
        2 => Link,
        3 => Other,
    }
}

wire_struct! {
    /// What is at a path. Links are not followed.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct FileEntry {
        /// The last component of the path, with invalid UTF-8 replaced.
        pub name: String,
        pub kind: EntryKind,
        pub size: u64,
        /// The permission bits.
        pub mode: u32,
        /// Since 1970.
        pub modified: Duration,
        /// Target of a link.
        pub target: Option<String>,
    }
}

wire_tags! {
    /// What to do when the folders above a path do not exist.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Missing, "answer to missing folders" {
        0 => Refuse,
        1 => Create,
    }
}

wire_tags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Removal, "kind of removal" {
        /// A file, a link, or a folder that is empty.
        0 => One,
        /// A folder with all that is in it, too.
        1 => Tree,
    }
}
