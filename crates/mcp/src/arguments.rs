//! Parsing of tools' arguments. All that differs from the schema is an error that names the argument: a misspelt argument must
//! not pass as one that was left out.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hearth_sandbox::{FILE_LIMIT, MAX_TIMEOUT, SandboxError};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::ToolError;

/// Parses an operation's request. The error names the field.
pub fn parse_arguments<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.inner().to_string());
        ToolError::argument(if path == "." { "arguments".to_owned() } else { path }, reason)
    })
}

/// A timeout in milliseconds: the range is the same for all tools.
pub(crate) fn timeout(field: &str, milliseconds: Option<u64>) -> Result<Option<Duration>, ToolError> {
    let most = u64::try_from(MAX_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
    match milliseconds {
        None => Ok(None),
        Some(time) if (1..=most).contains(&time) => Ok(Some(Duration::from_millis(time))),
        Some(time) => Err(ToolError::argument(field, format!("{time} is not between 1 and {most}"))),
    }
}

/// How bytes are encoded in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    Base64,
}

impl Encoding {
    pub(crate) fn decode(self, field: &str, text: String) -> Result<Bytes, ToolError> {
        // Checked before decoding: a larger file is refused in any case.
        let limit = usize::try_from(FILE_LIMIT.bytes()).unwrap_or(usize::MAX);
        let size = match self {
            Self::Utf8 => text.len(),
            Self::Base64 => text.len() / 4 * 3,
        };
        if size > limit + 2 {
            return Err(SandboxError::TooLarge { what: field.to_owned(), limit: FILE_LIMIT }.into());
        }
        match self {
            Self::Utf8 => Ok(Bytes::from(text)),
            Self::Base64 => STANDARD
                .decode(text.trim_ascii())
                .map(Bytes::from)
                .map_err(|error| ToolError::argument(field, format!("this is no base64: {error}"))),
        }
    }

    pub(crate) fn encode(self, path: &str, content: &Bytes) -> Result<String, ToolError> {
        match self {
            Self::Utf8 => std::str::from_utf8(content).map(str::to_owned).map_err(|error| {
                let at = error.valid_up_to();
                ToolError::argument("encoding", format!("{path} is no UTF-8 text (at byte {at}): use base64"))
            }),
            Self::Base64 => Ok(STANDARD.encode(content)),
        }
    }
}

/// One program, or several that run in sequence.
#[derive(Debug, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Snippets {
    One(String),
    Many(Vec<String>),
}

impl<'de> Deserialize<'de> for Snippets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Snippets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Snippets, E> {
                Ok(Snippets::One(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Snippets, E> {
                Ok(Snippets::One(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Snippets, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = list.next_element()? {
                    all.push(text);
                }
                Ok(Snippets::Many(all))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Arguments {
        number: Option<u64>,
        code: Snippets,
    }

    fn refusal(value: Value) -> String {
        let Value::Object(object) = value else { panic!("arguments are an object") };
        let error = parse_arguments::<Arguments>(object).unwrap_err();
        assert_eq!(error.code(), "invalid_argument");
        error.to_string()
    }

    #[test]
    fn errors_name_the_argument() {
        assert_eq!(refusal(json!({})), "arguments: missing field `code`");
        assert!(refusal(json!({ "code": "a", "numbr": 1 })).contains("unknown field `numbr`"));
        let wrong = refusal(json!({ "code": "a", "number": "1" }));
        assert!(wrong.starts_with("number: ") && wrong.contains("u64"), "{wrong}");
        assert!(refusal(json!({ "code": 5 })).contains("a string or a list of strings"));
        assert!(refusal(json!({ "code": ["a", 5] })).starts_with("code[1]: "));
    }

    #[test]
    fn bytes_round_trip_or_are_refused() {
        let all: Bytes = (0..=255u8).collect();
        let text = Encoding::Base64.encode("a", &all).unwrap();
        assert_eq!(Encoding::Base64.decode("content", text).unwrap(), all);
        let refused = Encoding::Utf8.encode("/work/a", &all).unwrap_err();
        assert!(refused.to_string().contains("use base64"), "{refused}");
        assert!(Encoding::Base64.decode("content", "?".to_owned()).is_err());
    }

    #[test]
    fn timeouts_have_a_range() {
        assert_eq!(timeout("timeout_ms", Some(1500)).unwrap(), Some(Duration::from_millis(1500)));
        assert_eq!(timeout("timeout_ms", None).unwrap(), None);
        for wrong in [0, 3_600_001, u64::MAX] {
            assert_eq!(timeout("timeout_ms", Some(wrong)).unwrap_err().code(), "invalid_argument");
        }
    }
}
