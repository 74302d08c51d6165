//! URLs, parsed and changed by ada, and `application/x-www-form-urlencoded`.

use ada_url::Url;

use super::convert::{string_of, strings_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

pub(super) fn op_url_parse<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let href = string_of(scope, args.get(0))?;
    let base = args.get(1);
    let base = if base.is_undefined() { None } else { Some(string_of(scope, base)?) };
    if let Ok(url) = Url::parse(&href, base.as_deref()) {
        give(scope, &url, args.get(2), rv)?;
    }
    Ok(())
}

pub(super) fn op_url_set<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let href = string_of(scope, args.get(0))?;
    let part = string_of(scope, args.get(1))?;
    let value = string_of(scope, args.get(2))?;
    let Ok(mut url) = Url::parse(&href, None) else { return Ok(()) };
    let text = Some(value.as_str());
    let accepted = match part.as_str() {
        "href" => url.set_href(&value).is_ok(),
        "protocol" => url.set_protocol(&value).is_ok(),
        "username" => url.set_username(text).is_ok(),
        "password" => url.set_password(text).is_ok(),
        "host" => url.set_host(text).is_ok(),
        "hostname" => url.set_hostname(text).is_ok(),
        "port" => url.set_port(text).is_ok(),
        "pathname" => url.set_pathname(text).is_ok(),
        "search" => {
            url.set_search(text);
            true
        }
        "hash" => {
            url.set_hash(text);
            true
        }
        _ => return Err(OpError::type_error("internal: an unknown part of a URL")),
    };
    if accepted {
        give(scope, &url, args.get(3), rv)?;
    }
    Ok(())
}

/// Returns the href and fills in the eight offsets.
fn give<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    url: &Url,
    out: v8::Local<v8::Value>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    const OMITTED: u32 = u32::MAX;
    let parts = url.components();
    let offsets = [
        parts.protocol_end,
        parts.username_end,
        parts.host_start,
        parts.host_end,
        parts.port.unwrap_or(OMITTED),
        parts.pathname_start.unwrap_or(OMITTED),
        parts.search_start.unwrap_or(OMITTED),
        parts.hash_start.unwrap_or(OMITTED),
    ];
    with_bytes(out, |out| {
        for (place, offset) in out.chunks_exact_mut(4).zip(offsets) {
            place.copy_from_slice(&offset.to_ne_bytes());
        }
    })?;
    let href = text_value(scope, url.href())?;
    rv.set(href.into());
    Ok(())
}

pub(super) fn op_url_form_parse<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let text = string_of(scope, args.get(0))?;
    let mut items: Vec<v8::Local<v8::Value>> = Vec::new();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        items.push(text_value(scope, &name)?.into());
        items.push(text_value(scope, &value)?.into());
    }
    let pairs = v8::Array::new_with_elements(scope, &items);
    rv.set(pairs.into());
    Ok(())
}

pub(super) fn op_url_form_serialize<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let pairs = strings_of(scope, args.get(0))?;
    let mut serializer = form_urlencoded::Serializer::new(String::new());
    for pair in pairs.chunks_exact(2) {
        serializer.append_pair(&pair[0], &pair[1]);
    }
    let text = text_value(scope, &serializer.finish())?;
    rv.set(text.into());
    Ok(())
}
