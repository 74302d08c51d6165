//! The first pass: lists invocations of handlers, with what they may read of their token.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use lol_html::errors::RewritingError;
use lol_html::html_content::{Comment, Doctype, DocumentEnd, Element, EndTag, SourceLocation, TextChunk, UserData};
use lol_html::{DocumentContentHandlers, ElementContentHandlers, Settings};

use super::{Callbacks, Handlers, Parser, Sink};

/// An invocation of a handler.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    /// The number of the handlers; of an end tag, that of the element.
    pub(crate) owner: u32,
    pub(crate) token: Token,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Token {
    /// That of the invocation before.
    Same,
    Element {
        number: u32,
        name: String,
        can_have_content: bool,
        namespace: &'static str,
        /// Name, value, name...
        attributes: Vec<String>,
    },
    Comment(String),
    Text {
        text: String,
        is_last: bool,
    },
    Doctype {
        name: Option<String>,
        public_id: Option<String>,
        system_id: Option<String>,
    },
    EndTag(String),
    End,
}

#[derive(Default)]
struct Recording {
    events: Vec<Event>,
    elements: u32,
    /// The kind of the last token and where it begins.
    last: Option<(Kind, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Element,
    Comment,
    Text,
    Doctype,
    EndTag,
}

/// Marks a text chunk that was recorded: two empty ones may begin at the same place.
struct Seen;

type Shared = Rc<RefCell<Recording>>;

pub(crate) struct Recorder {
    rewriter: Option<Parser>,
    recording: Shared,
    emitted: Rc<Cell<u64>>,
}

impl Recorder {
    pub(crate) fn new(mut settings: Settings<'static, 'static>, handlers: &[Handlers]) -> Self {
        let recording = Shared::default();
        for (number, Handlers { selector, callbacks }) in (0..).zip(handlers) {
            settings = match selector {
                Some(selector) => {
                    let content = element_handlers(&recording, number, *callbacks);
                    settings.append_element_content_handler((std::borrow::Cow::Owned(selector.clone()), content))
                }
                None => settings.append_document_content_handler(document_handlers(&recording, number, *callbacks)),
            };
        }
        let emitted = Rc::new(Cell::new(0));
        let counter = emitted.clone();
        let sink: Sink = Box::new(move |bytes| counter.set(counter.get() + bytes.len() as u64));
        Self { rewriter: Some(Parser::new(settings, sink)), recording, emitted }
    }

    /// Bytes of the input that are done with.
    pub(crate) fn emitted(&self) -> u64 {
        self.emitted.get()
    }

    pub(crate) fn write(&mut self, slice: &[u8]) -> Result<Vec<Event>, RewritingError> {
        // After an error there is no rewriter: it must not be used.
        let Some(mut rewriter) = self.rewriter.take() else { return Ok(Vec::new()) };
        rewriter.write(slice)?;
        self.rewriter = Some(rewriter);
        Ok(std::mem::take(&mut self.recording.borrow_mut().events))
    }

    pub(crate) fn end(&mut self) -> Result<Vec<Event>, RewritingError> {
        let Some(rewriter) = self.rewriter.take() else { return Ok(Vec::new()) };
        rewriter.end()?;
        Ok(std::mem::take(&mut self.recording.borrow_mut().events))
    }
}

impl Recording {
    /// Lists an invocation; `token` is asked for when the last one was for another token.
    fn push(&mut self, owner: u32, kind: Kind, at: &SourceLocation, token: impl FnOnce(&mut Self) -> Token) {
        let place = Some((kind, at.bytes().start));
        let token = if self.last == place && !self.events.is_empty() { Token::Same } else { token(self) };
        self.last = place;
        self.events.push(Event { owner, token });
    }

    fn push_text(&mut self, owner: u32, text: &mut TextChunk<'_>) {
        let token = if text.user_data().is::<Seen>() {
            Token::Same
        } else {
            Token::Text { text: text.as_str().to_owned(), is_last: text.last_in_text_node() }
        };
        text.set_user_data(Seen);
        self.last = Some((Kind::Text, text.source_location().bytes().start));
        self.events.push(Event { owner, token });
    }

    fn push_comment(&mut self, owner: u32, comment: &Comment<'_>) {
        self.push(owner, Kind::Comment, &comment.source_location(), |_| Token::Comment(comment.text()));
    }
}

fn element_handlers(recording: &Shared, owner: u32, callbacks: Callbacks) -> ElementContentHandlers<'static> {
    let mut content = ElementContentHandlers::default();
    if callbacks.first() {
        let shared = recording.clone();
        content = content.element(move |element: &mut Element<'_, '_>| {
            let mut recording = shared.borrow_mut();
            let mut number = None;
            recording.push(owner, Kind::Element, &element.source_location(), |recording| {
                recording.elements = recording.elements.wrapping_add(1);
                number = Some(recording.elements);
                let attributes = element.attributes().iter().flat_map(|pair| [pair.name(), pair.value()]).collect();
                Token::Element {
                    number: recording.elements,
                    name: element.tag_name(),
                    can_have_content: element.can_have_content(),
                    namespace: element.namespace_uri(),
                    attributes,
                }
            });
            if let (Some(number), Some(handlers)) = (number, element.end_tag_handlers()) {
                let shared = shared.clone();
                handlers.push(Box::new(move |tag: &mut EndTag<'_>| {
                    let token = |_: &mut Recording| Token::EndTag(tag.name());
                    shared.borrow_mut().push(number, Kind::EndTag, &tag.source_location(), token);
                    Ok(())
                }));
            }
            Ok(())
        });
    }
    if callbacks.comments() {
        let shared = recording.clone();
        content = content.comments(move |comment: &mut Comment<'_>| {
            shared.borrow_mut().push_comment(owner, comment);
            Ok(())
        });
    }
    if callbacks.text() {
        let shared = recording.clone();
        content = content.text(move |text: &mut TextChunk<'_>| {
            shared.borrow_mut().push_text(owner, text);
            Ok(())
        });
    }
    content
}

fn document_handlers(recording: &Shared, owner: u32, callbacks: Callbacks) -> DocumentContentHandlers<'static> {
    let mut content = DocumentContentHandlers::default();
    if callbacks.first() {
        let shared = recording.clone();
        content = content.doctype(move |doctype: &mut Doctype<'_>| {
            let token = |_: &mut Recording| Token::Doctype {
                name: doctype.name(),
                public_id: doctype.public_id(),
                system_id: doctype.system_id(),
            };
            shared.borrow_mut().push(owner, Kind::Doctype, &doctype.source_location(), token);
            Ok(())
        });
    }
    if callbacks.comments() {
        let shared = recording.clone();
        content = content.comments(move |comment: &mut Comment<'_>| {
            shared.borrow_mut().push_comment(owner, comment);
            Ok(())
        });
    }
    if callbacks.text() {
        let shared = recording.clone();
        content = content.text(move |text: &mut TextChunk<'_>| {
            shared.borrow_mut().push_text(owner, text);
            Ok(())
        });
    }
    if callbacks.end() {
        let shared = recording.clone();
        content = content.end(move |_: &mut DocumentEnd<'_>| {
            shared.borrow_mut().events.push(Event { owner, token: Token::End });
            Ok(())
        });
    }
    content
}
