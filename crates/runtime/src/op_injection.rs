//! The natives of a built-in file: those that it names by `const { ... } = require("ops")`, created
//! when it runs. So a context has no natives of files that have not run in it.

use v8::MapFnTo;

use crate::bootstrap::{native_function, source, text};
use crate::op_error::OpError;
use crate::ops::natives;

/// The address of `supply`, for the snapshot.
pub(crate) fn reference() -> v8::ExternalReference {
    v8::ExternalReference { function: callback() }
}

/// (number of the file) -> an object of its natives
pub(crate) fn callback() -> v8::FunctionCallback {
    supply.map_fn_to()
}

fn supply<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s, v8::Value>,
) {
    let number = arguments.get(0).uint32_value(scope).map_or(usize::MAX, |number| number as usize);
    let named = source(number).map(named).unwrap_or_default();
    let object = v8::Object::new(scope);
    for name in named {
        let Some(native) = natives().iter().find(|native| native.name == name) else {
            return OpError::type_error(format!("there is no native {name}")).throw(scope);
        };
        // An exception is thrown to the code that requires the file.
        let Some(function) = native_function(scope, native.callback) else { return };
        let name = text(scope, name);
        function.set_name(name);
        // Defined, not assigned: an app may have put setters on Object.prototype.
        object.create_data_property(scope, name.into(), function.into());
    }
    result.set(object.into());
}

/// The names in a file's `const { ... } = require("ops")`.
fn named(source: &str) -> Vec<&str> {
    let names = source.split_once("} = require(\"ops\")").and_then(|(before, _)| before.rsplit_once('{'));
    let names = names.map_or("", |(_, names)| names);
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natives_are_found_in_a_files_text() {
        let one = "const { a } = require(\"primordials\");\nconst { op_one } = require(\"ops\");\nfunction f() { }";
        assert_eq!(named(one), ["op_one"]);
        assert_eq!(
            named("const {\n  op_one, op_two,\n  op_three,\n} = require(\"ops\");"),
            ["op_one", "op_two", "op_three"]
        );
        assert_eq!(named("const { a } = require(\"primordials\");"), [""; 0]);
    }
}
