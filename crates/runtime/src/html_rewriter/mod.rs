//! HTML rewriting in two passes over each slice of the input, since `lol_html` calls its handlers in the middle of a
//! write and those of an app may be asynchronous. The recorder parses a slice and lists which handlers are due, with
//! what they may read. The app's handlers run between the passes, and ask for edits. The editor parses the same slice
//! again and makes the edits, which gives the output.
//!
//! Invariant: both passes have the same handlers and get the same slices, so that they come upon the same
//! invocations in the same order: an edit names its invocation by number. Edits do not change how a document is
//! parsed.

mod editor;
mod recorder;

use lol_html::{AsciiCompatibleEncoding, HtmlRewriter, MemorySettings, Selector, Settings};

pub(crate) use editor::{Action, Edit, Editor};
pub(crate) use recorder::{Event, Recorder, Token};

/// What a rewriter may hold: open elements, and a token that is not complete.
const MAX_MEMORY: usize = 2 << 20;
/// A slice ends before this many tags: elements cost more than text, the more of them are open.
const MAX_SLICE: usize = 16 << 10;
const MAX_SLICE_TAGS: usize = 128;
/// Of the selectors of a rewriter together, and how deep their parentheses nest: parsing is recursive.
const MAX_SELECTOR_BYTES: usize = 16 << 10;
const MAX_SELECTOR_DEPTH: usize = 8;
const MAX_HANDLERS: usize = 1024;
/// At most, for an open element in both passes, and for an attribute while its tag is handled.
const ELEMENT_SIZE: usize = 512;
const ATTRIBUTE_SIZE: usize = 512;
/// An open element takes at least this of `MAX_MEMORY`.
const MIN_STACK_ITEM: usize = 64;
const BASE_SIZE: usize = 16 << 10;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RewriteError {
    #[error("Parser error: {0}")]
    Selector(#[from] lol_html::errors::SelectorError),
    #[error(
        "Parser error: the selectors of a rewriter may have {MAX_SELECTOR_BYTES} bytes, nested {MAX_SELECTOR_DEPTH} deep, in {MAX_HANDLERS} handlers"
    )]
    SelectorLimit,
    #[error("Parser error: Unknown character encoding has been provided.")]
    Encoding,
    #[error("Parser error: {0}")]
    Rewriting(#[from] lol_html::errors::RewritingError),
}

/// Which callbacks an `on` or `onDocument` has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callbacks(pub(crate) u32);

impl Callbacks {
    /// `element`, or of a document `doctype`.
    pub(crate) fn first(self) -> bool {
        self.0 & 1 != 0
    }
    pub(crate) fn comments(self) -> bool {
        self.0 & 2 != 0
    }
    pub(crate) fn text(self) -> bool {
        self.0 & 4 != 0
    }
    pub(crate) fn end(self) -> bool {
        self.0 & 8 != 0
    }
}

/// One `on`, or without a selector one `onDocument`.
pub(crate) struct Handlers {
    pub(crate) selector: Option<Selector>,
    pub(crate) callbacks: Callbacks,
}

/// A rewriter between two slices, or between the two passes over one.
pub(crate) struct Rewriter {
    recorder: Recorder,
    editor: Editor,
    /// The slice that was recorded and is to be edited.
    slice: Option<Slice>,
    /// Bytes that were written and are not through the recorder: a token that is not complete.
    written: u64,
    tags: usize,
    separators: usize,
    handlers: usize,
}

enum Slice {
    Bytes(Vec<u8>),
    End,
}

pub(crate) fn parse_selector(text: &str) -> Result<Selector, RewriteError> {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_SELECTOR_DEPTH {
            return Err(RewriteError::SelectorLimit);
        }
    }
    if text.len() > MAX_SELECTOR_BYTES {
        return Err(RewriteError::SelectorLimit);
    }
    Ok(text.parse()?)
}

/// Of both passes.
fn settings<'h>(encoding: AsciiCompatibleEncoding) -> Settings<'h, 'static> {
    let memory =
        MemorySettings::new().with_preallocated_parsing_buffer_size(0).with_max_allowed_memory_usage(MAX_MEMORY);
    Settings::new().with_encoding(encoding).with_memory_settings(memory).with_strict(true)
}

impl Rewriter {
    /// `handlers`: a selector or none, and the callbacks.
    pub(crate) fn new(encoding: &str, handlers: &[(Option<String>, Callbacks)]) -> Result<Self, RewriteError> {
        let encoding = encoding_rs::Encoding::for_label_no_replacement(encoding.as_bytes())
            .and_then(AsciiCompatibleEncoding::new)
            .ok_or(RewriteError::Encoding)?;
        let bytes: usize = handlers.iter().filter_map(|(selector, _)| selector.as_ref()).map(String::len).sum();
        if handlers.len() > MAX_HANDLERS || bytes > MAX_SELECTOR_BYTES {
            return Err(RewriteError::SelectorLimit);
        }
        let parsed = handlers.iter().map(|(selector, callbacks)| {
            let selector = selector.as_deref().map(parse_selector).transpose()?;
            Ok(Handlers { selector, callbacks: *callbacks })
        });
        let parsed = parsed.collect::<Result<Vec<_>, RewriteError>>()?;
        Ok(Self {
            recorder: Recorder::new(settings(encoding), &parsed),
            editor: Editor::new(settings(encoding), &parsed),
            slice: None,
            written: 0,
            tags: 0,
            separators: 0,
            handlers: handlers.len() + bytes,
        })
    }

    /// The length of the slice at the beginning of `bytes`. It ends before a tag where it can, so that it splits no text.
    pub(crate) fn slice_length(bytes: &[u8]) -> usize {
        let bytes = &bytes[..bytes.len().min(MAX_SLICE)];
        memchr::memchr_iter(b'<', bytes).filter(|at| *at > 0).nth(MAX_SLICE_TAGS).unwrap_or(bytes.len())
    }

    /// An upper bound of what this will hold while `slice` is handled.
    pub(crate) fn expected_memory(&self, slice: &[u8]) -> u64 {
        let pending = self.pending() + slice.len();
        let open = (self.tags + tags(slice)).min(MAX_MEMORY / MIN_STACK_ITEM);
        let attributes = self.separators + separators(slice);
        let element = ELEMENT_SIZE + self.handlers.min(MAX_HANDLERS) / 4;
        (BASE_SIZE + 32 * self.handlers + 8 * pending.min(MAX_MEMORY) + element * open + ATTRIBUTE_SIZE * attributes)
            as u64
    }

    /// The first pass over a slice: which handlers are due.
    pub(crate) fn record(&mut self, slice: &[u8]) -> Result<Vec<Event>, RewriteError> {
        self.written += slice.len() as u64;
        self.tags = (self.tags + tags(slice)).min(MAX_MEMORY / MIN_STACK_ITEM);
        let events = self.recorder.write(slice)?;
        // Attributes of the token that is not complete are in what was written last.
        self.separators = match self.pending() {
            0 => 0,
            pending if pending <= slice.len() => separators(slice),
            _ => self.separators + separators(slice),
        };
        self.slice = Some(Slice::Bytes(slice.to_vec()));
        Ok(events)
    }

    /// The first pass over the end of the document.
    pub(crate) fn record_end(&mut self) -> Result<Vec<Event>, RewriteError> {
        self.slice = Some(Slice::End);
        Ok(self.recorder.end()?)
    }

    /// The second pass: the output, or none where `reserve` had no room for it, after which nothing more comes.
    pub(crate) fn edit(&mut self, edits: Vec<Edit>, reserve: Reserve) -> Result<Option<Vec<u8>>, RewriteError> {
        Ok(match self.slice.take() {
            Some(Slice::Bytes(bytes)) => self.editor.write(&bytes, edits, reserve)?,
            Some(Slice::End) => self.editor.end(edits, reserve)?,
            None => None,
        })
    }

    /// Whether a slice waits for its second pass.
    pub(crate) fn is_between_passes(&self) -> bool {
        self.slice.is_some()
    }

    fn pending(&self) -> usize {
        usize::try_from(self.written.saturating_sub(self.recorder.emitted())).unwrap_or(usize::MAX)
    }
}

/// Where a pass puts its output.
type Sink = Box<dyn FnMut(&[u8])>;
/// One of the two parsers.
type Parser = HtmlRewriter<'static, Sink>;

/// Says whether there is room for an output of so many bytes.
pub(crate) type Reserve = Box<dyn FnMut(usize) -> bool>;

/// Start tags, or more.
fn tags(slice: &[u8]) -> usize {
    memchr::memchr_iter(b'<', slice).filter(|at| slice.get(at + 1) != Some(&b'/')).count()
}

/// Where attributes may begin.
fn separators(slice: &[u8]) -> usize {
    slice.iter().filter(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'\x0C' | b'/' | b'"' | b'\'')).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
