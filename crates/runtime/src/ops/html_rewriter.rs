//! HTML rewriters, by handle: an object owns each, and it goes with the object, when it is freed, or by an error. No
//! JavaScript runs in here: `html_rewriter.rs` says how the handlers of apps come in.
//!
//! What a rewriter may hold counts against the app's account of memory outside of its isolates, and so do the contents
//! that handlers insert and the output of a slice.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use hearth_core::memory::Charge;
use lol_html::html_content::ContentType;

use super::convert::{bytes_value, id_of, string_of, text_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::html_rewriter::{Action, Callbacks, Edit, Event, RewriteError, Rewriter, Token, parse_selector};
use crate::natives;
use crate::op_error::OpError;
use crate::request_table::ById;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// What the object that owns a rewriter holds beside what is charged: entries in tables.
const OWNER_SIZE: u64 = 512;

/// What `js/html_rewriter/tokens.js` calls the tokens. `SAME`: the one of the event before.
const SAME: i32 = 0;
const ELEMENT: i32 = 1;
const COMMENT: i32 = 2;
const TEXT: i32 = 3;
const DOCTYPE: i32 = 4;
const END_TAG: i32 = 5;
const END: i32 = 6;

struct Entry {
    rewriter: Rewriter,
    charge: Charge,
}

/// Kept with the isolate.
#[derive(Default)]
struct Rewriters {
    entries: HashMap<u64, Entry, ById>,
    next: u64,
}

impl Rewriters {
    fn of(isolate: &mut v8::Isolate) -> &mut Self {
        if isolate.get_slot::<Self>().is_none() {
            isolate.set_slot(Self::default());
        }
        isolate.get_slot_mut().expect("the slot was filled above")
    }
}

impl From<RewriteError> for OpError {
    fn from(error: RewriteError) -> Self {
        Self::Type(error.to_string())
    }
}

/// Charges for what will be held. Where the account is full, garbage is collected once: rewriters may be among it.
fn charge(scope: Scope<'_, '_, '_>, charge: &mut Charge, bytes: u64) -> Result<(), OpError> {
    if charge.try_set(bytes).is_ok() {
        return Ok(());
    }
    scope.low_memory_notification();
    Ok(charge.try_set(bytes)?)
}

/// (text): throws when it is no selector
pub(super) fn op_html_selector<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let text = string_of(scope, args.get(0))?;
    parse_selector(&text)?;
    Ok(())
}

/// (owner, encoding, [selector or undefined, callbacks, ...]) -> a handle
pub(super) fn op_html_rewriter_new<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let owner = v8::Local::<v8::Object>::try_from(args.get(0));
    let owner = owner.map_err(|_| OpError::type_error("internal: an object was expected"))?;
    let encoding = string_of(scope, args.get(1))?;
    let list = array_of(args.get(2))?;
    let mut handlers = Vec::new();
    for at in (0..list.length()).step_by(2) {
        let selector = list.get_index(scope, at).ok_or(OpError::Pending)?;
        let selector = if selector.is_undefined() { None } else { Some(string_of(scope, selector)?) };
        let callbacks = list.get_index(scope, at + 1).ok_or(OpError::Pending)?;
        handlers.push((selector, Callbacks(callbacks.uint32_value(scope).unwrap_or(0))));
    }
    let rewriter = Rewriter::new(&encoding, &handlers)?;
    let mut entry = Entry { rewriter, charge: ContextState::current(scope).app.meters.memory.open() };
    let expected = entry.rewriter.expected_memory(&[]);
    charge(scope, &mut entry.charge, expected)?;
    let rewriters = Rewriters::of(scope);
    rewriters.next += 1;
    let handle = rewriters.next;
    rewriters.entries.insert(handle, entry);
    natives::add_with(scope, owner, OWNER_SIZE, move |isolate| {
        Rewriters::of(isolate).entries.remove(&handle);
    });
    rv.set_double(handle as f64);
    Ok(())
}

/// (handle, bytes or undefined for the end, offset) -> [bytes taken, kind, owner, and what the token has; kind, ...]
pub(super) fn op_html_rewriter_record<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let mut entry = take(scope, handle)?;
    if entry.rewriter.is_between_passes() {
        return Err(OpError::type_error("internal: the slice before was not edited"));
    }
    let (events, taken) = if args.get(1).is_undefined() {
        (entry.rewriter.record_end()?, 0)
    } else {
        let offset = args.get(2).integer_value(scope).and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
        // A copy: the app may change the bytes between the passes.
        let slice = with_bytes(args.get(1), |bytes| {
            let bytes = bytes.get(offset..).unwrap_or_default();
            bytes[..Rewriter::slice_length(bytes)].to_vec()
        })?;
        let expected = entry.rewriter.expected_memory(&slice);
        charge(scope, &mut entry.charge, expected)?;
        (entry.rewriter.record(&slice)?, slice.len())
    };
    let mut list = Vec::with_capacity(1 + 4 * events.len());
    list.push(v8::Integer::new_from_unsigned(scope, taken as u32).into());
    for event in events {
        push_event(scope, &mut list, event)?;
    }
    Rewriters::of(scope).entries.insert(handle, entry);
    rv.set(v8::Array::new_with_elements(scope, &list).into());
    Ok(())
}

/// (handle, [invocation, action, text, value of an attribute or whether the text is HTML, ...]) -> the output, if any
pub(super) fn op_html_rewriter_edit<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let list = array_of(args.get(1))?;
    let mut entry = take(scope, handle)?;
    let mut held = ContextState::current(scope).app.meters.memory.open();
    let mut size = 0;
    let mut edits = Vec::new();
    for at in (0..list.length()).step_by(4) {
        let part = |scope: Scope<'_, 's, '_>, number| list.get_index(scope, at + number).ok_or(OpError::Pending);
        let [invocation, action] = [part(scope, 0)?, part(scope, 1)?].map(|number| number.uint32_value(scope));
        let (text, value) = (part(scope, 2)?, part(scope, 3)?);
        for text in [text, value] {
            // In UTF-8 a unit of a string takes 3 bytes at most; and it is written to the output.
            size += 64 + v8::Local::<v8::String>::try_from(text).map_or(0, |text| 4 * text.length() as u64);
        }
        charge(scope, &mut held, size)?;
        if let (Some(invocation), Some(action)) = (invocation, action) {
            edits.push(Edit { invocation, action: action_of(scope, action, text, value)? });
        }
    }
    let held = Rc::new(RefCell::new(held));
    let full = Rc::new(RefCell::new(None));
    let reserve = {
        let (held, full) = (held.clone(), full.clone());
        Box::new(move |room: usize| match held.borrow_mut().try_set(size + room as u64) {
            Ok(()) => true,
            Err(error) => {
                *full.borrow_mut() = Some(error);
                false
            }
        })
    };
    let output = entry.rewriter.edit(edits, reserve)?;
    if let Some(error) = full.borrow_mut().take() {
        return Err(error.into());
    }
    let output = output.ok_or_else(|| OpError::type_error("internal: no slice was recorded"))?;
    if !output.is_empty() {
        rv.set(bytes_value(scope, &output)?.into());
    }
    Rewriters::of(scope).entries.insert(handle, entry);
    Ok(())
}

pub(super) fn op_html_rewriter_free<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    Rewriters::of(scope).entries.remove(&handle);
    Ok(())
}

/// Takes the rewriter out: after an error it stays closed.
fn take(isolate: &mut v8::Isolate, handle: u64) -> Result<Entry, OpError> {
    Rewriters::of(isolate).entries.remove(&handle).ok_or_else(|| OpError::type_error("The rewriter is closed"))
}

fn array_of(value: v8::Local<'_, v8::Value>) -> Result<v8::Local<'_, v8::Array>, OpError> {
    value.try_into().map_err(|_| OpError::type_error("internal: an array was expected"))
}

fn action_of<'s>(
    scope: Scope<'_, 's, '_>,
    action: u32,
    text: v8::Local<'s, v8::Value>,
    value: v8::Local<'s, v8::Value>,
) -> Result<Action, OpError> {
    let kind = if value.is_true() { ContentType::Html } else { ContentType::Text };
    let text = |scope: Scope<'_, 's, '_>| {
        text_of(text)?;
        string_of(scope, text)
    };
    Ok(match action {
        0 => Action::Before(text(scope)?, kind),
        1 => Action::After(text(scope)?, kind),
        2 => Action::Prepend(text(scope)?, kind),
        3 => Action::Append(text(scope)?, kind),
        4 => Action::Replace(text(scope)?, kind),
        5 => Action::SetInnerContent(text(scope)?, kind),
        6 => Action::Remove,
        7 => Action::RemoveAndKeepContent,
        8 => Action::SetText(text(scope)?),
        9 => Action::SetAttribute(text(scope)?, string_of(scope, value)?),
        10 => Action::RemoveAttribute(text(scope)?),
        _ => return Err(OpError::type_error("internal: an action was expected")),
    })
}

fn push_event<'s>(
    scope: Scope<'_, 's, '_>,
    list: &mut Vec<v8::Local<'s, v8::Value>>,
    event: Event,
) -> Result<(), OpError> {
    let kind = match &event.token {
        Token::Same => SAME,
        Token::Element { .. } => ELEMENT,
        Token::Comment(_) => COMMENT,
        Token::Text { .. } => TEXT,
        Token::Doctype { .. } => DOCTYPE,
        Token::EndTag(_) => END_TAG,
        Token::End => END,
    };
    list.push(v8::Integer::new(scope, kind).into());
    list.push(v8::Integer::new_from_unsigned(scope, event.owner).into());
    match event.token {
        Token::Same | Token::End => {}
        Token::Element { number, name, can_have_content, namespace, attributes } => {
            list.push(v8::Integer::new_from_unsigned(scope, number).into());
            list.push(text_value(scope, &name)?.into());
            list.push(v8::Boolean::new(scope, can_have_content).into());
            list.push(text_value(scope, namespace)?.into());
            let mut values = Vec::with_capacity(attributes.len());
            for text in &attributes {
                values.push(text_value(scope, text)?.into());
            }
            list.push(v8::Array::new_with_elements(scope, &values).into());
        }
        Token::Comment(text) | Token::EndTag(text) => list.push(text_value(scope, &text)?.into()),
        Token::Text { text, is_last } => {
            list.push(text_value(scope, &text)?.into());
            list.push(v8::Boolean::new(scope, is_last).into());
        }
        Token::Doctype { name, public_id, system_id } => {
            for text in [name, public_id, system_id] {
                list.push(match text {
                    Some(text) => text_value(scope, &text)?.into(),
                    None => v8::null(scope).into(),
                });
            }
        }
    }
    Ok(())
}
