//! Rich output of code in a session besides text, such as figures and tables. The interpreter writes it to files (`Notebook` in
//! the agent's `zygote.py`), each named by number and type; they are collected when the run ends. The files come from the
//! sandbox and are untrusted: their number and size are limited.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hearth_sandbox::{PAGE_LIMIT, Remove, Sandbox};
use schemars::JsonSchema;
use serde::Serialize;

/// Where interpreters write it, in a folder per session name.
const FOLDER: &str = "/tmp/.hearth/shown";
/// Limit of files that are collected from one run.
const MAX_FORMS: usize = 32;
/// Limit of all images of a run together, since clients limit the length of a message.
const MAX_IMAGE_BYTES: u64 = 4 << 20;
/// Limit of all text forms of a run together.
const MAX_TEXT_BYTES: u64 = 256 << 10;

/// One representation of an object that was displayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DisplayedForm {
    /// Representations of one object have the same number, in the order of display.
    pub number: u32,
    pub mime_type: &'static str,
    /// In bytes.
    pub size: u64,
    /// The content, if it is text; images are in the result's content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An image for the content of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub mime_type: &'static str,
    pub base64: String,
}

/// The rich output of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RichOutput {
    pub(crate) forms: Vec<DisplayedForm>,
    pub(crate) images: Vec<Image>,
}

/// The unused part of the size limits.
struct Remaining {
    images: u64,
    text: u64,
}

impl RichOutput {
    /// Collects the rich output of the session's last run. Files that cannot be read are left out, since the run itself
    /// succeeded.
    pub(crate) async fn take(sandbox: &Sandbox, session: &str) -> Self {
        let folder = format!("{FOLDER}/{session}");
        let mut shown = Self::default();
        // The folder exists only once there is output.
        let Ok(page) = sandbox.list_directory(&folder, None, PAGE_LIMIT).await else { return shown };
        let mut remaining = Remaining { images: MAX_IMAGE_BYTES, text: MAX_TEXT_BYTES };
        for entry in page.entries.iter().take(MAX_FORMS) {
            let Some((number, mime_type)) = named(&entry.name) else { continue };
            let size = entry.size.bytes();
            let is_image = mime_type == "image/png" || mime_type == "image/jpeg";
            let left = if is_image { &mut remaining.images } else { &mut remaining.text };
            let mut form = DisplayedForm { number, mime_type, size, text: None };
            if let Some(rest) = left.checked_sub(size)
                && let Ok(content) = sandbox.read_file(&format!("{folder}/{}", entry.name)).await
            {
                *left = rest;
                match is_image {
                    true => shown.images.push(Image { mime_type, base64: STANDARD.encode(&content) }),
                    false => form.text = Some(String::from_utf8_lossy(&content).into_owned()),
                }
            }
            shown.forms.push(form);
        }
        // A file that stays would be part of the next result too.
        let _ = sandbox.remove(&folder, Remove::Tree).await;
        shown
    }
}

/// The number and the media type of `0001.png`.
fn named(name: &str) -> Option<(u32, &'static str)> {
    let (number, extension) = name.split_once('.')?;
    let mime_type = match extension {
        "png" => "image/png",
        "jpg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "html" => "text/html",
        "md" => "text/markdown",
        "tex" => "text/latex",
        "json" => "application/json",
        _ => return None,
    };
    Some((number.parse().ok()?, mime_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_give_number_and_type() {
        assert_eq!(named("0003.png"), Some((3, "image/png")));
        assert_eq!(named("0012.html"), Some((12, "text/html")));
        for wrong in ["png", "x.png", "1.exe", "1", ".png", "1.png.html"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
