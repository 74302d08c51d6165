//! The shapes of objects: their keys in order. They are a tree, like V8's own hidden classes: from
//! a node, each key that was seen next leads to another node, and a node is the shape of the
//! objects whose keys lead to it.
//!
//! A node remembers which key came next last time, and so does the place where an object lies:
//! reading an object like the one before compares bytes. A shape that is seen again gets a factory:
//! a function that makes such objects.
//!
//! Nodes, bytes of keys and factories are bounded. Nothing is removed; when the tree is full,
//! shapes that it lacks are unsupported.

use crate::scan;

/// The most factories of a reader.
pub const MAX_FACTORIES: usize = 64;

const MAX_NODES: usize = 512;
const MAX_KEY_BYTES: usize = 8 << 10;
/// The most keys of an object.
const MAX_KEYS: u16 = 64;
/// The most children of a node: an object with more kinds of keys here is a table by names and has
/// no shape.
const MAX_CHILDREN: usize = 32;
/// The most shapes of one text that get a factory.
const MAX_WANTED: usize = 8;

pub(crate) struct Shapes {
    nodes: Vec<Node>,
    /// All keys, one after the other.
    keys: Vec<u8>,
    factories: u32,
    wanted: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

struct Node {
    parent: NodeId,
    /// The first eight bytes of the key that leads here, with the quote after it, and a mask of
    /// those that exist.
    head: u64,
    head_mask: u64,
    /// Where that key is in `keys`.
    key_start: u32,
    key_length: u16,
    /// How many keys lead here.
    keys: u16,
    first_child: Option<NodeId>,
    next_sibling: Option<NodeId>,
    /// The last transitions: from this node, and in the object that was this key's value, or in it.
    next: Option<NodeId>,
    inside: Option<NodeId>,
    factory: Factory,
}

/// States: `Unseen -> Seen -> Wanted -> Made`.
#[derive(Clone, Copy)]
enum Factory {
    Unseen,
    Seen,
    Wanted,
    Made(u32),
}

impl NodeId {
    /// The shape of objects without keys, where all others begin.
    pub(crate) const ROOT: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

// === impl Shapes ===

impl Shapes {
    pub(crate) fn new() -> Self {
        let root = Node::new(NodeId::ROOT, 0, b"", 0);
        Self { nodes: vec![root], keys: Vec::new(), factories: 0, wanted: Vec::new() }
    }

    /// Follows the key that begins at `at`, after its quote, from `node`: the next node, and where
    /// the key ends, after the other quote. `place` is the key whose value the object is.
    #[inline(always)]
    pub(crate) fn follow(&mut self, node: NodeId, place: NodeId, text: &[u8], at: usize) -> Option<(NodeId, usize)> {
        let guess = if node == NodeId::ROOT { self.nodes[place.index()].inside } else { self.nodes[node.index()].next };
        if let (Some(guess), Some(head)) = (guess, text.get(at..).and_then(<[u8]>::first_chunk::<8>)) {
            let next = &self.nodes[guess.index()];
            if next.key_length < 8 && u64::from_le_bytes(*head) & next.head_mask == next.head {
                return Some((guess, at + usize::from(next.key_length) + 1));
            }
        }
        self.find(node, place, guess, text, at)
    }

    /// The same, where the key is longer than eight bytes, or not the one of last time.
    #[inline(never)]
    fn find(
        &mut self,
        node: NodeId,
        place: NodeId,
        guess: Option<NodeId>,
        text: &[u8],
        at: usize,
    ) -> Option<(NodeId, usize)> {
        if let Some(guess) = guess {
            let key = self.key(guess);
            if text[at..].starts_with(key) && text.get(at + key.len()) == Some(&b'"') {
                return Some((guess, at + key.len() + 1));
            }
        }
        let end = scan::special(text, at);
        if text.get(end) != Some(&b'"') {
            return None;
        }
        let child = self.child(node, &text[at..end])?;
        if node == NodeId::ROOT {
            self.nodes[place.index()].inside = Some(child);
        } else {
            self.nodes[node.index()].next = Some(child);
        }
        Some((child, end + 1))
    }

    /// The factory of the shape. Where there is none, the shape was seen once more.
    pub(crate) fn factory(&mut self, node: NodeId) -> Option<u32> {
        let factory = &mut self.nodes[node.index()].factory;
        match *factory {
            Factory::Made(number) => return Some(number),
            Factory::Unseen => *factory = Factory::Seen,
            Factory::Seen => {
                if self.wanted.len() < MAX_WANTED && self.factories as usize + self.wanted.len() < MAX_FACTORIES {
                    *factory = Factory::Wanted;
                    self.wanted.push(node);
                }
            }
            Factory::Wanted => {}
        }
        None
    }

    /// A shape that should have a factory, and its keys. Each is returned once.
    pub(crate) fn wanted(&mut self) -> Option<(NodeId, Vec<&str>)> {
        let node = self.wanted.pop()?;
        let mut keys = Vec::with_capacity(usize::from(self.nodes[node.index()].keys));
        let mut at = node;
        while at != NodeId::ROOT {
            keys.push(std::str::from_utf8(self.key(at)).expect("keys are ASCII"));
            at = self.nodes[at.index()].parent;
        }
        keys.reverse();
        Some((node, keys))
    }

    /// The number of the next factory.
    pub(crate) fn next_factory(&self) -> u32 {
        self.factories
    }

    /// The next factory was made, for this shape.
    pub(crate) fn made(&mut self, node: NodeId) {
        self.nodes[node.index()].factory = Factory::Made(self.factories);
        self.factories += 1;
    }

    fn key(&self, node: NodeId) -> &[u8] {
        let node = &self.nodes[node.index()];
        &self.keys[node.key_start as usize..][..usize::from(node.key_length)]
    }

    /// The child by that key; created if it does not exist.
    fn child(&mut self, node: NodeId, key: &[u8]) -> Option<NodeId> {
        let mut count = 0;
        let mut at = self.nodes[node.index()].first_child;
        while let Some(child) = at {
            if self.key(child) == key {
                return Some(child);
            }
            count += 1;
            at = self.nodes[child.index()].next_sibling;
        }
        let keys = self.nodes[node.index()].keys + 1;
        let is_full = self.nodes.len() >= MAX_NODES || self.keys.len() + key.len() > MAX_KEY_BYTES;
        if is_full || count >= MAX_CHILDREN || keys > MAX_KEYS || is_special(key) || self.leads_to(node, key) {
            return None;
        }
        let child = NodeId(self.nodes.len() as u32);
        let mut made = Node::new(node, self.keys.len() as u32, key, keys);
        made.next_sibling = self.nodes[node.index()].first_child;
        self.nodes.push(made);
        self.keys.extend_from_slice(key);
        self.nodes[node.index()].first_child = Some(child);
        Some(child)
    }

    /// Whether the key is on the path to the node: then the object has it twice.
    fn leads_to(&self, node: NodeId, key: &[u8]) -> bool {
        let mut at = node;
        while at != NodeId::ROOT {
            if self.key(at) == key {
                return true;
            }
            at = self.nodes[at.index()].parent;
        }
        false
    }
}

/// Whether JavaScript treats such keys specially: as the prototype, in a literal, or as an index,
/// which comes first.
fn is_special(key: &[u8]) -> bool {
    key == b"__proto__" || key.first().is_some_and(u8::is_ascii_digit)
}

// === impl Node ===

impl Node {
    fn new(parent: NodeId, key_start: u32, key: &[u8], keys: u16) -> Self {
        let mut head = [0; 8];
        let mut head_mask = [0; 8];
        for ((byte, mask), from) in head.iter_mut().zip(&mut head_mask).zip(key.iter().chain(b"\"")) {
            (*byte, *mask) = (*from, 0xff);
        }
        Self {
            parent,
            head: u64::from_le_bytes(head),
            head_mask: u64::from_le_bytes(head_mask),
            key_start,
            key_length: key.len() as u16,
            keys,
            first_child: None,
            next_sibling: None,
            next: None,
            inside: None,
            factory: Factory::Unseen,
        }
    }
}
