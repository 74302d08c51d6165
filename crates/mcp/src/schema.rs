//! JSON schemas of tools' arguments, generated from the types that parse them, so that they cannot differ.
//!
//! They are kept plain for models and clients of all kinds: no references, no alternatives with `null` for optional fields, no
//! formats that only Rust knows.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of a tool's arguments.
pub(crate) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    Arc::new(object::<T>())
}

fn object<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut value);
    let Value::Object(mut object) = value else { return JsonObject::new() };
    object.remove("description");
    object.entry("type").or_insert_with(|| json!("object"));
    object.entry("properties").or_insert_with(|| json!({}));
    object
}

fn plain(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(plain),
        Value::Object(object) => {
            // The name of a property may equal a keyword of JSON Schema.
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                properties.values_mut().for_each(plain);
            }
            object.iter_mut().filter(|(key, _)| *key != "properties").for_each(|(_, value)| plain(value));
            if object.get("format").is_some_and(|format| format.as_str().is_some_and(is_rust_format)) {
                object.remove("format");
            }
            if object.get("title").is_some_and(Value::is_string) {
                object.remove("title");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            without_null(object);
        }
        _ => {}
    }
}

fn is_rust_format(format: &str) -> bool {
    matches!(format, "uint8" | "uint16" | "uint32" | "uint64" | "uint" | "int32" | "int64" | "double")
}

fn without_null(object: &mut JsonObject) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|one| !one.is_null());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            object.remove("anyOf");
            for (key, value) in one {
                object.entry(key).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::arguments::{Encoding, Snippets};

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Arguments {
        /// How many.
        #[schemars(range(min = 1, max = 5))]
        count: Option<u64>,
        encoding: Option<Encoding>,
        code: Snippets,
        env: Option<BTreeMap<String, String>>,
        title: String,
    }

    #[test]
    fn schemas_are_plain() {
        let schema = Value::Object(input::<Arguments>().as_ref().clone());
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["required"], json!(["code", "title"]));
        let count = json!({ "type": "integer", "description": "How many.", "minimum": 1, "maximum": 5 });
        assert_eq!(schema["properties"]["count"], count);
        assert_eq!(schema["properties"]["title"], json!({ "type": "string" }));
        assert_eq!(schema["properties"]["env"]["additionalProperties"], json!({ "type": "string" }));
        let text = schema.to_string();
        for word in ["null", "$ref", "uint"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
        assert!(text.contains("base64"), "{text}");
    }
}
