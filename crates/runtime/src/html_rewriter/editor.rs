//! The second pass: makes the edits that handlers asked for, and gives the output.

use std::borrow::Cow;
use std::cell::RefCell;
use std::iter::Peekable;
use std::rc::Rc;

use lol_html::errors::RewritingError;
use lol_html::html_content::{Comment, ContentType, Doctype, DocumentEnd, Element, EndTag, TextChunk, UserData};
use lol_html::{DocumentContentHandlers, ElementContentHandlers, HandlerResult, Settings};

use super::{Callbacks, Handlers, Parser, Reserve, Sink};

/// An edit that a handler asked for.
pub(crate) struct Edit {
    /// The number of the handler's invocation within the slice. Edits come in this order.
    pub(crate) invocation: u32,
    pub(crate) action: Action,
}

pub(crate) enum Action {
    Before(String, ContentType),
    After(String, ContentType),
    Prepend(String, ContentType),
    Append(String, ContentType),
    Replace(String, ContentType),
    SetInnerContent(String, ContentType),
    Remove,
    RemoveAndKeepContent,
    /// The name of a tag, or the text of a comment.
    SetText(String),
    SetAttribute(String, String),
    RemoveAttribute(String),
}

#[derive(Default)]
struct Editing {
    edits: Option<Peekable<std::vec::IntoIter<Edit>>>,
    invocation: u32,
    output: Vec<u8>,
    reserve: Option<Reserve>,
    /// There was no room.
    is_full: bool,
}

/// Marks an element whose end tag is seen to.
struct Seen;

type Shared = Rc<RefCell<Editing>>;

pub(crate) struct Editor {
    rewriter: Option<Parser>,
    editing: Shared,
}

impl Editor {
    pub(crate) fn new(mut settings: Settings<'static, 'static>, handlers: &[Handlers]) -> Self {
        let editing = Shared::default();
        for Handlers { selector, callbacks } in handlers {
            settings = match selector {
                Some(selector) => settings.append_element_content_handler((
                    Cow::Owned(selector.clone()),
                    element_handlers(&editing, *callbacks),
                )),
                None => settings.append_document_content_handler(document_handlers(&editing, *callbacks)),
            };
        }
        let shared = editing.clone();
        let sink: Sink = Box::new(move |bytes| shared.borrow_mut().push(bytes));
        Self { rewriter: Some(Parser::new(settings, sink)), editing }
    }

    /// The output; none where there was no room for it.
    pub(crate) fn write(
        &mut self,
        slice: &[u8],
        edits: Vec<Edit>,
        reserve: Reserve,
    ) -> Result<Option<Vec<u8>>, RewritingError> {
        // After an error there is no rewriter: it must not be used.
        let Some(mut rewriter) = self.rewriter.take() else { return Ok(None) };
        self.begin(edits, reserve);
        rewriter.write(slice)?;
        self.rewriter = Some(rewriter);
        Ok(self.finish())
    }

    pub(crate) fn end(&mut self, edits: Vec<Edit>, reserve: Reserve) -> Result<Option<Vec<u8>>, RewritingError> {
        let Some(rewriter) = self.rewriter.take() else { return Ok(None) };
        self.begin(edits, reserve);
        rewriter.end()?;
        Ok(self.finish())
    }

    fn begin(&self, edits: Vec<Edit>, reserve: Reserve) {
        let edits = Some(edits.into_iter().peekable());
        *self.editing.borrow_mut() = Editing { edits, reserve: Some(reserve), ..Editing::default() };
    }

    /// Of the last slice.
    #[cfg(test)]
    pub(super) fn invocations(&self) -> u32 {
        self.editing.borrow().invocation
    }

    fn finish(&self) -> Option<Vec<u8>> {
        let mut editing = self.editing.borrow_mut();
        editing.edits = None;
        editing.reserve = None;
        let output = std::mem::take(&mut editing.output);
        (!editing.is_full).then_some(output)
    }
}

impl Editing {
    fn push(&mut self, bytes: &[u8]) {
        let length = self.output.len() + bytes.len();
        if length > self.output.capacity() {
            // The vector may double.
            let room = (2 * length).max(4096);
            if self.is_full || !self.reserve.as_mut().is_none_or(|reserve| reserve(room)) {
                self.is_full = true;
                return;
            }
            self.output.reserve_exact(room - self.output.len());
        }
        self.output.extend_from_slice(bytes);
    }

    /// The edits of the next invocation.
    fn next(&mut self) -> Vec<Action> {
        let invocation = self.invocation;
        self.invocation += 1;
        let mut actions = Vec::new();
        if let Some(edits) = &mut self.edits {
            while let Some(edit) = edits.next_if(|edit| edit.invocation <= invocation) {
                if edit.invocation == invocation {
                    actions.push(edit.action);
                }
            }
        }
        actions
    }
}

fn edit_element(element: &mut Element<'_, '_>, action: Action) -> HandlerResult {
    match action {
        Action::Before(content, kind) => element.before(&content, kind),
        Action::After(content, kind) => element.after(&content, kind),
        Action::Prepend(content, kind) => element.prepend(&content, kind),
        Action::Append(content, kind) => element.append(&content, kind),
        Action::Replace(content, kind) => element.replace(&content, kind),
        Action::SetInnerContent(content, kind) => element.set_inner_content(&content, kind),
        Action::Remove => element.remove(),
        Action::RemoveAndKeepContent => element.remove_and_keep_content(),
        Action::SetText(name) => element.set_tag_name(&name)?,
        Action::SetAttribute(name, value) => element.set_attribute(&name, &value)?,
        Action::RemoveAttribute(name) => element.remove_attribute(&name),
    }
    Ok(())
}

fn edit_comment(comment: &mut Comment<'_>, action: Action) -> HandlerResult {
    match action {
        Action::Before(content, kind) => comment.before(&content, kind),
        Action::After(content, kind) => comment.after(&content, kind),
        Action::Replace(content, kind) => comment.replace(&content, kind),
        Action::Remove => comment.remove(),
        Action::SetText(text) => comment.set_text(&text)?,
        _ => {}
    }
    Ok(())
}

fn edit_text(text: &mut TextChunk<'_>, action: Action) {
    match action {
        Action::Before(content, kind) => text.before(&content, kind),
        Action::After(content, kind) => text.after(&content, kind),
        Action::Replace(content, kind) => text.replace(&content, kind),
        Action::Remove => text.remove(),
        _ => {}
    }
}

fn edit_end_tag(tag: &mut EndTag<'_>, action: Action) {
    match action {
        Action::Before(content, kind) => tag.before(&content, kind),
        Action::After(content, kind) => tag.after(&content, kind),
        Action::Remove => tag.remove(),
        Action::SetText(name) => tag.set_name(name),
        _ => {}
    }
}

fn element_handlers(editing: &Shared, callbacks: Callbacks) -> ElementContentHandlers<'static> {
    let mut content = ElementContentHandlers::default();
    if callbacks.first() {
        let shared = editing.clone();
        content = content.element(move |element: &mut Element<'_, '_>| {
            // At the first invocation for the element, as in the first pass.
            let is_seen = element.user_data().is::<Seen>();
            element.set_user_data(Seen);
            if let (false, Some(handlers)) = (is_seen, element.end_tag_handlers()) {
                let shared = shared.clone();
                handlers.push(Box::new(move |tag: &mut EndTag<'_>| {
                    let actions = shared.borrow_mut().next();
                    actions.into_iter().for_each(|action| edit_end_tag(tag, action));
                    Ok(())
                }));
            }
            let actions = shared.borrow_mut().next();
            actions.into_iter().try_for_each(|action| edit_element(element, action))
        });
    }
    if callbacks.comments() {
        let shared = editing.clone();
        content = content.comments(move |comment: &mut Comment<'_>| {
            let actions = shared.borrow_mut().next();
            actions.into_iter().try_for_each(|action| edit_comment(comment, action))
        });
    }
    if callbacks.text() {
        let shared = editing.clone();
        content = content.text(move |text: &mut TextChunk<'_>| {
            let actions = shared.borrow_mut().next();
            actions.into_iter().for_each(|action| edit_text(text, action));
            Ok(())
        });
    }
    content
}

fn document_handlers(editing: &Shared, callbacks: Callbacks) -> DocumentContentHandlers<'static> {
    let mut content = DocumentContentHandlers::default();
    if callbacks.first() {
        let shared = editing.clone();
        content = content.doctype(move |_: &mut Doctype<'_>| {
            shared.borrow_mut().next();
            Ok(())
        });
    }
    if callbacks.comments() {
        let shared = editing.clone();
        content = content.comments(move |comment: &mut Comment<'_>| {
            let actions = shared.borrow_mut().next();
            actions.into_iter().try_for_each(|action| edit_comment(comment, action))
        });
    }
    if callbacks.text() {
        let shared = editing.clone();
        content = content.text(move |text: &mut TextChunk<'_>| {
            let actions = shared.borrow_mut().next();
            actions.into_iter().for_each(|action| edit_text(text, action));
            Ok(())
        });
    }
    if callbacks.end() {
        let shared = editing.clone();
        content = content.end(move |end: &mut DocumentEnd<'_>| {
            let actions = shared.borrow_mut().next();
            for action in actions {
                if let Action::Append(content, kind) = action {
                    end.append(&content, kind);
                }
            }
            Ok(())
        });
    }
    content
}
