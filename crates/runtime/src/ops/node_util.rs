//! What Node's `util` asks of V8 about a value, and JavaScript cannot: of which kind it is, what a proxy, a promise or an
//! iterator holds. Each takes any value.

use super::{Arguments, Return};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

type Test = fn(&v8::Value) -> bool;

/// In the order of the bits of the answer; `js/node/util.js` has the names.
const KINDS: &[Test] = &[
    v8::Value::is_external,
    v8::Value::is_date,
    v8::Value::is_arguments_object,
    v8::Value::is_big_int_object,
    v8::Value::is_boolean_object,
    v8::Value::is_number_object,
    v8::Value::is_string_object,
    v8::Value::is_symbol_object,
    v8::Value::is_native_error,
    v8::Value::is_reg_exp,
    v8::Value::is_async_function,
    v8::Value::is_generator_function,
    v8::Value::is_generator_object,
    v8::Value::is_promise,
    v8::Value::is_map,
    v8::Value::is_set,
    v8::Value::is_map_iterator,
    v8::Value::is_set_iterator,
    v8::Value::is_weak_map,
    v8::Value::is_weak_set,
    v8::Value::is_array_buffer,
    v8::Value::is_data_view,
    v8::Value::is_shared_array_buffer,
    v8::Value::is_proxy,
    v8::Value::is_module_namespace_object,
];

/// value -> a bit for each kind that it is of
pub(super) fn op_node_kinds<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let value = args.get(0);
    let kinds = KINDS.iter().enumerate().filter(|(_, test)| test(&value)).fold(0, |kinds, (bit, _)| kinds | 1 << bit);
    rv.set_uint32(kinds);
    Ok(())
}

/// (value, bit) -> whether it is of this kind
pub(super) fn op_node_is<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let bit = args.get(1).uint32_value(scope).unwrap_or(u32::MAX);
    rv.set_bool(KINDS.get(bit as usize).is_some_and(|test| test(&args.get(0))));
    Ok(())
}

/// A proxy's [target, handler]; undefined for anything else.
pub(super) fn op_node_proxy<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    if let Ok(proxy) = v8::Local::<v8::Proxy>::try_from(args.get(0)) {
        let parts = [proxy.get_target(scope), proxy.get_handler(scope)];
        rv.set(v8::Array::new_with_elements(scope, &parts).into());
    }
    Ok(())
}

/// A promise's [0: pending, 1: fulfilled or 2: rejected, result]; undefined for anything else.
pub(super) fn op_node_promise<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    if let Ok(promise) = v8::Local::<v8::Promise>::try_from(args.get(0)) {
        let (state, result) = match promise.state() {
            v8::PromiseState::Pending => (0, v8::undefined(scope).into()),
            v8::PromiseState::Fulfilled => (1, promise.result(scope)),
            v8::PromiseState::Rejected => (2, promise.result(scope)),
        };
        let parts = [v8::Integer::new(scope, state).into(), result];
        rv.set(v8::Array::new_with_elements(scope, &parts).into());
    }
    Ok(())
}

/// What a map's or set's iterator has yet to give, and what weak maps and sets hold: [array, whether keys and values take
/// turns in it]; undefined for anything else.
pub(super) fn op_node_entries<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let value = args.get(0);
    let tests: [Test; 6] = [
        v8::Value::is_map_iterator,
        v8::Value::is_set_iterator,
        v8::Value::is_weak_map,
        v8::Value::is_weak_set,
        v8::Value::is_map,
        v8::Value::is_set,
    ];
    let object = v8::Local::<v8::Object>::try_from(value).ok().filter(|_| tests.iter().any(|test| test(&value)));
    if let Some(object) = object
        && let (Some(entries), pairs) = object.preview_entries(scope)
    {
        let parts = [entries.into(), v8::Boolean::new(scope, pairs).into()];
        rv.set(v8::Array::new_with_elements(scope, &parts).into());
    }
    Ok(())
}

/// (object, enumerable ones alone) -> its own keys that are no indices, symbols too
pub(super) fn op_node_keys<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let object: v8::Local<v8::Object> =
        args.get(0).try_into().map_err(|_| OpError::type_error("internal: an object was expected"))?;
    let filter =
        if args.get(1).is_true() { v8::PropertyFilter::ONLY_ENUMERABLE } else { v8::PropertyFilter::ALL_PROPERTIES };
    let wanted = v8::GetPropertyNamesArgsBuilder::new()
        .mode(v8::KeyCollectionMode::OwnOnly)
        .property_filter(filter)
        .index_filter(v8::IndexFilter::SkipIndices)
        .key_conversion(v8::KeyConversionMode::ConvertToString)
        .build();
    let keys = object.get_property_names(scope, wanted).ok_or(OpError::Pending)?;
    rv.set(keys.into());
    Ok(())
}

/// The name of the constructor that made an object, as V8 remembers it.
pub(super) fn op_node_constructor_name<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    if let Ok(object) = v8::Local::<v8::Object>::try_from(args.get(0)) {
        rv.set(object.get_constructor_name().into());
    }
    Ok(())
}
