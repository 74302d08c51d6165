//! Memory that objects of an isolate hold outside of V8's heap, where V8 does not count it: each
//! object has a size, which is subtracted when V8 has collected the object.

use std::collections::HashMap;

use crate::request_table::ById;

/// In a slot of the isolate. The weak handles do not keep their objects alive.
#[derive(Default)]
pub(crate) struct Natives {
    bytes: u64,
    next: u64,
    objects: HashMap<u64, v8::Weak<v8::Object>, ById>,
}

/// Memory that the isolate's objects hold.
pub(crate) fn bytes(isolate: &v8::Isolate) -> u64 {
    isolate.get_slot::<Natives>().map_or(0, |natives| natives.bytes)
}

/// The number of objects; V8 has a global handle for each.
pub(crate) fn count(isolate: &v8::Isolate) -> u64 {
    isolate.get_slot::<Natives>().map_or(0, |natives| natives.objects.len() as u64)
}

/// Adds an object that holds `size` bytes.
pub(crate) fn add(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<v8::Object>, size: u64) {
    add_with(scope, object, size, |_| {});
}

/// Adds an object that holds `size` bytes; `on_collected` is called when V8 has collected the object.
pub(crate) fn add_with(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<v8::Object>,
    size: u64,
    on_collected: impl FnOnce(&mut v8::Isolate) + 'static,
) {
    let natives = natives(scope);
    natives.next += 1;
    natives.bytes += size;
    let number = natives.next;
    let collected = Box::new(move |isolate: &mut v8::Isolate| {
        if let Some(natives) = isolate.get_slot_mut::<Natives>() {
            natives.bytes -= size;
            natives.objects.remove(&number);
        }
        on_collected(isolate);
    });
    let weak = v8::Weak::with_finalizer(scope, object, collected);
    self::natives(scope).objects.insert(number, weak);
}

fn natives(isolate: &mut v8::Isolate) -> &mut Natives {
    if isolate.get_slot::<Natives>().is_none() {
        isolate.set_slot(Natives::default());
    }
    isolate.get_slot_mut().expect("it was just put there")
}
